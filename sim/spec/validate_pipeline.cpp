// Rules over stages, chunks, layers and micro batches.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/ids.h"
#include "base/text.h"
#include "spec/checks.h"
#include "spec/layout_string.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

constexpr std::int64_t kListedStages = 32;  // longer lists help nobody

// As even as it gets, first and last stage lighter: they also hold the embedding and the loss.
std::string uneven_stages(std::int64_t layers, std::int64_t pp) {
  if (layers < pp || pp > kListedStages) {
    return "";
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(pp), layers / pp);
  const bool counted = pp > 1 && (layers + 2) % pp == 0;
  if (counted) {
    std::fill(counts.begin(), counts.end(), (layers + 2) / pp);
    --counts.front();
    --counts.back();
  } else {
    for (std::int64_t i = 0; i < layers % pp; ++i) {
      ++at(counts, (i + 1) % pp);
    }
  }
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const std::int64_t value : counts) {
    words.push_back(std::to_string(value));
  }
  return fmt::format(", or layers_per_stage [{}]{}", join(words, ", "),
                     counted ? " (embedding and loss counted as layers)" : "");
}

void check_even(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const std::int64_t layers = c.run.model.layers;
  const std::int64_t extra = (p.count_embedding_as_layer ? 1 : 0) + (p.count_loss_as_layer ? 1 : 0);
  const std::int64_t total = layers + extra;
  std::string all = counted(layers, "layer");
  if (extra > 0) {
    all += fmt::format("{}{} = {}", p.count_embedding_as_layer ? " + embedding" : "",
                       p.count_loss_as_layer ? " + loss" : "", total);
  }
  if (total % p.pp != 0) {
    complain(
        c, "parallel.pp", fmt::format("{} {} divide into pp {} stages", all, do_not(total), p.pp),
        fmt::format("use pp {}{}", list_near(divisors(total), p.pp), uneven_stages(layers, p.pp)));
    return;
  }
  const std::int64_t per_stage = total / p.pp;
  if (per_stage % p.vpp != 0) {
    const std::string entries = layers >= p.pp * p.vpp
                                    ? fmt::format(", or layers_per_stage with pp x vpp = {}",
                                                  counted(p.pp * p.vpp, "entry"))
                                    : "";
    complain(c, "parallel.vpp",
             fmt::format("{} / pp {} = {} of a stage {} divide into vpp {} chunks", all, p.pp,
                         counted(per_stage, "layer"), do_not(per_stage), p.vpp),
             fmt::format("use vpp {}{}", list_near(divisors(per_stage), p.vpp), entries));
  }
}

// Only the chunks at the model's ends, which hold the embedding and the loss, may be without
// layers. An entry per stage is cut into all chunks of the stage, and of several chunks one is in
// between.
void check_entry(Checking& c, std::size_t i, bool per_chunk) {
  const ParallelSpec& p = c.run.parallel;
  const std::int64_t entry = p.layers_per_stage[i];
  const std::string key = fmt::format("parallel.layers_per_stage.{}", i);
  if (entry == 0 && !per_chunk && p.vpp > 1) {
    complain(c, key, fmt::format("0 layers leave {} of the stage empty", counted(p.vpp, "chunk")),
             fmt::format("use {} or more, or pp x vpp = {} entries in chunk order, of which the "
                         "first and the last may be 0",
                         p.vpp, p.pp * p.vpp));
  } else if (entry == 0 && i > 0 && i + 1 < p.layers_per_stage.size()) {
    complain(c, key, "0 layers in the middle of the pipeline", "use 1 or more");
  } else if (!per_chunk && entry % p.vpp != 0) {
    complain(c, key,
             fmt::format("{} {} divide into vpp {} chunks", counted(entry, "layer"), do_not(entry),
                         p.vpp),
             fmt::format("use multiples of {}, or pp x vpp = {} entries in chunk order", p.vpp,
                         p.pp * p.vpp));
  }
}

// "add 2 layers", "remove 1 layer"
std::string correction(std::int64_t have, std::int64_t want, std::string_view what) {
  return fmt::format("{} {}", have < want ? "add" : "remove", counted(std::abs(want - have), what));
}

void check_stated(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const std::string key = "parallel.layers_per_stage";
  const std::int64_t size = count(p.layers_per_stage);
  if (p.count_embedding_as_layer || p.count_loss_as_layer || !p.layout.empty()) {
    complain(c, key,
             "stands beside count_embedding_as_layer, count_loss_as_layer or layout, which also "
             "place the layers",
             "keep one of them");
  }
  const bool per_chunk = size == p.pp * p.vpp;
  if (size != p.pp && !per_chunk) {
    complain(c, key, fmt::format("{} for pp {} x vpp {}", counted(size, "entry"), p.pp, p.vpp),
             "use " + counted(p.pp, "entry") +
                 (p.vpp == 1 ? "" : fmt::format(", or {} in chunk order", p.pp * p.vpp)));
    return;
  }
  for (std::size_t i = 0; i < p.layers_per_stage.size(); ++i) {
    check_entry(c, i, per_chunk);
  }
  const std::int64_t sum =
      std::accumulate(p.layers_per_stage.begin(), p.layers_per_stage.end(), std::int64_t{0});
  if (sum != c.run.model.layers) {
    complain(c, key,
             fmt::format("the entries sum to {}, the model has {}", sum,
                         counted(c.run.model.layers, "layer")),
             correction(sum, c.run.model.layers, "layer"));
  }
}

