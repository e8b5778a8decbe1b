#include "report/shard_report.h"

#include <algorithm>

#include "report/writers/writers.h"
#include "support/catch.h"
#include "support/moe_jobs.h"
#include "workload/programs.h"

using namespace shardsim;

namespace {

ShardReport report_of(const RunSpec& run) { return make_shard_report(run, programs::build(run)); }

const ShardTensor& tensor(const std::vector<ShardTensor>& rows, const std::string& name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&name](const ShardTensor& row) { return row.tensor == name; });
  REQUIRE(found != rows.end());
  return *found;
}

std::string cut(const ShardTensor& row, Axis axis) { return at(row.cut, axis); }

std::vector<std::int64_t> sizes(const std::vector<SizedDim>& dims) {
  std::vector<std::int64_t> result;
  for (const SizedDim& dim : dims) result.push_back(dim.size);
  return result;
}

using Sizes = std::vector<std::int64_t>;

std::int64_t count_of(const ShardReport& report, const std::string& axis,
                      const std::string& trigger) {
  std::int64_t sum = 0;
  for (const ShardPrimitive& row : report.primitives) {
    if (row.axis == axis && row.trigger == trigger) sum += row.count_per_step;
  }
  return sum;
}

}  // namespace

// 2 sequences of 2048 tokens in all, one on each dp rank; ffn 28672 over tp 4: 1/8 of it.
TEST_CASE("shard report: dp cuts b, tp cuts heads and ffn, pp cuts layers") {
  const ShardReport report =
      report_of(jobs::job(jobs::llama3_70b(), {.tp = 4, .pp = 2, .dp = 2, .micro_batches = 2}));
  const ShardTensor& ffn = tensor(report.activations, "down input");
  CHECK(sizes(ffn.full) == Sizes{2, 2048, 28672});
  CHECK(sizes(ffn.local) == Sizes{1, 2048, 28672 / 4});
  CHECK(cut(ffn, Axis::dp) == "b");
  CHECK(cut(ffn, Axis::tp) == "ffn");
  CHECK(cut(ffn, Axis::pp) == "L");
  CHECK(cut(ffn, Axis::cp).empty());
  CHECK(ffn.copies == 1);
  CHECK(ffn.bytes == Bytes{2048 * 7168 * 2});
  const ShardTensor& keys = tensor(report.weights, "k weight");
  CHECK(cut(keys, Axis::tp) == "kv_head");
  CHECK(keys.copies == 2);  // dp
  const ShardTensor& norm = tensor(report.weights, "norm weight 2");
  CHECK(norm.copies == 8);
  CHECK(cut(norm, Axis::tp).empty());
  CHECK(cut(tensor(report.weights, "embedding"), Axis::tp) == "V");
  CHECK(cut(tensor(report.weights, "embedding"), Axis::pp).empty());
}

// Micro batch 1, TP 4, CP 2, DP 2: of [2, s, ffn] one GPU has [1, s/2, ffn/4].
TEST_CASE("shard report: tp, cp and dp leave a sixteenth of the intermediate") {
  const ShardReport report =
      report_of(jobs::job(jobs::llama3_8b(), {.tp = 4, .cp = 2, .dp = 2, .sequence = 8192}));
  const ShardTensor& ffn = tensor(report.activations, "down input");
  CHECK(sizes(ffn.full) == Sizes{2, 8192, 14336});
  CHECK(sizes(ffn.local) == Sizes{1, 4096, 3584});
  CHECK(elements(ffn.full) == 16 * elements(ffn.local));
  CHECK(cut(ffn, Axis::tp) == "ffn");
  CHECK(cut(ffn, Axis::cp) == "s");
  CHECK(cut(ffn, Axis::dp) == "b");
}

// EP cuts E and ETP ffn of the experts' weights, whatever tp, cp and dp cut of the rest; their
// activations are the tokens that reach them.
TEST_CASE("shard report: ep cuts experts, etp their ffn, edp copies them") {
  const ShardReport report =
      report_of(jobs::moe_job({.tp = 2, .pp = 2, .dp = 4, .etp = 2, .ep = 2, .micro_batches = 2}));
  const ShardTensor& up = tensor(report.weights, "expert up weight");
  CHECK(cut(up, Axis::ep) == "E");
  CHECK(cut(up, Axis::etp) == "ffn");
  CHECK(cut(up, Axis::edp).empty());
  CHECK(cut(up, Axis::pp) == "L");
  CHECK(cut(up, Axis::tp).empty());
  CHECK(up.copies == 2);  // edp
  const ShardTensor& input = tensor(report.activations, "expert down input");
  CHECK(cut(input, Axis::etp) == "ffn");
  // 4 sequences of 128 tokens, top 2: an eighth of the tokens on each of 8 ranks, gathered over
  // etp.
  CHECK(sizes(input.full) == Sizes{4 * 128 * 2, 256});
  CHECK(sizes(input.local) == Sizes{4 * 128 * 2 / 4, 256 / 2});
  CHECK(cut(tensor(report.weights, "router weight"), Axis::tp).empty());
}

