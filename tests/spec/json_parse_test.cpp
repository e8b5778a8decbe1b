// What is no JSON is said with line and column; what is, keeps where it stood.
#include "spec/json_parse.h"

#include "support/catch.h"

using namespace shardsim;

namespace {

std::string errors(std::string_view text) {
  std::vector<Problem> problems;
  (void)parse_json(text, "a.json", problems);
  std::string all;
  for (const Problem& problem : problems) {
    all += (all.empty() ? "" : "\n") + to_text(problem);
  }
  return all;
}

}  // namespace

TEST_CASE("json: what is no JSON is told with its line and column") {
  CHECK(
      errors("{\"a\": 1") ==
      R"(a.json:1:8: not valid JSON: the JSON ends unfinished; is it cut off? close every { [ and ")");
  CHECK(
      errors("") ==
      R"(a.json:1:1: not valid JSON: the JSON ends unfinished; is it cut off? close every { [ and ")");
  CHECK(errors("{\"a\": 1,\n \"b\": ]}") ==
        "a.json:2:7: not valid JSON: unexpected ']'; expected '[', '{', or a literal; correct the "
        "JSON");
  CHECK(errors("{\"a\": 1,}") ==
        "a.json:1:9: not valid JSON: unexpected '}'; expected string literal; correct the JSON");
  CHECK(errors("{\"a\": 1} x") ==
        "a.json:1:10: not valid JSON: more text behind the end of the value; remove it");
  CHECK(errors("{\"a\": NaN}") ==
        "a.json:1:7: not valid JSON: NaN and Infinity are not JSON numbers; write a finite number");
  CHECK(errors("[0.0, Infinity]") ==
        "a.json:1:7: not valid JSON: NaN and Infinity are not JSON numbers; write a finite number");
  CHECK(errors("[1e999]") ==
        "a.json:1:6: not valid JSON: 1e999 is too large for a number; correct the JSON");
  CHECK(errors("[\"\xff\"]") ==
        "a.json:1:3: not valid JSON: bytes that are not UTF-8 text; save the file as UTF-8");
  CHECK(errors("// note\n{}") ==
        "a.json:1:1: not valid JSON: invalid literal; JSON has no comments, remove them");
}

TEST_CASE("json: a key that stands twice is named with both lines") {
  CHECK(errors("{\"parallel\": {\n\"tp\": 8,\n\"tp\": 4}}") ==
        "a.json:/parallel/tp: duplicate key \"tp\" on line 3 (first on line 2); keep one of them");
  // Equal keys of different objects are no duplicates.
  CHECK(errors("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}}").empty());
}

TEST_CASE("json: absurd depth and size are refused, not run into") {
  CHECK(errors(std::string(100'000, '[')) ==
        "a.json: nested more than 64 levels deep; no input of this program is that large");
  std::string wide = "[0";
  for (int i = 0; i < 1'500'000; ++i) {
    wide += ",0";
  }
  CHECK(errors(wide + "]") == "a.json: too many values; no input of this program is that large");
}

TEST_CASE("json: values keep kind, digits, pointer and line") {
  std::vector<Problem> problems;
  const std::optional<JsonValue> root = parse_json(
      "{\"a/b\": [1, -2.5,\n true, null], \"big\": 1000000000000000019884624838656, \"e\": 1e9}",
      "a.json", problems);
  REQUIRE(root);
  REQUIRE(problems.empty());
  const JsonValue* list = find(*root, "a/b");
  REQUIRE(list != nullptr);
  CHECK(list->pointer == "/a~1b");
  CHECK(list->items[1].pointer == "/a~1b/1");
  CHECK(list->items[1].number == -2.5);
  CHECK(list->items[2].line == 2);
  CHECK(find(*root, "big")->kind == JsonValue::Kind::number);
  CHECK(to_json(*root) ==
        R"({"a/b": [1, -2.5, true, null], "big": 1000000000000000019884624838656, "e": 1e9})");
}
