#include "commands/worker_pool.h"

#include <csignal>
#include <stdexcept>

#include "support/catch.h"

using namespace shardsim;

TEST_CASE("worker pool: results stand in the order of the jobs, whoever did them") {
  std::size_t told = 0;
  const std::vector<JobResult> results = run_in_workers(
      50, [](std::size_t job) { return std::string(job * 1000, 'x'); },
      [&](std::size_t done) { CHECK(done == ++told); });
  REQUIRE(results.size() == 50);
  CHECK(told == 50);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].ok);
    CHECK(results[i].text.size() == i * 1000);
  }
  CHECK(run_in_workers(0, [](std::size_t) { return std::string(); }).empty());
}

TEST_CASE("worker pool: a job that throws says why and fails alone") {
  const std::vector<JobResult> results = run_in_workers(5, [](std::size_t job) {
    if (job == 2) throw std::runtime_error("no peak is stated");
    return std::to_string(job);
  });
  for (std::size_t i = 0; i < results.size(); ++i) CHECK(results[i].ok == (i != 2));
  CHECK(results[2].text == "no peak is stated");
  CHECK(results[4].text == "4");
}

TEST_CASE("worker pool: a worker that is killed costs the job it was at and no other") {
  std::signal(SIGPIPE, SIG_IGN);  // as main does
  const std::vector<JobResult> results = run_in_workers(20, [](std::size_t job) {
    if (job % 7 == 3) std::raise(SIGKILL);
    return std::to_string(job);
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].ok == (i % 7 != 3));
    CHECK(results[i].text == (i % 7 == 3 ? "the simulating process died" : std::to_string(i)));
  }
}
