#include "report/assumptions.h"

#include <algorithm>

#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;

namespace {

std::int64_t about_schedule(const std::string& schedule, std::int64_t pp) {
  RunSpec run = jobs::job(jobs::gpt(8, 1024, 8), {.pp = pp, .micro_batches = 8});
  run.training.schedule = schedule;
  const std::vector<std::string> lines = assumptions_of(run);
  return std::count_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return line.rfind("schedule " + schedule + ":", 0) == 0;
  });
}

}  // namespace

TEST_CASE("assumptions: what schedules leave out is said where they run") {
  CHECK(about_schedule("1f1b", 4) == 0);
  CHECK(about_schedule("zb-h1", 4) == 1);
  CHECK(about_schedule("zb-2p", 4) == 2);
  CHECK(about_schedule("dualpipe", 4) == 2);
  CHECK(about_schedule("dualpipe", 1) == 0);
}
