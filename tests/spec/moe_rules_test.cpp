// Rules over experts: each error with its arithmetic and what would be right.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

// llama-mini with 8 experts on 8 GPUs.
std::string problems(Overrides overrides, const std::string& gpus = "8") {
  overrides.insert(overrides.begin(),
                   "model.moe={\"experts\": 8, \"top_k\": 2, \"expert_ffn\": 1024}");
  return text_errors(R"({"model": "llama-mini", "cluster": "pod", "gpus": )" + gpus +
                         R"(, "batch": {"sequence": 4096, "global": 16}})",
                     overrides);
}

}  // namespace

TEST_CASE("experts: a dense model has no experts' grid") {
  CHECK(text_errors(R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
                        "batch": {"sequence": 4096, "global": 8}})",
                    {"parallel.ep=8"}) ==
        "--set:/parallel/ep: 8 cuts experts, model llama-mini has none; use 1, or a model with "
        "moe");
}

// A26: tp 4, ep 4 and etp 4 on 4 GPUs; etp 1 is accepted.
TEST_CASE("experts: an impossible grid is refused with its arithmetic") {
  CHECK(problems({"parallel.tp=4", "parallel.sp=true", "parallel.ep=4", "parallel.etp=4"}, "4") ==
        "--set:/parallel/etp: the experts' grid needs etp 4 x ep 4 x pp 1 = 16 ranks, there are 4; "
        "set etp 1, or use ep 1, 2 or 4");
  CHECK(problems({"parallel.tp=4", "parallel.sp=true", "parallel.ep=4"}, "4").empty());
  CHECK(problems({"parallel.ep=4", "batch.global=12"}, "6") ==
        "--set:/parallel/ep: 6 GPUs are not a multiple of etp 1 x ep 4 x pp 1 = 4 ranks of the "
        "experts' grid; use ep 1, 2, 3 or 6");
}

TEST_CASE("experts: both grids must have the same pipeline groups") {
  CHECK(problems({"parallel.tp=2", "parallel.sp=true", "parallel.pp=2", "parallel.ep=2",
                  "parallel.order=tp-pp-cp-ep-dp"}) ==
        "--set:/parallel/order: stages of a pipeline are 2 ranks apart in the dense grid and 1 in "
        "the experts' (etp 1 ep 2 edp 2); put pp last, as in \"tp-cp-ep-dp-pp\"");
}

TEST_CASE("experts: ep and etp divide what they cut") {
  CHECK(problems({"parallel.ep=8", "model.moe.experts=12"}) ==
        "--set:/parallel/ep: 8 does not divide 12 experts; use 1, 2, 3, 4, 6 or 12");
  CHECK(problems({"model.moe.top_k=9"}) ==
        "--set:/model/moe/top_k: a token cannot visit 9 of 8 experts; use at most 8");
}

TEST_CASE("experts: tokens that tp repeats cannot be sent to experts") {
  CHECK(
      problems({"parallel.tp=2", "parallel.ep=4"}) ==
      "run.json:/parallel/sp: experts with tp 2 need sequence parallelism, or each token would be "
      "sent 2 times; use sp true");
  CHECK(problems({"parallel.tp=2", "parallel.etp=2"}).empty());
  CHECK(problems({"parallel.tp=2", "parallel.sp=true", "parallel.ep=4"}).empty());
}

// 8 experts on 8 ranks: at most one of a token's two choices is on a rank: 8 x 1 / 2.
TEST_CASE("experts: no rank gets more tokens than there are") {
  CHECK(problems({"parallel.ep=8", "moe.imbalance=4"}).empty());
  CHECK(problems({"parallel.ep=8", "moe.imbalance=5"}) ==
        "--set:/moe/imbalance: a rank cannot get 5 times the mean: ep 8 x 1 of a token's top 2 "
        "experts on one rank is 4 at most; use 1 to 4");
}

// Its path is relative to the file that names it; an override's to where the program runs.
TEST_CASE("experts: loads come from a file, one per expert") {
  const std::string folder = data_path() + "/loads/";
  const auto loads = [&](const char* file) {
    return problems({"parallel.ep=8", "moe.load_file=" + folder + file});
  };
  CHECK(loads("eight.json").empty());
  CHECK(loads("seven.json") == "loads/seven.json: 7 loads for 8 experts; write 8 numbers");
  CHECK(loads("negative.json") ==
        "loads/negative.json:/tokens_per_expert/1: -3 is no number of tokens; write a whole number "
        "from 0 to 1000000000000");
  CHECK(loads("none.json").find("cannot") != std::string::npos);
  const RunSpec run = read_text(
      R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
          "batch": {"sequence": 4096, "global": 16}})",
      {"model.moe={\"experts\": 8, \"top_k\": 2, \"expert_ffn\": 1024}", "parallel.ep=8",
       "moe.load_file=" + folder + "eight.json"});
  CHECK(run.moe.tokens_per_expert == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("experts: groups are equal, and those chosen hold a token's experts") {
  CHECK(problems({"model.moe.groups=3"}) ==
        "--set:/model/moe/groups: 3 does not divide 8 experts; use 1, 2, 4 or 8");
  CHECK(problems({"model.moe.groups=4", "model.moe.group_top_k=5"}) ==
        "--set:/model/moe/group_top_k: a token cannot choose 5 of 4 groups; use at most 4");
  CHECK(problems({"model.moe.groups=8", "model.moe.group_top_k=1"}) ==
        "--set:/model/moe/group_top_k: top_k 2 exceeds the experts of the chosen groups: "
        "group_top_k 1 x 1; use 2 or more");
  CHECK(problems({"model.moe.groups=4", "model.moe.group_top_k=2"}).empty());
}

TEST_CASE("experts: deepep sends tokens to whole experts") {
  CHECK(problems({"moe.dispatcher=deepep", "parallel.ep=4"}).empty());
  CHECK(problems({"moe.dispatcher=deepep", "parallel.ep=4", "parallel.tp=2", "parallel.sp=true",
                  "parallel.etp=2"}) ==
        "--set:/moe/dispatcher: deepep sends tokens to whole experts, etp 2 cuts them; use etp 1, "
        "or \"alltoall\"");
}

TEST_CASE("experts: overlap.ep needs something to run beside the all-to-all") {
  CHECK(problems({"training.overlap.ep=true", "parallel.ep=4"}) ==
        "--set:/training/overlap/ep: nothing can run beside dispatch and combine: model llama-mini "
        "has no shared experts, schedule 1f1b pairs no passes; use false, or schedule dualpipe");
  CHECK(
      problems({"training.overlap.ep=true", "parallel.ep=4", "model.moe.shared_ffn=1024"}).empty());
  CHECK(problems({"training.overlap.ep=true", "parallel.ep=4", "parallel.pp=2",
                  "training.schedule=dualpipe"})
            .empty());
  CHECK(problems({"training.overlap.ep=true", "parallel.ep=4", "parallel.pp=2", "parallel.zero=3",
                  "training.schedule=dualpipe"})
            .find("/training/overlap/ep: dualpipe's pairs of passes with weights gathered layer by "
                  "layer are not available; use false, or zero 2 or less") != std::string::npos);
}
