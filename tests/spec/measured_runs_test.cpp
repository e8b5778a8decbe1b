// Measured-run files: what is read, what is refused, what is an error.
#include <cstdio>
#include <fstream>

#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text) : path_(std::tmpnam(nullptr)) {
    path_ += ".json";
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

MeasuredFile read(const std::string& text) {
  use_shipped_data();
  return read_measured_runs(TemporaryFile(text).path());
}

const std::string kConfig = R"({"model": "llama3-8b", "cluster": "dgx-h100", "gpus": 8,
    "batch": {"global": 8, "sequence": 4096}})";

std::string record(const std::string& id, const std::string& measured) {
  return R"({"id": ")" + id + R"(", "source": "a paper", "config": )" + kConfig +
         R"(, "measured": )" + measured + "}";
}

std::string errors(const std::string& text) {
  const TemporaryFile file(text);
  use_shipped_data();
  std::string found = errors_of([&] { return read_measured_runs(file.path()); });
  for (std::size_t at = found.find(file.path()); at != std::string::npos;
       at = found.find(file.path())) {
    found.replace(at, file.path().size(), "runs.json");
  }
  return found;
}

}  // namespace

TEST_CASE("measured runs: figures, halves, assumed keys; what is not stated is absent") {
  const MeasuredFile file = read(R"([
    {"id": "a", "source": "a paper", "half": "fit", "assumed": ["batch.micro"], "config": )" +
                                 kConfig + R"(, "measured": {"step_time_s": 1.5, "mem_gib": 60,
     "mfu": 0.4, "flops_convention": null, "derived": "from tokens/s"}, "notes": "n"}, )" +
                                 record("b", R"({"layer_fwd_ms": 7.7, "layer_bwd_ms": 11.9})") + "]");
  REQUIRE(file.runs.size() == 2);
  CHECK(file.refused.empty());
  CHECK(file.runs[0].half == Half::fit);
  CHECK(file.runs[0].assumed == std::vector<std::string>{"batch.micro"});
  CHECK(file.runs[0].measured.step_time_s == 1.5);
  CHECK(file.runs[0].measured.peak_gib == 60);
  CHECK(file.runs[0].measured.flops_convention.empty());
  CHECK(file.runs[0].run.gpus == 8);
  CHECK_FALSE(file.runs[1].measured.step_time_s.has_value());
  CHECK(file.runs[1].measured.layer_backward_ms == 11.9);
  CHECK(file.runs[1].half == Half::check);
}

TEST_CASE("measured runs: a config that cannot run refuses its record and no other") {
  std::string bad = record("bad", R"({"step_time_s": 1})");
  bad.replace(bad.find("dgx-h100"), 8, "dgx-h999");
  const MeasuredFile file = read("[" + bad + ", " + record("good", R"({"step_time_s": 1})") + "]");
  REQUIRE(file.refused.size() == 1);
  CHECK(file.refused[0].id == "bad");
  CHECK(file.refused[0].problems[0].pointer == "/0/config/cluster");
  REQUIRE(file.runs.size() == 1);
  CHECK(file.runs[0].id == "good");
}

TEST_CASE("measured runs: every mistake of a file is told at once") {
  CHECK(errors("{}") ==
        "runs.json: holds an object; write an array of records [ { \"id\": ... }, ... ]");
  const std::string found = errors("[" + record("a", R"({"step_time_s": -1})") + ", " +
                                   record("a", R"({"step_time": 1})") + ", 3, " +
                                   R"({"id": "c", "source": "s", "assumed": "batch.micro",
                                       "config": {}, "measured": {}}])");
  CHECK(found.find("runs.json:/0/measured/step_time_s") != std::string::npos);
  CHECK(found.find("runs.json:/1/measured/step_time: unknown key") != std::string::npos);
  CHECK(found.find("runs.json:/1/id: a second record is called \"a\"") != std::string::npos);
  CHECK(found.find("runs.json:/2: a record is an object") != std::string::npos);
  CHECK(found.find("runs.json:/3/assumed: \"batch.micro\" is no list of keys") !=
        std::string::npos);
}
