// The generated schemas, checked by an independent validator against every file that is shipped.
#include <dirent.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "spec/spec_fixture.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

using Adapter = valijson::adapters::NlohmannJsonAdapter;

std::string validate(Format format, const nlohmann::json& document) {
  const nlohmann::json text = nlohmann::json::parse(schema_text(format));
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(Adapter(text), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, Adapter(document), &results)) {
    return "";
  }
  std::string errors;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    for (const std::string& part : error.context) {
      errors += part;
    }
    errors += ": " + error.description + "\n";
  }
  return errors.empty() ? "invalid" : errors;
}

std::vector<std::string> json_files(const std::string& folder) {
  std::vector<std::string> result;
  if (DIR* dir = opendir(folder.c_str())) {
    while (const dirent* entry = readdir(dir)) {
      const std::string name = entry->d_name;
      if (name.size() > 5 && name.substr(name.size() - 5) == ".json") {
        result.push_back(folder + "/" + name);
      }
    }
    closedir(dir);
  }
  std::sort(result.begin(), result.end());
  return result;
}

nlohmann::json load(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

void check_folder(Format format, const std::string& folder, std::size_t least) {
  const std::vector<std::string> files = json_files(folder);
  CHECK(files.size() >= least);
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(validate(format, load(file)) == "");
  }
}

}  // namespace

TEST_CASE("schema: it refuses what the reader refuses") {
  const nlohmann::json good = load(data_path() + "/run.json");
  CHECK(validate(Format::run, good).empty());
  nlohmann::json bad = good;
  bad["parallel"]["tpp"] = 1;
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad = good;
  bad["gpus"] = 0;
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad = good;
  bad["training"]["precision"] = "bf61";
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad = good;
  bad["training"]["memory_reserve"] = 2;
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad["training"]["memory_reserve"] = "2 GiB/s";
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad = good;
  bad.erase("model");
  CHECK_FALSE(validate(Format::run, bad).empty());
  bad = good;
  bad["perturbations"][0]["sped"] = 1;
  CHECK_FALSE(validate(Format::run, bad).empty());
}

TEST_CASE("schema: the files of these tests are valid") {
  check_folder(Format::model, data_path() + "/models", 2);
  check_folder(Format::cluster, data_path() + "/topologies", 2);
  check_folder(Format::gpu, data_path() + "/topologies/gpus", 1);
  check_folder(Format::stack, data_path() + "/configs/stacks", 2);
}

TEST_CASE("schema: every shipped file is valid") {
  const std::string root = std::string(SHARDSIM_TEST_DIR) + "/..";
  check_folder(Format::model, root + "/models", 10);
  check_folder(Format::cluster, root + "/topologies", 4);
  check_folder(Format::gpu, root + "/topologies/gpus", 5);
  check_folder(Format::stack, root + "/configs/stacks", 4);
  check_folder(Format::run, root + "/configs", 5);
}

TEST_CASE("shipped files: every model, cluster, stack and run reads cleanly") {
  use_shipped_data();
  for (const std::string& name : names_of(Format::model)) {
    CAPTURE(name);
    CHECK(errors_of([&] { return read_model(name); }) == "");
    CHECK(read_model(name).name == name);
  }
  for (const std::string& name : names_of(Format::cluster)) {
    CAPTURE(name);
    CHECK(errors_of([&] { return read_cluster(name); }) == "");
    CHECK(read_cluster(name).name == name);
  }
  for (const std::string& name : names_of(Format::gpu)) {
    CAPTURE(name);
    CHECK(errors_of([&] { return read_cluster("dgx-h100", {"gpu=" + name}); }) == "");
  }
  const std::string root = std::string(SHARDSIM_TEST_DIR) + "/..";
  for (const std::string& file : json_files(root + "/configs")) {
    CAPTURE(file);
    CHECK(errors_of([&] { return read_run(file); }) == "");
  }
  for (const std::string& name : names_of(Format::stack)) {
    CAPTURE(name);
    CHECK(errors_of([&] {
            return read_run(root + "/configs/llama3-70b-dgx-h100.json", {"stack=" + name});
          }) == "");
  }
}
