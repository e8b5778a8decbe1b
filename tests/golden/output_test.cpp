// What a shell user relies on: pipes, files that appear whole, the same bytes every time.
#include <sys/stat.h>

#include "program.h"
#include "support/catch.h"

using namespace shardsim;

namespace {

const std::filesystem::path kCase = SHARDSIM_TEST_DIR "/golden/run-json";

}  // namespace

TEST_CASE("output: the same input gives the same bytes") {
  const ProgramResult first = run_program(kCase, "run run.json --format json");
  const ProgramResult second = run_program(kCase, "run run.json --format json");
  CHECK(first.code == 0);
  CHECK(first.out == second.out);
  // Folding or not, each rank of a class does the same: only the counts of events may differ.
  CHECK(run_program(kCase, "run run.json --fold off").code == 0);
}

TEST_CASE("output: -o writes what stdout would show, and nothing else") {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "out.json").string();
  const ProgramResult result = run_program(kCase, "run run.json --format json -o '" + file + "'");
  CHECK(result.code == 0);
  CHECK(result.out.empty());
  CHECK(read_file(file) == run_program(kCase, "run run.json --format json").out);
  std::size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch.path())) {
    ++entries;
  }
  CHECK(entries == 1);
}

TEST_CASE("output: a file that stood there is replaced, its permissions kept") {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "out.txt").string();
  const std::string link = (scratch.path() / "link.txt").string();
  run_program(scratch.path(), "--version; printf old > out.txt; chmod 640 out.txt");
  std::filesystem::create_symlink(file, link);
  CHECK(run_program(kCase, "list schedules -o '" + link + "'").code == 0);
  CHECK(std::filesystem::is_symlink(link));
  CHECK(read_file(file).rfind("schedules\n", 0) == 0);
  struct stat status {};
  REQUIRE(::stat(file.c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0640U);
}

TEST_CASE("output: a link to a file that is not there yet makes that file") {
  const ScratchFolder scratch;
  std::filesystem::create_directory(scratch.path() / "results");
  std::filesystem::create_symlink("results/out.txt", scratch.path() / "link.txt");
  std::filesystem::create_symlink("loop.txt", scratch.path() / "loop.txt");
  CHECK(run_program(scratch.path(), "list schedules -o link.txt").code == 0);
  CHECK(std::filesystem::is_symlink(scratch.path() / "link.txt"));
  CHECK(read_file(scratch.path() / "results" / "out.txt").rfind("schedules\n", 0) == 0);
  CHECK(run_program(scratch.path(), "list schedules -o loop.txt").code == 2);
}

TEST_CASE("output: a wrong run leaves the file of an earlier one alone") {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "out.json").string();
  CHECK(run_program(kCase, "run run.json --set parallel.tp=3 -o '" + file + "'").code == 2);
  CHECK_FALSE(std::filesystem::exists(file));
}

TEST_CASE("output: devices are written in place, a reader that leaves is no error") {
  CHECK(run_program(kCase, "run run.json -o /dev/null").code == 0);
  CHECK(std::filesystem::is_character_file("/dev/null"));
  const ProgramResult piped = run_program(kCase, "run run.json --format json | head -c 5");
  CHECK(piped.out == "{\n  \"");
  CHECK(piped.err.empty());
}

TEST_CASE("output: a full disk is told, not ignored") {
  const ProgramResult result = run_program(kCase, "run run.json > /dev/full");
  CHECK(result.code == 2);
  CHECK(result.err.rfind("stdout: cannot be written: No space left on device", 0) == 0);
}

TEST_CASE("output: help goes to stdout and ends well") {
  for (const char* command : {"run", "compare", "list", "schema", "dump"}) {
    const ProgramResult result = run_program(kCase, std::string(command) + " --help");
    CHECK(result.code == 0);
    CHECK(result.err.empty());
    CHECK(result.out.find("shardsim " + std::string(command)) != std::string::npos);
  }
}

TEST_CASE("output: every name that can be listed or dumped works") {
  for (const char* stage : {"program", "fabric", "lowered", "folded", "trace"}) {
    const ProgramResult result = run_program(kCase, "dump " + std::string(stage) + " run.json");
    INFO(stage << ": " << result.err);
    CHECK(result.code == 0);
    CHECK_FALSE(result.out.empty());
  }
  for (const char* format : {"run", "model", "cluster", "gpu", "stack"}) {
    const ProgramResult result = run_program(kCase, "schema " + std::string(format));
    CHECK(result.code == 0);
    CHECK(result.out.rfind("{", 0) == 0);
  }
  CHECK(run_program(kCase, "list").code == 0);
  CHECK(run_program(kCase, "list --format json").out.find("\"llama3-70b\"") != std::string::npos);
}

TEST_CASE("output: a run from stdin is the run of its file") {
  const std::string file = run_program(kCase, "run run.json").out;
  CHECK(run_program(kCase, "run - < run.json").out == file);
  const ProgramResult compared =
      run_program(kCase, "compare - --vary parallel.tp=2,4 --format csv < run.json");
  CHECK(compared.code == 0);
  CHECK(compared.err.empty());
}

TEST_CASE("output: an empty standard input is named, not called broken JSON") {
  const std::string said =
      "-: standard input is empty; pipe a JSON file into it, or name a file instead of -\n";
  for (const char* words : {"run - < /dev/null", "run - <&-", "compare - --vary gpus=8,16 <&-"}) {
    const ProgramResult result = run_program(kCase, words);
    INFO(words);
    CHECK(result.code == 2);
    CHECK(result.err == said);
  }
}

TEST_CASE("output: --set and --vary take one value each and leave run files alone") {
  CHECK(run_program(kCase, "compare --set batch.micro=1 run.json run.json").code == 0);
  CHECK(run_program(kCase, "compare --vary batch.micro=1,2 run.json").code == 0);
  const ProgramResult two = run_program(kCase, "run run.json --set batch.micro=1 batch.global=2");
  CHECK(two.code == 2);
  CHECK(two.err == "shardsim run: unexpected \"batch.global=2\"; see shardsim run --help\n");
}

TEST_CASE("output: a data folder that is not there is named, with the variable") {
  for (const char* words : {"list models", "list", "run run.json --set model=gpt"}) {
    const ProgramResult result =
        run_program(kCase, "--version && export SHARDSIM_DATA=/nowhere && '" SHARDSIM_PROGRAM "' " +
                               std::string(words));
    INFO(words);
    CHECK(result.code == 2);
    CHECK(result.err.rfind("SHARDSIM_DATA: there is no folder /nowhere/models/; set it to the "
                           "folder that holds models/ and topologies/, or unset it\n",
                           0) == 0);
  }
}
