#include "workload/exposure.h"

#include "support/catch.h"
#include "workload/pass_builder.h"
#include "workload/programs.h"

using namespace shardsim;

namespace {

KernelShape kernel() { return {.bytes = Bytes{8}}; }
Communication sum(const std::string& trigger) {
  return {.primitive = Primitive::all_reduce,
          .group = axis_set(Axis::tp),
          .bytes = Bytes{8},
          .trigger = trigger};
}

// One template, run `times` times by one rank.
std::vector<CommunicationCount> counts_of(ProgramTables& tables, PassBuilder& pass, int times) {
  tables.program.templates.push_back(pass.finish());
  RankProgram rank;
  rank.passes.resize(static_cast<std::size_t>(times));
  return count_communications(tables.program, rank);
}

}  // namespace

TEST_CASE("exposure: what the next kernel waits for is exposed") {
  ProgramTables tables;
  PassBuilder pass(tables, "F", PassKind::forward);
  pass.kernel("attention out", kernel(), Category::compute);
  pass.wait(pass.communicate(Stream::tp, Category::tp, sum("attention out")));
  pass.kernel("residual", kernel(), Category::compute);
  const auto counts = counts_of(tables, pass, 3);
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].count == 3);
  CHECK(counts[0].exposed == 3);
}

TEST_CASE("exposure: a kernel that does not wait may hide it, also behind a second stream") {
  ProgramTables tables;
  PassBuilder pass(tables, "B", PassKind::backward);
  pass.kernel("qkv dgrad", kernel(), Category::compute);
  const std::int32_t gradient = pass.communicate(Stream::tp, Category::tp, sum("qkv dgrad"));
  pass.kernel("qkv wgrad", kernel(), Category::compute);
  pass.wait(gradient);
  pass.kernel("norm dgrad", kernel(), Category::compute);
  const auto counts = counts_of(tables, pass, 1);
  REQUIRE(counts.size() == 1);
  CHECK(counts[0].exposed == 0);
}

// Nothing of the pass follows the last sum; the next pass waits for tp when it begins.
TEST_CASE("exposure: what trails is the next pass's to wait for, and the step's end waits") {
  for (const bool joins : {true, false}) {
    ProgramTables tables;
    PassBuilder pass(tables, "F", PassKind::forward);
    pass.host(Stream::compute, "begin", 0, joins ? mask(Stream::tp) : StreamMask{0});
    pass.kernel("down", kernel(), Category::compute);
    (void)pass.communicate(Stream::tp, Category::tp, sum("down"));
    const auto counts = counts_of(tables, pass, 4);
    CHECK(counts.at(0).exposed == (joins ? 4 : 1));
  }
}

// llama-like, tp 2 without sp: both sums of a layer's forward stand alone, both of its backward
// beside the weight gradient.
TEST_CASE("exposure: of a layer's four sums two can hide") {
  const Program program =
      programs::build(jobs::job(jobs::llama3_8b(), {.tp = 2, .micro_batches = 2}));
  std::int64_t exposed = 0;
  std::int64_t hidden = 0;
  for (const CommunicationCount& one : count_communications(program, program.programs.at(0))) {
    const std::string& trigger = at(program.communications, one.communication).trigger;
    if (trigger == "attention out" || trigger == "down") exposed += one.exposed;
    if (trigger == "qkv dgrad" || trigger == "up dgrad") {
      hidden += one.count;
      CHECK(one.exposed == 0);
    }
  }
  CHECK(exposed == 32 * 2 * 2);
  CHECK(hidden == 32 * 2 * 2);
}
