// The key tables say the truth: their defaults are the structs', their rows are well formed.
#include <set>

#include "spec/json_parse.h"
#include "spec/key_table.h"
#include "spec/spec_fixture.h"
#include "spec/tables.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

constexpr Format kFormats[] = {Format::run, Format::model, Format::cluster, Format::gpu,
                               Format::stack};

// The overrides that state every default of a format's rows under `prefix`.
Overrides defaults_of(Format format, const std::string& prefix) {
  Overrides overrides;
  for (const KeyInfo& row : key_infos(format)) {
    const bool leaf = row.type.kind != ValueType::Kind::object;
    const bool optional = row.key.compare(0, 4, "moe.") == 0 ||
                          row.key.compare(0, 4, "mla.") == 0 ||
                          row.key.compare(0, 10, "node.pcie.") == 0;
    if (leaf && row.fallback.kind == Fallback::Kind::value &&
        !(optional && format != Format::run) && row.key.compare(0, 12, "collectives.") != 0 &&
        !(format == Format::stack && row.key.compare(0, 9, "training.") == 0)) {
      overrides.push_back(prefix + row.key + "=" + row.fallback.text);
    }
  }
  return overrides;
}

}  // namespace

TEST_CASE("table: every row has help, and a key that stands once") {
  for (const Format format : kFormats) {
    std::set<std::string> keys;
    for (const KeyInfo& row : key_infos(format)) {
      CAPTURE(row.key);
      CHECK_FALSE(row.help.empty());
      CHECK(keys.insert(row.key).second);
      const std::size_t dot = row.key.rfind('.');
      if (dot != std::string::npos) {  // the object around it has a row, before it
        CHECK(keys.count(row.key.substr(0, dot)) == 1);
      }
    }
  }
}

TEST_CASE("table: the defaults it states are the structs' own") {
  // A file that states every default reads as one that states none.
  const std::string least = R"({"model": "llama-mini", "cluster": "pod", "gpus": 8,
                                "stack": {"name": "s", "source": "-"}})";
  const RunSpec bare = read_text(least);
  Overrides all = defaults_of(Format::run, "");
  all.erase(std::remove(all.begin(), all.end(), "stack=\"megatron-core\""), all.end());
  for (const auto& [format, prefix] :
       {std::pair{Format::model, "model."}, std::pair{Format::stack, "stack."}}) {
    const Overrides more = defaults_of(format, prefix);
    all.insert(all.end(), more.begin(), more.end());
  }
  RunSpec stated = read_text(least, all);
  stated.defaults_taken = bare.defaults_taken;
  stated.warnings = bare.warnings;
  CHECK(stated == bare);
  CHECK(all.size() > 30);
}
