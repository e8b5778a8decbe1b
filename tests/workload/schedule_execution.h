// A toy pipeline to try schedules on: stages that run their passes in order, a pass as soon as its
// stage is free and what it needs has arrived. Independent of the program builder and the replay.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "support/catch.h"
#include "workload/schedule.h"

namespace schedule_execution {

using namespace shardsim;

struct Times {
  double forward = 1;
  double backward = 1;  // B alone
  double weight = 1;
  double message = 0;
  double pair = 0;     // of F run as one with a full backward; 0 = nothing overlaps
  bool joined = true;  // passes that belong together run as one
};

struct StageRun {
  double start = 0;
  double end = 0;
  double busy = 0;
};

struct Execution {
  bool deadlock = false;
  std::vector<StageRun> stages;
  [[nodiscard]] double end() const {
    double last = 0;
    for (const StageRun& stage : stages) last = std::max(last, stage.end);
    return last;
  }
  // The longest time from a stage's first pass to the end of its last.
  [[nodiscard]] double longest_stage() const {
    double longest = 0;
    for (const StageRun& stage : stages) longest = std::max(longest, stage.end - stage.start);
    return longest;
  }
};

class Toy {
 public:
  Toy(const Schedule& schedule, const ScheduleInput& input, const StagePasses& stages,
      const Times& times)
      : schedule_(schedule), input_(input), stages_(stages), times_(times) {
    const std::int32_t parts = model_parts(schedule, input);
    for (auto& ends : ends_) {
      ends.assign(static_cast<std::size_t>(parts * input.micro_batches), std::nullopt);
    }
  }

  Execution run() {
    Execution result;
    result.stages.resize(stages_.size());
    std::vector<std::size_t> next(stages_.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::int32_t i = 0; i < count(stages_); ++i) {
        while (at(next, i) < at(stages_, i).size() && step(i, at(next, i), at(result.stages, i))) {
          moved = true;
        }
      }
    }
    for (std::int32_t i = 0; i < count(stages_); ++i) {
      result.deadlock = result.deadlock || at(next, i) != at(stages_, i).size();
    }
    return result;
  }

 private:
  using Ends = std::vector<std::optional<double>>;

  [[nodiscard]] std::optional<double>& end_of(PassKind kind, std::int32_t part,
                                              std::int32_t micro) {
    return at(ends_[static_cast<std::size_t>(kind)], part * input_.micro_batches + micro);
  }
  // Of which part of the model a chunk of a stage is.
  [[nodiscard]] std::int32_t part_of(std::int32_t stage, const ScheduledPass& pass) const {
    ScheduleInput here = input_;
    here.stage = stage;
    return model_part(schedule_, here, pass.chunk);
  }
  [[nodiscard]] double duration(PassKind kind) const {
    const bool forward = kind == PassKind::forward;
    return forward                     ? times_.forward
           : kind == PassKind::weight  ? times_.weight
           : schedule_.splits_backward ? times_.backward
                                       : times_.backward + times_.weight;
  }
  // Forward: the part before; backward: the part after, or the last part's own forward; W: its B.
  // Nullopt: not yet known.
  [[nodiscard]] std::optional<double> ready(std::int32_t stage, const ScheduledPass& pass) {
    const std::int32_t part = part_of(stage, pass);
    const std::int32_t micro = pass.micro_batch;
    if (pass.kind == PassKind::weight) return end_of(PassKind::backward, part, micro);
    const bool forward = pass.kind == PassKind::forward;
    if (forward && part == 0) return 0.0;
    if (!forward && part + 1 == model_parts(schedule_, input_)) {
      return end_of(PassKind::forward, part, micro);
    }
    std::optional<double> sent = end_of(pass.kind, part + (forward ? -1 : 1), micro);
    if (sent && count(stages_) > 1) *sent += times_.message;
    return sent;
  }

  bool step(std::int32_t stage, std::size_t& next, StageRun& run) {
    const std::vector<ScheduledPass>& passes = at(stages_, stage);
    std::size_t last = next;  // the passes next .. last run as one
    while (times_.joined && passes[last].with_next) ++last;
    double start = run.end;
    double length = 0;
    for (std::size_t i = next; i <= last; ++i) {
      length += duration(passes[i].kind);
      if (i > next && passes[i].kind == PassKind::weight) continue;  // of the B before it
      const std::optional<double> there = ready(stage, passes[i]);
      if (!there) return false;
      start = std::max(start, *there);
    }
    if (last == next + 2 && times_.pair > 0) length = times_.pair;
    if (next == 0) run.start = start;
    run.end = start + length;
    run.busy += length;
    for (std::size_t i = next; i <= last; ++i) {
      end_of(passes[i].kind, part_of(stage, passes[i]), passes[i].micro_batch) = run.end;
    }
    next = last + 1;
    return true;
  }

  const Schedule& schedule_;
  const ScheduleInput& input_;
  const StagePasses& stages_;
  Times times_;
  Ends ends_[5];  // by PassKind
};

inline Execution execute(const Schedule& schedule, const ScheduleInput& input,
                         const StagePasses& stages, const Times& times) {
  return Toy(schedule, input, stages, times).run();
}

// Most activations of one pass alive at once on a stage: from F until `last` (B or W) of the chunk.
inline std::int32_t most_alive(const std::vector<ScheduledPass>& passes, PassKind last) {
  std::int32_t alive = 0;
  std::int32_t most = 0;
  for (const ScheduledPass& pass : passes) {
    alive += pass.kind == PassKind::forward ? 1 : pass.kind == last ? -1 : 0;
    most = std::max(most, alive);
  }
  return most;
}

// "f0 b0 w0", capitals for chunk 1, + between passes that run as one.
inline std::string text(const std::vector<ScheduledPass>& passes) {
  std::string result;
  for (const ScheduledPass& pass : passes) {
    const std::string letters = pass.chunk == 0 ? "fbw" : "FBW";
    result += letters[pass.kind == PassKind::forward ? 0 : pass.kind == PassKind::backward ? 1 : 2];
    result += std::to_string(pass.micro_batch) + (pass.with_next ? "+" : " ");
  }
  result.pop_back();
  return result;
}

inline ScheduleInput shape(std::int32_t stages, std::int32_t micro_batches,
                           std::int32_t chunks = 1) {
  ScheduleInput input;
  input.stages = stages;
  input.micro_batches = micro_batches;
  input.chunks = chunks;
  return input;
}

inline StagePasses passes_of(const std::string& name, const ScheduleInput& input) {
  return passes_of_stages(find_schedule(name), input);
}

// Calls `visit` for every shape with 1-8 stages, 1-16 micro batches (and more) and 1-4 chunks that
// a schedule does not object to.
inline void for_each_shape(
    const std::function<void(const Schedule&, const ScheduleInput&, const StagePasses&)>& visit) {
  for (const Schedule& schedule : schedules()) {
    for (std::int32_t stages = 1; stages <= 8; ++stages) {
      for (std::int32_t m = 1; m <= 18; ++m) {
        for (std::int32_t chunks = 1; chunks <= 4; ++chunks) {
          const ScheduleInput input = shape(stages, m <= 16 ? m : m == 17 ? 20 : 40, chunks);
          if (schedule.objection(input).empty()) {
            INFO(schedule.name << " stages " << stages << " chunks " << chunks << " m "
                               << input.micro_batches);
            visit(schedule, input, passes_of_stages(schedule, input));
          }
        }
      }
    }
  }
}

}  // namespace schedule_execution
