// Runs the real program on every folder of tests/golden and compares byte for byte.
//
// A case is a folder with `command` (the words after `shardsim`, as a shell reads them, run inside
// the folder), the input files it names, and what must come out: `stdout`, `stderr`, `code`.
// `tools/golden --update` rewrites these three from the program; the difference is then reviewed.
#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "program.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> cases() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(SHARDSIM_TEST_DIR "/golden")) {
    if (fs::exists(entry.path() / "command")) folders.push_back(entry.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

std::string first_line(const fs::path& path) {
  std::string text = read_file(path);
  return text.substr(0, text.find('\n'));
}

}  // namespace

TEST_CASE("golden: there are cases") { CHECK(cases().size() > 20); }

TEST_CASE("golden: the program says exactly what it said") {
  for (const fs::path& folder : cases()) {
    DYNAMIC_SECTION(folder.filename().string()) {
      const ProgramResult result = run_program(folder, first_line(folder / "command"));
      CHECK(result.err == read_file(folder / "stderr"));
      CHECK(result.out == read_file(folder / "stdout"));
      CHECK(std::to_string(result.code) == first_line(folder / "code"));
    }
  }
}

TEST_CASE("golden: lines of text are at most 80 columns") {
  for (const fs::path& folder : cases()) {
    if (first_line(folder / "command").find("--format") != std::string::npos) continue;
    if (first_line(folder / "command").rfind("run", 0) != 0 &&
        first_line(folder / "command").rfind("compare", 0) != 0 &&
        first_line(folder / "command").rfind("shard", 0) != 0 &&
        first_line(folder / "command").rfind("memory", 0) != 0) {
      continue;
    }
    std::istringstream text(read_file(folder / "stdout"));
    for (std::string line; std::getline(text, line);) {
      INFO(folder.filename().string() << ": " << line);
      CHECK(line.size() <= 80);
    }
  }
}
