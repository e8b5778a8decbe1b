// Rules over the parallel layout and the model: what TP and SP cut must divide.
#include <fmt/format.h>

#include "base/text.h"
#include "spec/checks.h"

namespace shardsim {
namespace {

bool kv_rule(std::int64_t kv_heads, std::int64_t tp) {
  return kv_heads % tp == 0 || tp % kv_heads == 0;
}

// Megatron's rules (megatron/training/arguments.py, transformer_config.py): heads and ffn are cut
// into tp equal parts; of kv_heads and tp one divides the other.
void check_tp(Checking& c) {
  const ModelSpec& m = c.run.model;
  const std::int64_t tp = c.run.parallel.tp;
  if (!usable(c, {"parallel.tp", "model.heads", "model.kv_heads", "model.ffn"})) {
    return;
  }
  const bool kv_matters = !m.mla.has_value();
  std::vector<std::string> uncut;
  if (m.heads % tp != 0) {
    uncut.push_back(fmt::format("heads {}", m.heads));
  }
  if (m.ffn % tp != 0) {
    uncut.push_back(fmt::format("ffn {}", m.ffn));
  }
  const bool kv_wrong = kv_matters && m.heads % tp == 0 && !kv_rule(m.kv_heads, tp);
  if (uncut.empty() && !kv_wrong) {
    return;
  }
  std::string what =
      uncut.empty() ? "" : fmt::format("{} does not divide {}", tp, join(uncut, " and "));
  if (kv_wrong) {
    what += fmt::format("{}of {} and kv_heads {} neither divides the other",
                        uncut.empty() ? "" : ", and ", tp, m.kv_heads);
  }
  std::vector<std::int64_t> valid;
  for (const std::int64_t candidate : divisors(m.heads)) {
    if (m.ffn % candidate == 0 && (!kv_matters || kv_rule(m.kv_heads, candidate))) {
      valid.push_back(candidate);
    }
  }
  complain(c, "parallel.tp", what, "use " + list_near(valid, tp));
}

// Gathered KV weights are cut within a head; embedding and head are cut along hidden.
void check_cuts(Checking& c) {
  const ModelSpec& m = c.run.model;
  const ParallelSpec& p = c.run.parallel;
  if (!usable(c, {"parallel.tp", "model.kv_heads", "model.head_dim", "model.hidden"})) {
    return;
  }
  const std::int64_t sharers = m.kv_heads < p.tp ? p.tp / m.kv_heads : 1;
  if (p.kv_strategy == KvStrategy::gather && !m.mla && m.head_dim % sharers != 0) {
    complain(c, "parallel.kv_strategy",
             fmt::format("head_dim {} does not divide over the {} ranks that share a KV head",
                         m.head_dim, sharers),
             R"(use "shared" or "replicate")");
  }
  if (p.vocab_cut == VocabCut::hidden && m.hidden % p.tp != 0) {
    complain(c, "parallel.vocab_cut",
             fmt::format("hidden {} does not divide over tp {}", m.hidden, p.tp),
             R"(use "vocab" or "none")");
  }
}

void check_heads(Checking& c) {
  const ModelSpec& m = c.run.model;
  if (!usable(c, {"model.heads", "model.kv_heads"}) || m.heads % m.kv_heads == 0) {
    return;
  }
  complain(c, "model.kv_heads", fmt::format("{} does not divide heads {}", m.kv_heads, m.heads),
           "use " + list_near(divisors(m.heads), m.kv_heads));
}

void check_positions(Checking& c) {
  const ModelSpec& m = c.run.model;
  const std::int64_t s = c.run.batch.sequence;
  if (usable(c, {"model.max_positions", "batch.sequence", "model.position"}) &&
      m.position == Position::learned && m.max_positions < s) {
    complain(
        c, "model.max_positions",
        fmt::format("{} {} fewer than sequence {}", counted(m.max_positions, "learned position"),
                    is_or_are(m.max_positions), s),
        fmt::format("use {} or more, or a shorter sequence", s));
  }
}

void check_vocabulary(Checking& c) {
  const std::int64_t tp = c.run.parallel.tp;
  const std::int64_t vocab = c.run.model.vocab;
  if (usable(c, {"parallel.tp", "model.vocab", "training.pad_vocab"}) &&
      !c.run.training.pad_vocab && c.run.parallel.vocab_cut != VocabCut::none && vocab % tp != 0) {
    complain(c, "training.pad_vocab",
             fmt::format("without padding, vocab {} does not divide over tp {}", vocab, tp),
             "use true, or a tp that divides vocab");
  }
}

void check_boundary(Checking& c) {
  const RunSpec& run = c.run;
  const ParallelSpec& p = run.parallel;
  if (!usable(c, {"batch.micro", "batch.sequence", "model.hidden", "parallel.tp", "parallel.pp",
                  "parallel.cp"}) ||
      !run.training.p2p_scatter_gather || p.pp == 1) {
    return;
  }
  // Remainders first: the product itself may exceed 64 bits here.
  const std::int64_t tokens = run.batch.sequence / p.cp;
  const std::int64_t rest =
      run.batch.micro % p.tp * (tokens % p.tp) % p.tp * (run.model.hidden % p.tp) % p.tp;
  if (rest != 0) {
    complain(c, "training.p2p_scatter_gather",
             fmt::format("a stage boundary of micro {} x sequence {} x hidden {} does not divide "
                         "over tp {}",
                         run.batch.micro, tokens, run.model.hidden, p.tp),
             "use false, or a tp that divides hidden");
  }
}

void check_recompute(Checking& c) {
  const TrainingSpec& t = c.run.training;
  if (usable(c, {"training.recompute_layers", "model.layers"}) && t.recompute == Recompute::full &&
      t.recompute_layers > c.run.model.layers) {
    complain(c, "training.recompute_layers",
             fmt::format("{} {} more than the model's {}", t.recompute_layers,
                         is_or_are(t.recompute_layers), counted(c.run.model.layers, "layer")),
             fmt::format("use at most {}", c.run.model.layers));
  }
}

void warn_of_idle_recompute(Checking& c) {
  if (!usable(c, {"training.recompute"})) {
    return;
  }
  const Recompute kind = c.run.training.recompute;
  const auto warn_unless = [&](const char* key, Recompute needed, const char* needed_name) {
    if (kind != needed && stated_in_run(c, key)) {
      warn(c, fmt::format("{} has no effect without recompute \"{}\"", key, needed_name));
    }
  };
  warn_unless("training.recompute_modules", Recompute::selective, "selective");
  warn_unless("training.recompute_method", Recompute::full, "full");
  warn_unless("training.recompute_layers", Recompute::full, "full");
}

}  // namespace

void validate_parallel(Checking& c) {
  check_heads(c);
  check_tp(c);
  check_cuts(c);
  check_positions(c);
  check_vocabulary(c);
  check_boundary(c);
  check_recompute(c);
  warn_of_idle_recompute(c);
}

}  // namespace shardsim
