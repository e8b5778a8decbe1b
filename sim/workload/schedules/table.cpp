#include <algorithm>

#include "base/errors.h"
#include "workload/schedules/schedules.h"

namespace shardsim {

const std::vector<Schedule>& schedules() {
  static const std::vector<Schedule> table{
      {"gpipe", "all forwards, then all backwards", false, gpipe_passes, one_chunk_objection},
      {"1f1b", "one forward, one backward in turn after a warm-up", false, one_f_one_b_passes,
       one_chunk_objection},
      {"interleaved", "1f1b over several chunks per stage (vpp): a shorter bubble, more messages",
       false, interleaved_passes, interleaved_objection},
      {"zb-h1", "1f1b with the backward split: weight gradients fill the bubble, memory of 1f1b",
       true, zb_h1_passes, one_chunk_objection},
      {"zb-h2", "zb-h1 with a longer warm-up: next to no bubble, about twice the memory", true,
       zb_h2_passes, one_chunk_objection},
      {"zb-1p", "searched: the shortest found with a split backward in the memory of 1f1b", true,
       zb_1p_passes, zb_search_objection, false, 1, zb_1p_stages},
      {"zb-2p", "searched: the shortest found with a split backward in twice the memory of 1f1b",
       true, zb_2p_passes, zb_search_objection, false, 2, zb_2p_stages},
      {"dualpipe", "micro batches enter at both ends, two parts of the model per stage", true,
       dual_pipe_passes, dual_pipe_objection, true},
  };
  return table;
}

const Schedule& find_schedule(const std::string& name) {
  const auto found = std::find_if(schedules().begin(), schedules().end(),
                                  [&](const Schedule& schedule) { return schedule.name == name; });
  SHARDSIM_CHECK(found != schedules().end(), "no schedule is named " + name);
  return *found;
}

StagePasses passes_of_stages(const Schedule& schedule, const ScheduleInput& input) {
  if (schedule.all_stages != nullptr) {
    return schedule.all_stages(input);
  }
  StagePasses stages;
  ScheduleInput one = input;
  for (one.stage = 0; one.stage < one.stages; ++one.stage) {
    stages.push_back(schedule.passes(one));
  }
  return stages;
}

std::int32_t chunks_held(const Schedule& schedule, const ScheduleInput& input) {
  return schedule.bidirectional ? 2 : input.chunks;
}

std::int32_t model_parts(const Schedule& schedule, const ScheduleInput& input) {
  return schedule.bidirectional ? input.stages : input.stages * input.chunks;
}

std::int32_t model_part(const Schedule& schedule, const ScheduleInput& input, std::int32_t chunk) {
  if (schedule.bidirectional) {
    return chunk == 0 ? input.stage : input.stages - 1 - input.stage;
  }
  return chunk * input.stages + input.stage;
}

std::int32_t forward_step(const Schedule& schedule, std::int32_t chunk) {
  return schedule.bidirectional && chunk == 1 ? -1 : 1;
}

}  // namespace shardsim
