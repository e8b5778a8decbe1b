#include "base/text.h"

#include "support/catch.h"

using namespace shardsim;

TEST_CASE("text: quantities are scaled and carry their unit") {
  CHECK(format_seconds(Seconds{18.13}) == "18.13 s");
  CHECK(format_seconds(Seconds{0.4312}) == "431.2 ms");
  CHECK(format_seconds(Seconds{0}) == "0 ns");
  CHECK(format_gib(Bytes{std::int64_t{1} << 30}) == "1.00 GiB");
  CHECK(format_bytes(Bytes{134'217'728}) == "134.2 MB");
  CHECK(format_rate(BytesPerSecond{47e9}) == "47.00 GB/s");
  CHECK(format_count(70'553'706'496) == "70,553,706,496");
  CHECK(format_count(-1234) == "-1,234");
  CHECK(format_count(123) == "123");
}

TEST_CASE("text: nearest name is offered only when it can be meant") {
  CHECK(nearest_name("llama3-70", {"llama3-70b", "gpt3-175b"}) == "llama3-70b");
  CHECK(nearest_name("zzz", {"llama3-70b", "gpt3-175b"}).empty());
}