void check_layout(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const ParsedLayout parsed = parse_layout(p.layout);
  if (parsed.fault) {
    complain(c, "parallel.layout", parsed.fault->what, parsed.fault->right);
    return;
  }
  if (p.count_embedding_as_layer || p.count_loss_as_layer) {
    complain(c, "parallel.layout",
             "stands beside count_embedding_as_layer or count_loss_as_layer, which also place the "
             "layers",
             "keep one of them");
  }
  const std::int64_t chunks = count(parsed.chunks);
  if (chunks % p.pp != 0) {
    complain(c, "parallel.layout",
             fmt::format("{} {} divide over pp {} stages", counted(chunks, "chunk"), do_not(chunks),
                         p.pp),
             fmt::format("use {} chunks", multiples_near(chunks, p.pp, p.pp)));
  } else if (chunks != p.pp * p.vpp) {
    complain(c, "parallel.vpp",
             fmt::format("{} does not match the layout's {} over {}", p.vpp,
                         counted(chunks, "chunk"), counted(p.pp, "stage")),
             fmt::format("use {}, or leave it out", chunks / p.pp));
  }
  const std::int64_t layers = layers_of(parsed.chunks);
  if (layers != c.run.model.layers) {
    complain(c, "parallel.layout",
             fmt::format("the layout holds {}, the model has {}", counted(layers, "layer"),
                         c.run.model.layers),
             correction(layers, c.run.model.layers, "layer"));
  }
  const std::int64_t mtp = mtp_layers_of(parsed.chunks);
  if (usable(c, {"model.mtp_layers"}) && mtp != c.run.model.mtp_layers) {
    complain(c, "parallel.layout",
             fmt::format("the layout holds {}, the model has {}", counted(mtp, "MTP layer"),
                         c.run.model.mtp_layers),
             correction(mtp, c.run.model.mtp_layers, "m"));
  } else if (parsed.chunks.back().mtp != mtp) {
    complain(c, "parallel.layout", "MTP layers outside the last chunk, away from the loss",
             "write every m before the L in the last chunk");
  }
}

void check_layers(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel.pp", "parallel.vpp", "parallel.layers_per_stage", "model.layers",
                  "parallel.count_embedding_as_layer", "parallel.count_loss_as_layer"})) {
    return;
  }
  if (!p.layers_per_stage.empty()) {
    check_stated(c);
  } else if (p.layout.empty()) {
    check_even(c);
  } else if (usable(c, {"parallel.layout"})) {
    check_layout(c);
  }
}

// Megatron runs micro batches in groups of pp under interleaving
// (megatron/core/pipeline_parallel/schedules.py).
void check_interleaved(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const BatchSpec& batch = c.run.batch;
  if (!usable(c, {"batch.global", "batch.micro", "parallel.dp", "parallel.pp"}) ||
      batch.micro_batches % p.pp == 0) {
    return;
  }
  const std::int64_t unit = batch.micro * p.dp * p.pp;
  const std::string have =
      fmt::format("{} (global {} / (micro {} x dp {}))",
                  counted(batch.micro_batches, "micro batch"), batch.global, batch.micro, p.dp);
  const std::string rule =
      batch.micro_batches < p.pp
          ? fmt::format("the interleaved schedule needs at least pp = {}", p.pp)
          : fmt::format("the interleaved schedule needs a multiple of pp {}", p.pp);
  give_up(c, "batch.global", fmt::format("{}, {}", have, rule),
          fmt::format("use global {}, or vpp 1", multiples_near(batch.global, unit, unit)));
}

void check_schedule(Checking& c) {
  const ParallelSpec& p = c.run.parallel;
  const std::string& schedule = c.run.training.schedule;
  if (!usable(c, {"parallel.pp", "parallel.vpp", "training.schedule"})) {
    return;
  }
  if (p.pp == 1) {
    if (p.vpp > 1) {
      give_up(c, "parallel.vpp", fmt::format("{} chunks need more than pp 1 stage", p.vpp),
              "use vpp 1, or pp 2 or more");
    } else if (stated_in_run(c, "training.schedule")) {
      warn(c, "training.schedule has no effect with pp 1");
    }
    return;
  }
  const bool one_chunk = schedule != "interleaved";
  if (schedule == "interleaved" && p.vpp == 1) {
    give_up(c, "training.schedule", "interleaved needs more than one chunk per stage, vpp is 1",
            "use \"1f1b\", or vpp 2 or more");
  } else if (one_chunk && p.vpp > 1) {
    give_up(c, "training.schedule",
            fmt::format("{} has one chunk per stage, vpp is {}", schedule, p.vpp),
            "use \"interleaved\", or vpp 1");
  } else if (schedule == "interleaved") {
    check_interleaved(c);
  }
}

}  // namespace

void validate_pipeline(Checking& c) {
  if (usable(c, {"model.mtp_layers", "parallel.zero"}) && c.run.model.mtp_layers > 0 &&
      c.run.parallel.zero == 3) {
    complain(c, "parallel.zero",
             "multi-token prediction with weights gathered layer by layer is not available",
             "use 2 or less, or model.mtp_layers 0");
  }
  check_layers(c);
  check_schedule(c);
}

}  // namespace shardsim
