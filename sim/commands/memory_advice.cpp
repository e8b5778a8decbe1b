#include "commands/memory_advice.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "commands/simulate.h"
#include "sharding/parameters.h"

namespace shardsim {

namespace {

constexpr std::size_t kMostShown = 5;
constexpr std::size_t kMostChanges = 3;
constexpr std::size_t kMostTried = 300;         // programs built for one answer
constexpr std::int64_t kMostTimesTheGpus = 64;  // searched for the fewest GPUs

// One way to turn a knob; `ranks` is by how much it multiplies the ranks of a model replica.
struct Turn {
  std::string override_text;
  std::int64_t ranks = 1;
};
using Knob = std::vector<Turn>;

Turn turn(const std::string& key, const std::string& value, std::int64_t ranks = 1) {
  return {key + "=" + value, ranks};
}

// Least intrusive first.
std::vector<Knob> knobs_of(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  std::vector<Knob> knobs;
  if (p.tp > 1 && !p.sp) knobs.push_back({turn("parallel.sp", "true")});
  Knob zero;
  for (std::int64_t stage = p.zero + 1; stage <= 3 && p.dp * p.cp > 1; ++stage) {
    zero.push_back(turn("parallel.zero", std::to_string(stage)));
  }
  knobs.push_back(zero);
  Knob recompute;
  if (run.training.recompute == Recompute::none) {
    recompute.push_back(turn("training.recompute", "selective"));
  }
  if (run.training.recompute != Recompute::full) {
    recompute.push_back(turn("training.recompute", "full"));
  }
  knobs.push_back(recompute);
  Knob micro;
  for (std::int64_t size = run.batch.micro / 2; size >= 1; size /= 2) {
    micro.push_back(turn("batch.micro", std::to_string(size)));
  }
  knobs.push_back(micro);
  const auto doubled = [&](const char* key, std::int64_t size) {
    if (p.dp % 2 == 0) knobs.push_back({turn(key, std::to_string(2 * size), 2)});
  };
  if (2 * p.tp <= run.cluster.node.gpus_used) doubled("parallel.tp", p.tp);
  doubled("parallel.pp", p.pp);
  doubled("parallel.cp", p.cp);
  return knobs;
}

class Trial {
 public:
  Trial(const RunSpec& run, const ReadWith& read) : run_(run), read_(read) {
    const auto& defaults = run.defaults_taken;
    dp_stated_ = std::none_of(defaults.begin(), defaults.end(), [](const std::string& taken) {
      return taken.rfind("parallel.dp = ", 0) == 0;
    });
  }

  // Nothing when the overrides make no valid run, or enough has been tried.
  std::optional<MemoryChange> run(const std::vector<Turn>& turns) {
    MemoryChange change;
    std::int64_t ranks = 1;
    for (const Turn& one : turns) {
      change.overrides.push_back(one.override_text);
      ranks *= one.ranks;
    }
    if (run_.parallel.dp % ranks != 0) return std::nullopt;
    if (ranks > 1 && dp_stated_) {
      change.overrides.push_back(fmt::format("parallel.dp={}", run_.parallel.dp / ranks));
    }
    return measure(std::move(change));
  }

