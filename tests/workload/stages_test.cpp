#include "workload/stages.h"

#include "support/catch.h"
#include "support/jobs.h"

using namespace shardsim;

namespace {

RunSpec pipeline(std::int64_t layers, std::int64_t pp, std::int64_t vpp) {
  RunSpec run;
  run.file = "run.json";
  run.model.layers = layers;
  run.parallel.pp = pp;
  run.parallel.vpp = vpp;
  return run;
}

}  // namespace

TEST_CASE("stages: layers that do not divide are refused with the nearest stages") {
  // Divisors of 80 around 7: 5 and 8.
  CHECK(stages_objection(pipeline(80, 7, 1)) ==
        "80 layers do not divide into 7 stages; use 5 or 8, or state parallel.layers_per_stage");
  CHECK_THROWS_WITH(layers_of_chunks(pipeline(80, 7, 1)),
                    Catch::Contains("run.json:/parallel/pp: 80 layers do not divide"));
  CHECK(stages_objection(pipeline(80, 4, 3)) ==
        "20 layers of a stage do not divide into 3 chunks; use 2 or 4, or state "
        "parallel.layers_per_stage with 12 entries");
  CHECK(stages_objection(pipeline(2, 4, 1)) ==
        "2 layers do not divide into 4 stages; use 2, or state parallel.layers_per_stage");
}

TEST_CASE("stages: stated layers are checked") {
  RunSpec run = pipeline(12, 2, 3);
  run.parallel.layers_per_stage = {6, 6, 6};
  CHECK(stages_objection(run) == "3 entries for 2 stages; use 2 entries, or 6, one per chunk");
  run.parallel.layers_per_stage = {6, 9};
  CHECK(stages_objection(run) ==
        "the entries sum to 15, the model has 12 layers; use entries that sum to 12");
  run.parallel.layers_per_stage = {5, 7};
  CHECK(stages_objection(run) ==
        "5 layers of a stage do not divide into 3 chunks; use 1 or 5 chunks, or state 6 entries, "
        "one per chunk");
  run.parallel.layers_per_stage = {2, 2, 0, 4, 2, 2};
  CHECK(stages_problem(run)->pointer == "/parallel/layers_per_stage/2");
  // Of stage 0's chunks 0, 2 and 4 (of 6) two are in the middle.
  run.parallel.layers_per_stage = {0, 12};
  CHECK(stages_problem(run)->pointer == "/parallel/layers_per_stage/0");
  run.parallel.layers_per_stage = {0, 3, 3, 3, 3, 0};
  CHECK_FALSE(stages_problem(run));
}

TEST_CASE("stages: chunks interleave over the stages") {
  const RunSpec run = pipeline(12, 2, 3);
  CHECK(layers_of_chunks(run) == ChunkCounts{{2, 2, 2}, {2, 2, 2}});
  CHECK(first_layers_of_chunks(run) == ChunkCounts{{0, 4, 8}, {2, 6, 10}});
}

TEST_CASE("stages: embedding and loss count as layers of the first and the last chunk") {
  // 30 + 2 = 32 = 4 stages of 8; one of the first and of the last eight is no layer.
  RunSpec run = pipeline(30, 4, 1);
  run.parallel.count_embedding_as_layer = true;
  run.parallel.count_loss_as_layer = true;
  CHECK(layers_of_chunks(run) == ChunkCounts{{7}, {8}, {8}, {7}});
  CHECK(first_layers_of_chunks(run) == ChunkCounts{{0}, {7}, {15}, {23}});

  // llama3-405b: 126 + 2 = 128 = 16 stages of 8 chunks of one layer (arXiv 2407.21783
  // section 3.3.2: the first and the last stage hold one layer less); the embedding and the loss
  // have chunks of their own.
  run.model.layers = 126;
  run.parallel.pp = 16;
  run.parallel.vpp = 8;
  const ChunkCounts chunks = layers_of_chunks(run);
  CHECK(chunks.front() == std::vector<std::int64_t>{0, 1, 1, 1, 1, 1, 1, 1});
  CHECK(chunks.back() == std::vector<std::int64_t>{1, 1, 1, 1, 1, 1, 1, 0});

  run.model.layers = 31;
  run.parallel.pp = 4;
  run.parallel.vpp = 1;
  CHECK(stages_objection(run) ==
        "31 layers + the embedding + the loss do not divide into 4 stages; use 3 or 11, or state "
        "parallel.layers_per_stage");
}

TEST_CASE("stages: stated layers per stage and per chunk") {
  RunSpec run = pipeline(12, 2, 2);
  run.parallel.layers_per_stage = {4, 8};
  CHECK(layers_of_chunks(run) == ChunkCounts{{2, 2}, {4, 4}});
  // In chunk order: stage 0 holds model chunks 0 and 2, stage 1 holds 1 and 3.
  run.parallel.layers_per_stage = {1, 2, 4, 5};
  CHECK(layers_of_chunks(run) == ChunkCounts{{1, 4}, {2, 5}});
  CHECK(first_layers_of_chunks(run) == ChunkCounts{{0, 3}, {1, 7}});
}

// DeepSeek-V3 on 16 stages: embedding and 4 layers, 14 times 4, the last with the loss.
TEST_CASE("stages: a layout string places layers in chunk order") {
  RunSpec run = jobs::job(jobs::gpt(61, 1024, 8), {.pp = 16});
  run.parallel.layout = "Et*4|(t*4|)*14,tL";
  ChunkCounts counts = layers_of_chunks(run);
  CHECK(counts.front() == std::vector<std::int64_t>{4});
  CHECK(counts.back() == std::vector<std::int64_t>{1});
  run.parallel.pp = 8;
  run.parallel.vpp = 2;
  counts = layers_of_chunks(run);
  CHECK(counts[0] == std::vector<std::int64_t>{4, 4});
  CHECK(counts[7] == std::vector<std::int64_t>{4, 1});
  CHECK(first_layers_of_chunks(run)[1] == std::vector<std::int64_t>{4, 36});
  run.parallel.layout = "Et*4|(t*4|)*14,tL)";
  CHECK(stages_objection(run) == "character 18: ')' without '('; remove it");
}
