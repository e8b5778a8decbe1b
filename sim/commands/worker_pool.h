// Many independent jobs on the cores there are, each worker a forked process, because a process can
// hold one replay engine only (replay/replay.h) and a crash then costs one job.
//
//   std::vector<std::string> results = run_in_workers(
//       jobs.size(), [&](std::size_t job) { return simulate_row(jobs[job]); }, progress);
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace shardsim {

struct JobResult {
  bool ok = false;
  std::string text;  // what the job returned; when not ok, why there is none
};

using Job = std::function<std::string(std::size_t job)>;      // runs in a worker; may throw
using Progress = std::function<void(std::size_t jobs_done)>;  // runs here, after each job

// Results in the order of the jobs. A worker that dies fails the job that it was at; the others go
// on.
[[nodiscard]] std::vector<JobResult> run_in_workers(std::size_t jobs, const Job& job,
                                                    const Progress& progress = {});

}  // namespace shardsim
