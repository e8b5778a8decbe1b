#include "workload/stages.h"

#include "base/errors.h"
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

// The reader refuses them with the text for users (spec/validate_pipeline.cpp).
TEST_CASE("stages: layers that cannot be placed never get lost") {
  CHECK_THROWS_AS(layers_of_chunks(pipeline(80, 7, 1)), InternalError);
  CHECK_THROWS_AS(layers_of_chunks(pipeline(80, 4, 3)), InternalError);
  RunSpec run = pipeline(12, 2, 3);
  for (const std::vector<std::int64_t>& stated :
       {std::vector<std::int64_t>{6, 6, 6}, {6, 9}, {5, 7}}) {
    run.parallel.layers_per_stage = stated;
    CHECK_THROWS_AS(layers_of_chunks(run), InternalError);
  }
  run.parallel.layers_per_stage = {0, 3, 3, 3, 3, 0};
  CHECK(layers_of_chunks(run) == ChunkCounts{{0, 3, 3}, {3, 3, 0}});
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
}
