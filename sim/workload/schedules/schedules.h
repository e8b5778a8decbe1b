// The functions behind schedules(): one schedule per file of this folder. A new one is declared
// here, written in <name>.cpp and listed in table.cpp.
#pragma once

#include <string>
#include <vector>

#include "workload/schedule.h"

namespace shardsim {

[[nodiscard]] std::vector<ScheduledPass> gpipe_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> one_f_one_b_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> interleaved_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> zb_h1_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> zb_h2_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> zb_1p_passes(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> zb_2p_passes(const ScheduleInput& input);
[[nodiscard]] StagePasses zb_1p_stages(const ScheduleInput& input);
[[nodiscard]] StagePasses zb_2p_stages(const ScheduleInput& input);
[[nodiscard]] std::vector<ScheduledPass> dual_pipe_passes(const ScheduleInput& input);

// Objection of the schedules that know one chunk per stage only.
[[nodiscard]] std::string one_chunk_objection(const ScheduleInput& input);
[[nodiscard]] std::string interleaved_objection(const ScheduleInput& input);
[[nodiscard]] std::string zb_search_objection(const ScheduleInput& input);
[[nodiscard]] std::string dual_pipe_objection(const ScheduleInput& input);

}  // namespace shardsim
