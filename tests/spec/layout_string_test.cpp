// Megatron's layout strings: what they expand to, and where they are wrong.
#include "spec/layout_string.h"

#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

std::string text(const std::string& layout) {
  const ParsedLayout parsed = parse_layout(layout);
  if (parsed.fault) {
    return parsed.fault->what + "; " + parsed.fault->right;
  }
  std::string result;
  for (const LayoutChunk& chunk : parsed.chunks) {
    result += (result.empty() ? "" : " ") + std::string(chunk.embedding ? "E" : "") +
              std::to_string(chunk.layers) + std::string(static_cast<std::size_t>(chunk.mtp), 'm') +
              (chunk.loss ? "L" : "");
  }
  return result;
}

}  // namespace

TEST_CASE("layout: repeats and cuts") {
  CHECK(text("EtL") == "E1L");
  CHECK(text("Et*2|(t*2|)*2,tL") == "E2 2 2 1L");
  CHECK(text("E|t*3|(tt|t|)*2 L") == "E0 3 2 1 2 1 0L");
  CHECK(text("E((t|)*2t|)*2L") == "E1 1 1 1 1 1 0L");
  // DeepSeek-V3 on 16 stages: 4 + 14 x 4 + 1 layers.
  const ParsedLayout parsed = parse_layout("Et*4|(t*4|)*14,tmL");
  REQUIRE(parsed.chunks.size() == 16);
  CHECK(layers_of(parsed.chunks) == 61);
  CHECK(parsed.chunks.back() == LayoutChunk{false, 1, 1, true});
}

TEST_CASE("layout: faults and where they are") {
  CHECK(text("") == "character 1: no E, the embedding, at the beginning; begin with E");
  CHECK(text("t|L") == "character 1: no E, the embedding, at the beginning; begin with E");
  CHECK(text("Et|t") == "character 4: no L, the loss, at the end; end with L");
  CHECK(text("EtxL") ==
        "character 3: 'x' means nothing; use E, t, m, L, |, and *n or (...)*n to repeat");
  CHECK(text("E(t|*2L") == "character 2: '(' is never closed; add ')'");
  CHECK(text("Et)L") == "character 3: ')' without '('; remove it");
  CHECK(text("Et*L") == "character 3: no number of repeats after '*'; write one, 1 or more");
  CHECK(text("Et*0L") == "character 3: no number of repeats after '*'; write one, 1 or more");
  CHECK(text("Et||tL") ==
        "character 4: stage 2 holds nothing; remove this | or put a layer before it");
  CHECK(text("Et|E|L") == "character 4: a second embedding; write E once, at the beginning");
  CHECK(text("EtL|tL") == "character 3: the loss before the end; write L once, at the end");
  CHECK(text("EtmtL") == "character 4: a layer after an MTP layer; write m after all t");
  CHECK(text("E()*2L") == "character 2: nothing between the parentheses; remove them");
  CHECK(text("Et*99999999999999999999L") ==
        "character 2: more than 1000000 symbols; repeat less often");
}

TEST_CASE("layout: against the job") {
  const auto errors = [](const Overrides& overrides) {
    return text_errors(R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
                          "batch": {"sequence": 4096, "global": 8}})",
                       overrides);
  };
  const std::int64_t layers =
      read_text(R"({"model": "llama-mini", "cluster": "pod", "gpus": 8})").model.layers;
  const std::string rest = std::to_string(layers - 1);
  const std::string fewer = std::to_string(layers - 2);
  CHECK(errors({"parallel.pp=2", "parallel.layout=Et|t*" + rest + "L"}).empty());
  CHECK(errors({"parallel.pp=2", "parallel.layout=Et|t*" + fewer + "|tL"}) ==
        "--set:/parallel/layout: 3 chunks do not divide over pp 2 stages; use 2 or 4 chunks");
  CHECK(errors({"parallel.pp=2", "parallel.layout=Et|tt*" + rest + "L"}) ==
        "--set:/parallel/layout: the layout holds " + std::to_string(layers + 1) +
            " layers, the model has " + std::to_string(layers) + "; remove 1 layer");
  CHECK(errors({"parallel.pp=2", "parallel.layout=Et|t*" + rest}) ==
        "--set:/parallel/layout: character 4: no L, the loss, at the end; end with L");
  CHECK(errors({"parallel.pp=2", "parallel.vpp=2", "parallel.layout=Et|t*" + rest + "L"}) ==
        "--set:/parallel/vpp: 2 does not match the layout's 2 chunks over 2 stages; use 1, or "
        "leave it out");
  CHECK(errors({"parallel.pp=2", "model.mtp_layers=1", "parallel.layout=Et|t*" + rest + "mL"})
            .empty());
  CHECK(errors({"parallel.pp=2", "model.mtp_layers=1", "parallel.layout=Et|t*" + rest + "L"}) ==
        "--set:/parallel/layout: the layout holds 0 MTP layers, the model has 1; add 1 m");
  CHECK(
      errors({"parallel.pp=2", "model.mtp_layers=1", "parallel.layout=Et*" + rest + "tm|L"}) ==
      "--set:/parallel/layout: MTP layers outside the last chunk, away from the loss; write every "
      "m before the L in the last chunk");
  CHECK(errors({"parallel.pp=2", "parallel.layout=Et|t*" + rest + "L",
                "parallel.count_loss_as_layer=true"}) ==
        "--set:/parallel/layout: stands beside count_embedding_as_layer or count_loss_as_layer, "
        "which also place the layers; keep one of them");
}
