#include "report/writers/layout.h"

#include "base/text.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("layout: a name that is too long gives way in the middle") {
  CHECK(clip("short", 10) == "short");
  CHECK(clip("abcdefghijklmnop", 8) == "abcd..op");
  CHECK(clip("abcdef", 2) == "ab");
  CHECK(clip("", 0).empty());
}

TEST_CASE("layout: characters are counted, not bytes, and never cut apart") {
  CHECK(columns("\xc3\xa9\xc3\xa9") == 2);  // two letters of two bytes
  // Ten letters of two bytes in 6 columns: 3 of them, "..", 1 of them.
  const std::string letters = "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9";
  CHECK(clip(letters, 6) == "\xc3\xa9\xc3\xa9\xc3\xa9..\xc3\xa9");
}

TEST_CASE("layout: control characters of a name cannot break a line") {
  CHECK(clip("a\nb\x1b[31m", 20) == "a?b?[31m");
}

TEST_CASE("layout: paragraphs wrap at 80 columns, under their head") {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "word ";
  const std::vector<std::string> lines = split(wrap("  head: ", text), '\n');
  CHECK(lines[0].rfind("  head: word", 0) == 0);
  CHECK(lines[1].rfind("        word", 0) == 0);
  for (const std::string& line : lines) CHECK(columns(line) <= 80);
  CHECK(columns(split(wrap("- ", std::string(200, 'x')), '\n')[0]) == 80);
}

TEST_CASE("layout: tables align, and the flexible column gives way") {
  Table table;
  table.rows = {{"name", "n"}, {"a", "10"}, {"bb", "7"}};
  CHECK(to_text(table) == "  name   n\n  a     10\n  bb     7\n");
  table.rows.push_back({std::string(100, 'z'), "1"});
  for (const std::string& line : split(to_text(table), '\n')) CHECK(columns(line) <= 80);
}

TEST_CASE("layout: a bar is as long as its share") {
  CHECK(bar(0.5, 10) == "#####");
  CHECK(bar(0, 10).empty());
  CHECK(bar(7, 3) == "###");
}
