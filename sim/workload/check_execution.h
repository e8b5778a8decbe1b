// Whether a step can end, for check_program: the program run abstractly, every operation taking no
// time, by one rank of each kind. InternalError that lists what waits for ever.
#pragma once

#include "workload/check_meetings.h"
#include "workload/program.h"

namespace shardsim {

// REQUIRES: check_meetings has passed.
void check_execution(const Program& program, const Meetings& meetings);

}  // namespace shardsim