  std::optional<MemoryChange> measure(MemoryChange change) {
    if (++tried_ > kMostTried) return std::nullopt;
    try {
      const RunSpec changed = read_(change.overrides);
      const MemoryUse use = memory_use(program_of(changed), changed);
      change.gpus = changed.gpus;
      change.peak = use.peak;
      change.fits = use.fits;
      return change;
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }

 private:
  const RunSpec& run_;
  const ReadWith& read_;
  bool dp_stated_ = false;
  std::size_t tried_ = 0;
};

// Tries every choice of `more` knobs from `next` on, added to `turns`.
void choose(Trial& trial, const std::vector<Knob>& knobs, std::size_t next, std::size_t more,
            std::vector<Turn>& turns, std::vector<MemoryChange>& found) {
  if (more == 0) {
    if (auto change = trial.run(turns)) found.push_back(std::move(*change));
    return;
  }
  for (std::size_t i = next; i < knobs.size(); ++i) {
    for (const Turn& one : knobs[i]) {
      turns.push_back(one);
      choose(trial, knobs, i + 1, more - 1, turns, found);
      turns.pop_back();
    }
  }
}

struct Grid {
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  [[nodiscard]] std::int64_t gpus() const { return tp * pp * dp; }
};

// States alone, spread evenly: what no activations can lower.
bool may_fit(const RunSpec& run, double parameters, const Grid& grid) {
  const auto kept = static_cast<double>(element_bytes(run.training.param_dtype) +
                                        element_bytes(run.training.grad_dtype));
  constexpr double kOptimizerBytes = 12;  // of Adam: fp32 master weight and two moments
  const auto model_ranks = static_cast<double>(grid.tp * grid.pp);
  const double states =
      parameters * (kept / model_ranks + kOptimizerBytes / static_cast<double>(grid.gpus()));
  return states < static_cast<double>(run.cluster.gpu.memory_capacity.value());
}

std::vector<Grid> larger_grids(const RunSpec& run) {
  const auto parameters = static_cast<double>(count_parameters(run.model).total);
  std::vector<Grid> grids;
  for (std::int64_t tp = 1; tp <= run.cluster.node.gpus_used; tp *= 2) {
    for (std::int64_t pp = 1; pp <= run.model.layers; ++pp) {
      for (std::int64_t dp = 1; tp * pp * dp <= kMostTimesTheGpus * run.gpus; dp *= 2) {
        const Grid grid{tp, pp, dp};
        const bool divides = run.model.layers % (pp * run.parallel.vpp) == 0;
        if (divides && grid.gpus() > run.gpus && may_fit(run, parameters, grid)) {
          grids.push_back(grid);
        }
      }
    }
  }
  std::stable_sort(grids.begin(), grids.end(),
                   [](const Grid& a, const Grid& b) { return a.gpus() < b.gpus(); });
  return grids;
}

std::optional<MemoryChange> fewest_gpus(const RunSpec& run, Trial& trial) {
  for (const Grid& grid : larger_grids(run)) {
    MemoryChange change;
    change.overrides = {fmt::format("gpus={}", grid.gpus()), fmt::format("parallel.tp={}", grid.tp),
                        fmt::format("parallel.pp={}", grid.pp),
                        fmt::format("parallel.dp={}", grid.dp)};
    if (grid.tp > 1 && !run.parallel.sp) change.overrides.emplace_back("parallel.sp=true");
    if (grid.dp > 1 && run.parallel.zero == 0) change.overrides.emplace_back("parallel.zero=1");
    const auto measured = trial.measure(std::move(change));
    if (measured && measured->fits) return measured;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MemoryChange> advise(const RunSpec& run, const ReadWith& read) {
  Trial trial(run, read);
  const std::vector<Knob> knobs = knobs_of(run);
  std::optional<MemoryChange> nearest;
  for (std::size_t changes = 1; changes <= kMostChanges; ++changes) {
    std::vector<MemoryChange> tried;
    std::vector<Turn> turns;
    choose(trial, knobs, 0, changes, turns, tried);
    std::vector<MemoryChange> fitting;
    for (const MemoryChange& change : tried) {
      if (change.fits && fitting.size() < kMostShown) fitting.push_back(change);
      if (!nearest || change.peak < nearest->peak) nearest = change;
    }
    if (!fitting.empty()) return fitting;
  }
  std::vector<MemoryChange> result;
  if (nearest) result.push_back(*nearest);
  Trial larger(run, read);
  if (const auto gpus = fewest_gpus(run, larger)) result.push_back(*gpus);
  return result;
}

}  // namespace shardsim