TEST_CASE("shard report: column and row parallel products dock without a primitive") {
  for (const bool sp : {false, true}) {
    const ShardReport report =
        report_of(jobs::job(jobs::llama3_8b(), {.tp = 4, .sp = sp, .dp = 2}));
    const auto docking = [&report](const std::string& from, const std::string& to) {
      for (const Docking& row : report.dockings) {
        if (row.from == from && row.to == to) return row;
      }
      FAIL("no " + from + " -> " + to);
      return Docking{};
    };
    for (const auto& [from, to] :
         {std::pair{"qkv", "rope"}, std::pair{"rope", "attention"},
          std::pair{"attention", "attention out"}, std::pair{"up", "activation"},
          std::pair{"activation", "down"}}) {
      const Docking row = docking(from, to);
      CHECK(row.yields == row.needs);
      CHECK(row.forward == Primitive::none);
      CHECK(row.backward == Primitive::none);
    }
    const Docking out = docking("attention out", "residual");
    CHECK(out.yields == "Partial");
    CHECK(out.forward == (sp ? Primitive::reduce_scatter : Primitive::all_reduce));
    CHECK(docking("norm", "up").forward == (sp ? Primitive::all_gather : Primitive::none));
  }
}

// 80 layers: two sums forward and two backward each, b s h of bf16; outside 10-100 MB at a tenth.
TEST_CASE("shard report: an 80-layer model sums 320 times a micro batch over tp") {
  RunSpec run = jobs::job(jobs::llama3_70b(), {.tp = 8});
  const ShardReport report = report_of(run);
  std::int64_t sums = 0;
  for (const std::string trigger : {"attention out", "down", "qkv dgrad", "up dgrad"}) {
    sums += count_of(report, "tp", trigger);
  }
  CHECK(sums == 320);
  for (const ShardPrimitive& row : report.primitives) {
    if (row.trigger == "down") {
      CHECK(row.message == Bytes{2048 * 8192 * 2});  // 33.6 MB
      CHECK_FALSE(row.unusual());
      CHECK(row.exposed_count == 80);
      CHECK(row.group_size == 8);
    }
  }
  run.batch.sequence = 256;
  for (const ShardPrimitive& row : report_of(run).primitives) {
    if (row.trigger == "down") CHECK(row.unusual());
  }
}

// All gradients of one replica in bf16: 70.55 B x 2 B = 141 GB (llama3's vocabulary needs no
// padding at tp 1).
TEST_CASE("shard report: dp sums the gradients of all parameters") {
  RunSpec run = jobs::job(jobs::llama3_70b(), {.dp = 2});
  run.training.grad_dtype = Precision::bf16;
  std::int64_t bytes = 0;
  for (const ShardPrimitive& row : report_of(run).primitives) {
    if (row.axis == "dp") bytes += row.count_per_step * row.message.value();
  }
  CHECK(bytes == 2 * 70'553'706'496);
}

// ZeRO 3 over dp 4: a quarter of each weight on a rank, one copy.
TEST_CASE("shard report: ZeRO 3 cuts weights flat") {
  const ShardTensor whole =
      tensor(report_of(jobs::job(jobs::llama3_8b(), {.dp = 4})).weights, "down weight");
  const ShardTensor flat =
      tensor(report_of(jobs::job(jobs::llama3_8b(), {.dp = 4, .zero = 3})).weights, "down weight");
  CHECK(whole.copies == 4);
  CHECK(flat.copies == 1);
  CHECK(4 * flat.bytes == whole.bytes);
  CHECK(cut(flat, Axis::dp) == "flat");
}

TEST_CASE("shard report: it says what an axis cannot cut") {
  const auto has_note = [](const RunSpec& run, const std::string& words) {
    const ShardReport report = report_of(run);
    return std::any_of(report.notes.begin(), report.notes.end(), [&](const std::string& note) {
      return note.find(words) != std::string::npos;
    });
  };
  CHECK(has_note(jobs::job(jobs::llama3_8b(), {.dp = 2}), "dp cannot cut it further, cp can"));
  CHECK(has_note(jobs::job(jobs::llama3_8b(), {.sp = true}), "with tp 1"));
  CHECK(has_note(jobs::job(jobs::llama3_8b(), {.tp = 16}), "8 KV heads are fewer than tp 16"));
  CHECK(has_note(jobs::job(jobs::llama3_8b(), {.dp = 4, .zero = 1}), "cut flat"));
}

TEST_CASE("shard report: text fits 80 columns, JSON has the contract's keys") {
  const ShardReport report = report_of(jobs::job(
      jobs::llama3_70b(), {.tp = 8, .sp = true, .pp = 4, .dp = 2, .zero = 1, .micro_batches = 8}));
  const std::string text = write_text(report);
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    INFO(text.substr(begin, end - begin));
    CHECK(end - begin <= 80);
    begin = end + 1;
  }
  const std::string json = write_json(report);
  for (const std::string key :
       {"\"weights\"", "\"activations\"", "\"primitives\"", "\"full_shape\"", "\"local_shape\"",
        "\"cut\"", "\"copies\"", "\"trigger\"", "\"group_size\"", "\"count_per_step\"",
        "\"message_bytes\"", "\"exposed\""}) {
    CHECK(json.find(key) != std::string::npos);
  }
  CHECK(write_markdown(report).find("| layer | down input | b s ffn |") != std::string::npos);
}
