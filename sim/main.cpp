// The command line: a table of commands. Alone catches exceptions and sets exit codes:
// 0 done, 1 a fault of this program, 2 wrong usage or input, 3 does not fit in memory.
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/errors.h"
#include "commands/command.h"
#include "commands/output.h"

namespace {

enum ExitCode { kOk = 0, kInternal = 1, kUsage = 2, kDoesNotFit = 3 };

int run(const std::vector<std::string>& words) {
  using namespace shardsim;
  if (words.empty()) {
    write_stderr(usage());
    return kUsage;
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    write_stdout(usage());
    return kOk;
  }
  if (words[0] == "--version") {
    write_stdout(version() + "\n");
    return kOk;
  }
  const Command& command = find_command(words[0]);
  const Outcome outcome = command.run({words.begin() + 1, words.end()});
  return outcome == Outcome::does_not_fit ? kDoesNotFit : kOk;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has gone away is seen by write()
  try {
    return run({argv + 1, argv + argc});
  } catch (const shardsim::ConfigError& error) {
    shardsim::write_stderr(std::string(error.what()) + "\n");
    return kUsage;
  } catch (const std::bad_alloc&) {
    shardsim::write_stderr("shardsim: this computer has not enough memory for the simulation\n");
    return kInternal;
  } catch (const std::exception& error) {
    shardsim::write_stderr(std::string("shardsim: internal error: ") + error.what() + "\n");
    return kInternal;
  }
}
