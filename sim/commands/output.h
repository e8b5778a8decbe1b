// Where results go. Files appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace shardsim {

// Writes all of it. A reader that has gone away (a closed pipe) is no error. Throws ConfigError
// when the system refuses for another reason (a full disk).
void write_stdout(std::string_view text);
void write_stderr(std::string_view text);

// The target of -o. Checked before the work, so that a path that cannot be written is refused at
// once and not after a long simulation; written beside its place and renamed into it.
//   OutputFile out(options.path);   // ConfigError when it cannot be written
//   out.commit(write_json(report));
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);  // "-" = stdout
  void commit(std::string_view text) const;

 private:
  std::string path_;       // as the user wrote it
  std::string target_;     // with symbolic links followed
  bool in_place_ = false;  // stdout, devices, pipes: nothing to replace
};

}  // namespace shardsim
