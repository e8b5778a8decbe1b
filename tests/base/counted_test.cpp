#include "base/text.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("text: one of a thing is singular, any other number plural") {
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(2, "entry") == "2 entries");
  CHECK(counted(1, "entry") == "1 entry");
  CHECK(counted(1000, "micro batch") == "1,000 micro batches");
  CHECK(counted(3, "rank class") == "3 rank classes");
  CHECK(range_text(0, 7) == "0 to 7");
  CHECK(range_text(0, 0) == "0");
  CHECK(join_or({"a", "b", "c"}) == "a, b or c");
  CHECK(join_or({"a"}) == "a");
}
