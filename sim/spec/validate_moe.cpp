// Rules over experts: their grid of ranks, what ep and etp cut, and how uneven tokens can be.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

std::int64_t stride_of_pp(const ParallelSpec& p, bool experts) {
  const std::int64_t edp = p.tp * p.cp * p.dp / (p.etp * p.ep);
  std::int64_t stride = 1;
  for (const Axis axis : p.order) {
    switch (axis) {
      case Axis::tp:
        stride *= experts ? p.etp : p.tp;
        break;
      case Axis::cp:
        stride *= experts ? 1 : p.cp;
        break;
      case Axis::ep:
        stride *= experts ? p.ep : 1;
        break;
      case Axis::dp:
        stride *= experts ? edp : p.dp;
        break;
      default:
        return stride;
    }
  }
  return stride;
}

void refuse_without_experts(Checking& c) {
  for (const auto& [key, degree] : {std::pair{"parallel.ep", c.run.parallel.ep},
                                    std::pair{"parallel.etp", c.run.parallel.etp}}) {
    if (degree > 1) {
      complain(c, key, fmt::format("{} cuts experts, model {} has none", degree, c.run.model.name),
               "use 1, or a model with moe");
    }
  }
  if (c.run.moe.imbalance > 1) {
    warn(c, "moe.imbalance has no effect without experts");
  }
  if (!c.run.moe.load_file.empty()) {
    warn(c, "moe.load_file has no effect without experts");
  }
  if (c.run.moe.dispatcher != Dispatcher::alltoall) {
    warn(c, "moe.dispatcher has no effect without experts");
  }
  if (c.run.training.overlap.ep) {
    warn(c, "training.overlap.ep has no effect without experts");
  }
}

void check_choice(Checking& c) {
  const MoeSpec& moe = *c.run.model.moe;
  if (usable(c, {"model.moe.top_k", "model.moe.experts"}) && moe.top_k > moe.experts) {
    complain(
        c, "model.moe.top_k",
        fmt::format("a token cannot visit {} of {}", moe.top_k, counted(moe.experts, "expert")),
        fmt::format("use at most {}", moe.experts));
  }
  if (usable(c, {"model.bias"}) && c.run.model.bias == Bias::all) {
    complain(c, "model.bias", "biases of experts are not available in this version",
             "use \"none\" or \"qkv\"");
  }
}

// What is turned away is never silent.
void warn_of_drops(Checking& c) {
  const MoeSpec& moe = *c.run.model.moe;
  if (moe.capacity_factor && *moe.capacity_factor < 1) {
    warn(c, fmt::format("capacity_factor {:g}: experts have room for that share of the tokens, the "
                        "rest is dropped",
                        *moe.capacity_factor));
  }
}

// etp x ep x edp x pp over the same ranks as tp x cp x dp x pp.
void check_grid(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel", "parallel.tp", "parallel.cp", "parallel.pp", "parallel.dp",
                  "parallel.ep", "parallel.etp", "parallel.order", "gpus"})) {
    return;
  }
  const std::int64_t stage = c.run.gpus / p.pp;
  if (p.etp > stage || p.ep > stage || stage % (p.etp * p.ep) != 0) {
    const std::string needs = fmt::format("etp {} x ep {} x pp {} = {}", p.etp, p.ep, p.pp,
                                          counted(p.etp * p.ep * p.pp, "rank"));
    const bool fewer = p.etp * p.ep > stage;
    const std::string etp = p.etp > 1 ? "set etp 1, or " : "";
    complain(c, p.etp > 1 ? "parallel.etp" : "parallel.ep",
             fewer ? fmt::format("the experts' grid needs {}, there are {}", needs, c.run.gpus)
                   : fmt::format("{} {} not a multiple of {} of the experts' grid",
                                 counted(c.run.gpus, "GPU"), is_or_are(c.run.gpus), needs),
             fmt::format("{}use ep {}", etp, list_near(divisors(stage), p.ep)));
    return;
  }
  const std::int64_t dense = stride_of_pp(p, false);
  const std::int64_t experts = stride_of_pp(p, true);
  if (p.pp > 1 && dense != experts) {
    complain(c, "parallel.order",
             fmt::format("stages of a pipeline are {} apart in the dense grid and {} in the "
                         "experts' (etp {} ep {} edp {})",
                         counted(dense, "rank"), experts, p.etp, p.ep,
                         p.tp * p.cp * p.dp / (p.etp * p.ep)),
             "put pp last, as in \"tp-cp-ep-dp-pp\"");
  }
}

void check_cuts(Checking& c) {
  const MoeSpec& moe = *c.run.model.moe;
  const ParallelSpec& p = c.run.parallel;
  if (usable(c, {"parallel.ep", "model.moe.experts"}) && moe.experts % p.ep != 0) {
    complain(c, "parallel.ep",
             fmt::format("{} does not divide {}", p.ep, counted(moe.experts, "expert")),
             "use " + list_near(divisors(moe.experts), p.ep));
  }
  if (usable(c, {"parallel.etp", "model.moe.expert_ffn"}) && moe.expert_ffn % p.etp != 0) {
    complain(c, "parallel.etp",
             fmt::format("{} does not divide expert_ffn {}", p.etp, moe.expert_ffn),
             "use " + list_near(divisors(moe.expert_ffn), p.etp));
  }
  if (usable(c, {"parallel.tp", "model.moe.shared_ffn"}) && moe.shared_ffn % p.tp != 0) {
    complain(c, "parallel.tp",
             fmt::format("{} does not divide shared_ffn {}", p.tp, moe.shared_ffn),
             "use " + list_near(divisors(moe.shared_ffn), p.tp));
  }
  // Without sp every rank of a tp group holds all its tokens and would send each to the experts.
  if (usable(c, {"parallel.tp", "parallel.sp", "parallel.ep", "parallel.etp"}) && p.tp > 1 &&
      !p.sp && (p.ep > 1 || p.etp != p.tp)) {
    complain(c, "parallel.sp",
             fmt::format("experts with tp {} need sequence parallelism, or each token would be "
                         "sent {} times",
                         p.tp, p.tp),
             fmt::format("use sp true{}", p.ep == 1 ? fmt::format(", or etp {}", p.tp) : ""));
  }
}

