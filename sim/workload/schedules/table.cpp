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
  };
  return table;
}

const Schedule& find_schedule(const std::string& name) {
  const auto found = std::find_if(schedules().begin(), schedules().end(),
                                  [&](const Schedule& schedule) { return schedule.name == name; });
  SHARDSIM_CHECK(found != schedules().end(), "no schedule is named " + name);
  return *found;
}

}  // namespace shardsim
