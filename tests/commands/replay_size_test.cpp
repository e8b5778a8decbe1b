// Jobs that would not fit in this computer's memory are refused before they are replayed, by what
// folding and coalescing left of them.
#include "commands/replay_size.h"

#include "commands/read_job.h"
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

RunSpec job(const Overrides& overrides) {
  use_test_data();
  return read_job_text(R"({"model": "llama-mini", "cluster": "pod", "gpus": 64,
                           "parallel": {"tp": 8, "sp": true},
                           "batch": {"sequence": 4096, "global": 16}})",
                       "run.json", overrides);
}

}  // namespace

TEST_CASE("replay size: rank classes and operations are counted, not assumed") {
  const auto bytes = [](const Overrides& overrides, FoldMode fold, CoalesceMode coalesce) {
    return replay_bytes(prepare(job(overrides), {.fold = fold, .coalesce = coalesce}).folded);
  };
  const double one = bytes({}, FoldMode::automatic, CoalesceMode::off);
  const double all = bytes({}, FoldMode::off, CoalesceMode::off);
  // Of 24 + 100 + 72 B for an operation, 24 are taken for each of the 64 ranks.
  CHECK(all / one == Approx((24.0 * 64 + 100 + 72) / (24 + 100 + 72)));
  // One slow GPU: its TP group is two classes, the other seven groups, which meet it, one or more.
  const double uneven = bytes({"perturbations=[{\"gpu\": 3, \"speed\": 0.5}]"}, FoldMode::automatic,
                              CoalesceMode::off);
  CHECK(uneven > one);
  CHECK(uneven < all);
  CHECK(bytes({}, FoldMode::automatic, CoalesceMode::automatic) < 0.5 * one);
}

TEST_CASE("replay size: every rank of a large job by itself ate the memory") {
  const RunSpec large = job({"batch.global=80000"});
  CHECK(errors_of([&] {
          return prepare(large, {.fold = FoldMode::off, .coalesce = CoalesceMode::off});
        }).find("GiB of memory to simulate; use --fold auto, --coalesce auto or batch.global ") !=
        std::string::npos);
  CHECK_NOTHROW(prepare(large, {.coalesce = CoalesceMode::automatic}));
}
