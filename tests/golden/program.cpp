#include "program.h"

#include <stdlib.h>
#include <sys/wait.h>

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace shardsim {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "shardsim-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
  path_ = name;
}

ScratchFolder::~ScratchFolder() { std::filesystem::remove_all(path_); }

ProgramResult run_program(const std::filesystem::path& folder, const std::string& words) {
  const ScratchFolder scratch;
  const std::string command = "cd '" + folder.string() + "' && { '" SHARDSIM_PROGRAM "' " + words +
                              "; } >'" + (scratch.path() / "out").string() + "' 2>'" +
                              (scratch.path() / "err").string() + "'";
  const int status = std::system(command.c_str());
  return {read_file(scratch.path() / "out"), read_file(scratch.path() / "err"),
          WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

}  // namespace shardsim
