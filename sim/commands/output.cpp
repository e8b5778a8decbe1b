#include "commands/output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/errors.h"

namespace shardsim {

namespace {

[[noreturn]] void refuse(const std::string& path, int error) {
  throw ConfigError({{path, "", std::string("cannot be written: ") + std::strerror(error),
                      "name a file in a directory that exists and is writable"}});
}

// The error number, 0 when all was written.
int write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Where symbolic links lead, whether there is a file or not.
std::string resolved(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux follows (path_resolution(7))
  std::string target = path;
  for (int i = 0; i < kMostLinks; ++i) {
    std::array<char, PATH_MAX> buffer{};
    const ssize_t size = ::readlink(target.c_str(), buffer.data(), buffer.size());
    if (size < 0) return target;
    const std::string next(buffer.data(), static_cast<std::size_t>(size));
    target = next.rfind('/', 0) == 0 ? next : directory_of(target) + "/" + next;
  }
  refuse(path, ELOOP);
}

// The permissions of the file that is replaced, or those that open() would give a new one.
mode_t permissions(const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) == 0) return status.st_mode & 07777U;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666U & ~mask;
}

void write_in_place(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  const int error = write_all(descriptor, text);
  ::close(descriptor);
  if (error != 0 && error != EPIPE) refuse(path, error);
}

void replace(const std::string& path, const std::string& target, std::string_view text) {
  std::string temporary = target + ".XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) refuse(path, errno);
  int error = write_all(descriptor, text);
  (void)::fchmod(descriptor, permissions(target));
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error == 0 && ::rename(temporary.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(temporary.c_str());
  refuse(path, error);
}

}  // namespace

void write_stdout(std::string_view text) {
  const int error = write_all(STDOUT_FILENO, text);
  if (error != 0 && error != EPIPE) refuse("stdout", error);
}

void write_stderr(std::string_view text) { (void)write_all(STDERR_FILENO, text); }

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  if (path == "-") return;
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (path.empty()) refuse("-o", ENOENT);
  if (exists && S_ISDIR(status.st_mode)) refuse(path, EISDIR);
  in_place_ = exists && !S_ISREG(status.st_mode);
  if (!in_place_) target_ = resolved(path);
  if (exists && ::access(path.c_str(), W_OK) != 0) refuse(path, errno);
  if (!in_place_ && ::access(directory_of(target_).c_str(), W_OK | X_OK) != 0) refuse(path, errno);
}

void OutputFile::commit(std::string_view text) const {
  if (path_ == "-") {
    write_stdout(text);
  } else if (in_place_) {
    write_in_place(path_, text);
  } else {
    replace(path_, target_, text);
  }
}

}  // namespace shardsim
