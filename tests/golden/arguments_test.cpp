#include "commands/arguments.h"

#include "base/errors.h"
#include "support/catch.h"

using namespace shardsim;

TEST_CASE("arguments: a variation without a key or a value is refused") {
  CHECK_THROWS_AS(parse_variation("parallel.tp"), ConfigError);
  CHECK_THROWS_AS(parse_variation("=1,2"), ConfigError);
  CHECK_THROWS_AS(parse_variation("parallel.tp="), ConfigError);
  CHECK_THROWS_AS(parse_variation(""), ConfigError);
}

TEST_CASE("arguments: a variation splits at commas outside brackets and quotes") {
  const Variation plain = parse_variation("parallel.tp=2,4,8");
  CHECK(plain.key == "parallel.tp");
  CHECK(plain.values == std::vector<std::string>{"2", "4", "8"});
  CHECK(parse_variation("a=[1,2],[3,4]").values == std::vector<std::string>{"[1,2]", "[3,4]"});
  CHECK(parse_variation("a={\"x\":[1,2]},null").values ==
        std::vector<std::string>{"{\"x\":[1,2]}", "null"});
  CHECK(parse_variation("a=\"b,c\",d").values == std::vector<std::string>{"\"b,c\"", "d"});
  CHECK(parse_variation("a=\"q\\\",r\",s").values == std::vector<std::string>{"\"q\\\",r\"", "s"});
  CHECK(parse_variation("a=b=c,d").values == std::vector<std::string>{"b=c", "d"});
  CHECK(parse_variation("a=1,").values == std::vector<std::string>{"1", ""});
}

TEST_CASE("arguments: the formats have one spelling each") {
  OutputOptions options;
  CHECK(options.kind() == OutputFormat::text);
  options.format = "json";
  CHECK(options.kind() == OutputFormat::json);
  options.format = "csv";
  CHECK(options.kind() == OutputFormat::csv);
}
