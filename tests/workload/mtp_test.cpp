// Layers of multi-token prediction in a program: by hand for a small job.
#include "programs.h"
#include "sharding/parameters.h"
#include "sharding/tensors.h"
#include "support/catch.h"
#include "support/moe_jobs.h"
#include "workload/memory.h"
#include "workload/schedule.h"

using namespace shardsim;
using namespace shardsim::programs;

namespace {

constexpr std::int64_t kHidden = 512;
constexpr std::int64_t kFfn = 1024;
constexpr std::int64_t kVocab = 2048;
constexpr std::int64_t kTokens = 128;
constexpr std::int64_t kLayer = 4 * kHidden * kHidden + 3 * kHidden * kFfn;  // matrices
// Two norms before the projection from 2h to h, the layer's two, one before the head.
constexpr std::int64_t kMtp = kLayer + 2 * kHidden * kHidden + 5 * kHidden;

RunSpec job_of(jobs::Layout layout, std::int64_t mtp) {
  layout.sequence = kTokens;
  RunSpec run = jobs::job(jobs::llama(4, kHidden, kFfn, 8, 8, kVocab), layout);
  run.model.mtp_layers = mtp;
  return run;
}

std::int64_t last_stage_parameters(const RunSpec& run) {
  return build(run).programs.back().parameters;
}

double flops_of(const RunSpec& run, std::size_t stage) {
  return program_flops(build(run), stage, Category::compute);
}

Bytes bytes_of(const Program& program, const std::string& trigger, Primitive primitive) {
  for (const Communication& c : program.communications) {
    if (c.trigger == trigger && c.primitive == primitive) {
      return c.bytes;
    }
  }
  return Bytes{0};
}

}  // namespace

// The last stage of a pipeline has no embedding: it gets a copy, once for all MTP layers.
TEST_CASE("mtp: the last stage holds the layers and a copy of the embedding") {
  const std::int64_t without = last_stage_parameters(job_of({.pp = 2, .micro_batches = 2}, 0));
  CHECK(last_stage_parameters(job_of({.pp = 2, .micro_batches = 2}, 1)) ==
        without + kMtp + kVocab * kHidden);
  CHECK(last_stage_parameters(job_of({.pp = 2, .micro_batches = 2}, 2)) ==
        without + 2 * kMtp + kVocab * kHidden);
  const std::int64_t alone = last_stage_parameters(job_of({}, 0));
  CHECK(last_stage_parameters(job_of({}, 1)) == alone + kMtp);
}

TEST_CASE("mtp: both copies of the embedding sum their gradients once a step") {
  Bytes bytes{};
  const Program program = build(job_of({.pp = 4, .micro_batches = 4}, 1));
  CHECK(of_trigger(program, 0, "MTP embedding", &bytes) == 1);
  CHECK(of_trigger(program, 1, "MTP embedding") == 0);
  CHECK(of_trigger(program, 3, "MTP embedding") == 1);
  CHECK(bytes == Bytes{kVocab * kHidden * 4});
  RunSpec tied = job_of({.pp = 4, .micro_batches = 4}, 1);
  tied.model.tied_embeddings = true;
  const Program shared = build(tied);
  CHECK(of_trigger(shared, 3, "MTP embedding") == 0);
  CHECK(of_trigger(shared, 3, "tied embeddings") == 1);
}

// Three passes of 2 FLOPs a weight and token: projection, layer, head; attention scores beside.
TEST_CASE("mtp: the last stage computes a layer, the projection and the head once more") {
  const RunSpec without = job_of({.pp = 2, .micro_batches = 2}, 0);
  const RunSpec with = job_of({.pp = 2, .micro_batches = 2}, 1);
  CHECK(flops_of(with, 0) == flops_of(without, 0));
  RunSpec half = without;
  half.model.layers = 2;
  RunSpec third = without;
  third.model.layers = 6;
  const double layer = (flops_of(third, 1) - flops_of(half, 1)) / 2;
  const double rest = 3.0 * 2 * (2 * kHidden * kHidden + kHidden * kVocab) * kTokens * 2;
  CHECK(flops_of(with, 1) == Approx(flops_of(without, 1) + layer + rest).epsilon(1e-12));
}

// Under sp both vectors are gathered along s before the projection (2h wide) and its output along
// h after it; the gradient of the output is gathered along s.
TEST_CASE("mtp: what sequence parallelism moves around the projection") {
  const Program program = build(job_of({.tp = 2, .sp = true}, 1));
  const Bytes vector{kTokens * kHidden * 2};
  CHECK(bytes_of(program, "mtp projection", Primitive::all_gather) == vector * 2);
  CHECK(bytes_of(program, "mtp output", Primitive::all_gather) == vector);
  CHECK(bytes_of(program, "mtp projection dgrad", Primitive::reduce_scatter) == vector * 2);
  CHECK(bytes_of(program, "mtp output dgrad", Primitive::all_gather) == vector);
}

// Kept for backward beside the layer's own: both norms' inputs and the 2h of the projection, the
// final norm's input and output, fp32 logits. Recomputed: the inputs and the head's.
TEST_CASE("mtp: activations of the layer and its logits live from forward to backward") {
  const auto peak = [](const RunSpec& run) {
    const Program program = build(run);
    return activation_peak(program, program.programs.front()).peak.value();
  };
  RunSpec without = job_of({}, 0);
  RunSpec with = job_of({}, 1);
  without.training.recompute = Recompute::full;
  with.training.recompute = Recompute::full;
  const std::int64_t head = kTokens * (2 * kHidden * 2 + kVocab * 4);
  CHECK(peak(with) - peak(without) >= head + kTokens * 2 * kHidden * 2);
  std::int64_t kept = 0;
  for (const SavedTensor& saved : mtp_saved(with)) {
    kept += local_bytes(with, saved.tensor).value();
  }
  std::int64_t layer = 0;
  for (const SavedTensor& saved : layer_saved(with)) {
    layer += local_bytes(with, saved.tensor).value();
  }
  CHECK(kept - layer == kTokens * 4 * kHidden * 2);
}

TEST_CASE("mtp: model parameters do not count it, model FLOPs neither") {
  ModelSpec model = jobs::llama3_8b();
  const std::int64_t total = count_parameters(model).total;
  model.mtp_layers = 1;
  CHECK(count_parameters(model).total == total);
}

TEST_CASE("mtp: every schedule, recompute and grid of axes builds and checks") {
  for (const Schedule& schedule : schedules()) {
    for (const std::int64_t tp : {1, 2}) {
      for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        RunSpec run =
            jobs::moe_job({.tp = tp, .pp = 2, .dp = 4, .ep = 4, .zero = 1, .micro_batches = 4});
        run.model.mtp_layers = 2;
        run.training.recompute = recompute;
        run.training.schedule = schedule.name;
        run.parallel.vpp = schedule.name == "interleaved" ? 2 : 1;
        INFO(schedule.name << " tp " << tp);
        // dualpipe sends half of the micro batches the other way, to stage 0.
        const std::int64_t forwards = schedule.bidirectional ? 2 : 4;
        const std::int64_t again = recompute == Recompute::full ? 2 : 1;
        CHECK(of_trigger(build(run), 1, "mtp projection") == (tp > 1 ? 2 * forwards * again : 0));
      }
    }
  }
}
