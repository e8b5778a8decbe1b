#include "spec/quantity.h"

#include "support/catch.h"

using namespace shardsim;

namespace {

std::string wrong(std::string_view text, Dimension dimension) {
  return read_quantity(text, dimension).wrong;
}

double value(std::string_view text, Dimension dimension) {
  const QuantityReading reading = read_quantity(text, dimension);
  CHECK(reading.wrong.empty());
  return reading.value;
}

}  // namespace

TEST_CASE("quantity: a wrong unit is named") {
  CHECK(wrong("400", Dimension::bandwidth) == "\"400\" has no unit");
  CHECK(wrong("400 GiB", Dimension::bandwidth) ==
        "\"400 GiB\" is an amount of bytes, not a bandwidth");
  CHECK(wrong("400 Gbit/s", Dimension::bandwidth) ==
        "\"400 Gbit/s\" has the unknown unit \"Gbit/s\"");
  CHECK(wrong("2 KB", Dimension::bytes) == "\"2 KB\" has the unknown unit \"KB\"");
  CHECK(wrong("fast", Dimension::time) == "\"fast\" does not begin with a number");
  CHECK(wrong("inf s", Dimension::time) == "\"inf s\" does not begin with a number");
  CHECK(wrong("nan s", Dimension::time) == "\"nan s\" does not begin with a number");
  CHECK(wrong("1e999 s", Dimension::time) == "\"1e999 s\" is out of range");
  CHECK(wrong("2 GiFLOP/s", Dimension::flop_rate) ==
        "\"2 GiFLOP/s\" has the unknown unit \"GiFLOP/s\"");
  CHECK(read_quantity("2 us", Dimension::bandwidth).right ==
        "write a bandwidth with its unit, such as \"400 Gb/s\" (b is bit, B is byte)");
}

TEST_CASE("quantity: bits and bytes, thousands and 1024s") {
  CHECK(value("400 Gb/s", Dimension::bandwidth) == 5e10);
  CHECK(value("400Gb/s", Dimension::bandwidth) == 5e10);
  CHECK(value("400 Gbps", Dimension::bandwidth) == 5e10);
  CHECK(value("25 GB/s", Dimension::bandwidth) == 25e9);
  CHECK(value("3.35 TB/s", Dimension::bandwidth) == Approx(3.35e12).epsilon(1e-15));
  CHECK(value("80 GiB", Dimension::bytes) == 80.0 * 1024 * 1024 * 1024);
  CHECK(value("80 GB", Dimension::bytes) == 80e9);
  CHECK(value("8 Mb", Dimension::bytes) == 1e6);
  CHECK(value(" 2 us ", Dimension::time) == Approx(2e-6).epsilon(1e-15));
  CHECK(value("0 s", Dimension::time) == 0);
  CHECK(value("989 TFLOP/s", Dimension::flop_rate) == 989e12);
  CHECK(value("700 W", Dimension::power) == 700);
  CHECK(value("2.00 USD", Dimension::money) == 2);
  CHECK(value("15 T", Dimension::tokens) == 15e12);
  CHECK(value("300B tokens", Dimension::tokens) == 300e9);
  CHECK(value("1000", Dimension::tokens) == 1000);
}

TEST_CASE("quantity: text is what a person would write") {
  CHECK(quantity_text(5e10, Dimension::bandwidth) == "50 GB/s");
  CHECK(quantity_text(2e-6, Dimension::time) == "2 us");
  CHECK(quantity_text(0, Dimension::bytes) == "0 B");
}
