// Running the real program as a user does, from a shell.
#pragma once

#include <filesystem>
#include <string>

namespace shardsim {

struct ProgramResult {
  std::string out;
  std::string err;
  int code = 0;
};

// `words` are read by a shell inside `folder`; they may hold pipes and redirections.
ProgramResult run_program(const std::filesystem::path& folder, const std::string& words);

std::string read_file(const std::filesystem::path& path);

// A folder of its own, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace shardsim