void check_load(Checking& c) {
  const MoeSpec& moe = *c.run.model.moe;
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"moe", "parallel.ep", "model.moe"}) || moe.experts % p.ep != 0) {
    return;
  }
  const bool file = !c.run.moe.load_file.empty();
  if (file && c.run.moe.imbalance > 1) {
    complain(c, "moe.imbalance", "stands beside load_file, which also says how uneven tokens are",
             "keep one of them");
    return;
  }
  if (c.run.moe.imbalance > 1 && p.ep == 1) {
    warn(c, "moe.imbalance has no effect with ep 1: one rank holds all experts");
  }
  const std::int64_t held = std::min(moe.top_k, moe.experts / p.ep);
  const double most = static_cast<double>(p.ep * held) / static_cast<double>(moe.top_k);
  if (p.ep > 1 && c.run.moe.imbalance > most) {
    complain(c, "moe.imbalance",
             fmt::format("a rank cannot get {:g} times the mean: ep {} x {} of a token's top {} "
                         "experts on one rank is {:g} at most",
                         c.run.moe.imbalance, p.ep, held, moe.top_k, most),
             fmt::format("use 1 to {:g}", most));
  }
}

// Node-limited routing: groups are equal, and those chosen have room for a token's experts.
void check_groups(Checking& c) {
  const MoeSpec& moe = *c.run.model.moe;
  if (!usable(c, {"model.moe.experts", "model.moe.top_k", "model.moe.groups",
                  "model.moe.group_top_k"})) {
    return;
  }
  if (moe.experts % moe.groups != 0) {
    complain(c, "model.moe.groups",
             fmt::format("{} does not divide {} experts", moe.groups, moe.experts),
             "use " + list_near(divisors(moe.experts), moe.groups));
    return;
  }
  if (moe.group_top_k > moe.groups) {
    complain(c, "model.moe.group_top_k",
             fmt::format("a token cannot choose {} of {} groups", moe.group_top_k, moe.groups),
             fmt::format("use at most {}", moe.groups));
    return;
  }
  const std::int64_t reachable = moe.group_top_k * (moe.experts / moe.groups);
  if (moe.top_k <= moe.experts && moe.top_k > reachable) {
    complain(
        c, "model.moe.group_top_k",
        fmt::format("top_k {} exceeds the experts of the chosen groups: group_top_k {} x {}",
                    moe.top_k, moe.group_top_k, moe.experts / moe.groups),
        fmt::format("use {} or more", (moe.top_k * moe.groups + moe.experts - 1) / moe.experts));
  }
}

void check_dispatcher(Checking& c) {
  if (c.run.moe.dispatcher == Dispatcher::alltoall || !usable(c, {"parallel.ep", "parallel.etp"})) {
    return;
  }
  if (c.run.parallel.ep == 1) {
    warn(c, "moe.dispatcher has no effect with ep 1");
  } else if (c.run.parallel.etp > 1) {
    complain(
        c, "moe.dispatcher",
        fmt::format("deepep sends tokens to whole experts, etp {} cuts them", c.run.parallel.etp),
        R"(use etp 1, or "alltoall")");
  }
}

// What can run beside dispatch and combine: shared experts (Megatron,
// moe_shared_expert_overlap), under dualpipe the other direction's pass (DeepSeek-V3 section
// 3.2.1).
void check_overlap(Checking& c) {
  const RunSpec& run = c.run;
  if (!run.training.overlap.ep ||
      !usable(c, {"parallel.ep", "parallel.pp", "model.moe.shared_ffn", "training.schedule"})) {
    return;
  }
  const bool paired = run.parallel.pp > 1 && run.training.schedule == "dualpipe";
  if (run.parallel.ep == 1) {
    warn(c, "training.overlap.ep has no effect with ep 1");
  } else if (!paired && run.model.moe->shared_ffn == 0) {
    complain(c, "training.overlap.ep",
             fmt::format("nothing can run beside dispatch and combine: model {} has no shared "
                         "experts, schedule {} pairs no passes",
                         run.model.name, run.training.schedule),
             "use false, or schedule dualpipe");
  } else if (paired && run.parallel.zero == 3) {
    complain(c, "training.overlap.ep",
             "dualpipe's pairs of passes with weights gathered layer by layer are not available",
             "use false, or zero 2 or less");
  }
}

}  // namespace

void validate_moe(Checking& c) {
  if (!usable(c, {"model"})) {
    return;
  }
  if (!c.run.model.moe) {
    refuse_without_experts(c);
    return;
  }
  check_choice(c);
  warn_of_drops(c);
  check_grid(c);
  check_cuts(c);
  check_groups(c);
  check_dispatcher(c);
  check_overlap(c);
  read_expert_loads(c);
  check_load(c);
}

}  // namespace shardsim
