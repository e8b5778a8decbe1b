// Rules over context parallelism, with the nearest values that would do.
#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

const char* const kRun = R"({"model": "llama-mini", "cluster": "pod", "gpus": 16,
                             "batch": {"sequence": 4096, "global": 16}})";

std::string errors(const Overrides& overrides) { return text_errors(kRun, overrides); }

}  // namespace

// 96 heads, 8 KV heads, tp 1: 16 ranks cannot take whole KV heads, a ring can take anything
// (a reported failure of prime-rl at cp 16 with Ulysses).
TEST_CASE("context: Ulysses is limited by the KV heads of a TP rank") {
  const Overrides glm{"model.heads=96", "model.kv_heads=8", "model.head_dim=128", "parallel.cp=16"};
  const auto with = [&](const std::string& comm, std::vector<std::string> more = {}) {
    Overrides all = glm;
    all.push_back("parallel.cp_comm=" + comm);
    all.insert(all.end(), more.begin(), more.end());
    return errors(all);
  };
  CHECK(with("a2a") ==
        "--set:/parallel/cp: all-to-all over 16 ranks cannot share out 96 query heads and 8 KV "
        "heads of "
        "a TP rank evenly; use cp 1, 2, 4 or 8, or cp_comm \"p2p\" or \"all_gather\"");
  CHECK(with("a2a", {"parallel.cp=8"}).empty());
  CHECK(with("a2a", {"parallel.cp=8", "parallel.tp=2"}) ==
        "--set:/parallel/cp: all-to-all over 8 ranks cannot share out 48 query heads and 4 KV "
        "heads of "
        "a TP rank evenly; use cp 1, 2 or 4, or cp_comm \"p2p\" or \"all_gather\"");
  CHECK(with("p2p").empty());
  CHECK(with("all_gather").empty());
}

TEST_CASE("context: zig-zag needs two equal chunks per rank") {
  // Megatron's rule, with the nearest sequences that obey it.
  const auto of = [](int cp, int sequence, Overrides more = {}) {
    more.push_back("gpus=" + std::to_string(cp));
    more.push_back("parallel.cp=" + std::to_string(cp));
    more.push_back("batch.sequence=" + std::to_string(sequence));
    more.emplace_back("batch.global=1");
    return errors(more);
  };
  CHECK(of(3, 4096) ==
        "--set:/batch/sequence: 4096 is not a multiple of 2 x cp 3 = 6; use 4092 or 4098");
  CHECK(of(2, 8194) ==
        "--set:/batch/sequence: 8194 is not a multiple of 2 x cp 2 = 4; use 8192 or 8196");
  CHECK(of(2, 8194, {"parallel.cp_balanced=false"}).empty());
  CHECK(of(3, 4096, {"parallel.cp_balanced=false"}) ==
        "--set:/batch/sequence: 4096 is not a multiple of cp 3; use 4095 or 4098");
}

TEST_CASE("context: sp cuts what cp left") {
  CHECK(errors({"parallel.cp=2", "parallel.tp=8", "parallel.sp=true", "batch.sequence=4104"}) ==
        "--set:/batch/sequence: 4104 is not a multiple of tp 8 x cp 2, over which sp cuts it; use "
        "4096 or 4112");
}

TEST_CASE("context: a2a+p2p exchanges heads among the CP ranks of a node") {
  const auto read = [](const Overrides& more) {
    Overrides all{"parallel.cp=8", "parallel.cp_comm=a2a+p2p", "model.heads=32",
                  "model.kv_heads=8"};
    all.insert(all.end(), more.begin(), more.end());
    return read_text(kRun, all);
  };
  // Nodes of 8. tp 1: all 8 CP ranks of the group; tp 2: 4 of them sit in a node, and 4 KV heads
  // are there to share; tp 4: 2, and dp between them at the end of the order changes nothing.
  CHECK(read({}).parallel.cp_a2a == 8);
  CHECK(read({"parallel.tp=2"}).parallel.cp_a2a == 4);
  CHECK(read({"gpus=32", "parallel.tp=4", "batch.global=32"}).parallel.cp_a2a == 2);
  CHECK(read({"parallel.cp_a2a=2"}).parallel.cp_a2a == 2);
  const Overrides full{
      "gpus=64",        "parallel.cp=8",    "parallel.tp=8",           "batch.global=64",
      "model.heads=32", "model.kv_heads=8", "parallel.cp_comm=a2a+p2p"};
  CHECK(errors(full) ==
        "--set:/parallel/cp_comm: \"a2a+p2p\" finds no CP ranks of one node that can exchange "
        "heads; use \"p2p\", or state parallel.cp_a2a");
  CHECK(errors({"parallel.cp=8", "parallel.cp_comm=a2a+p2p", "parallel.cp_a2a=3", "model.heads=32",
                "model.kv_heads=8"}) ==
        "--set:/parallel/cp_a2a: 3 does not divide cp 8; use 1, 2, 4 or 8");
}

TEST_CASE("context: unfused attention cannot merge the blocks of a ring") {
  CHECK(errors({"parallel.cp=2", "training.attention=unfused"}) ==
        "--set:/training/attention: \"unfused\" keeps no softmax statistics by which a ring of CP "
        "ranks merges its blocks; use \"flash\", or cp_comm \"all_gather\" or \"a2a\"");
  CHECK(errors({"parallel.cp=2", "training.attention=unfused", "parallel.cp_comm=all_gather"})
            .empty());
}

TEST_CASE("context: options without effect are warned of") {
  CHECK(read_text(kRun, {"parallel.cp_balanced=false"}).warnings ==
        std::vector<std::string>{"parallel.cp_balanced has no effect with cp 1"});
  CHECK(read_text(kRun, {"parallel.cp=2", "parallel.cp_a2a=2"}).warnings ==
        std::vector<std::string>{"parallel.cp_a2a has no effect without cp_comm \"a2a+p2p\""});
}
