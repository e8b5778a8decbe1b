#include "replay/replay.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <string>

#include "base/errors.h"
#include "replay/times.h"

namespace shardsim {
namespace {

void write_all(int pipe, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(pipe, next, size);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    SHARDSIM_CHECK(written > 0, "a replay cannot send its times to its parent");
    next += written;
    size -= static_cast<std::size_t>(written);
  }
}

// False when the child closed the pipe early.
bool read_all(int pipe, void* data, std::size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(pipe, next, size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return false;
    }
    next += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

struct Header {  // what the child sends first
  bool ok = false;
  std::int64_t message_size = 0;  // of the error, when not ok
  std::int64_t timers = 0;
  std::int64_t flows = 0;
};

void send_times(int pipe, const Times& times) {
  const Header header{.ok = true, .timers = times.timers, .flows = times.flows};
  write_all(pipe, &header, sizeof header);
  for (const RankTimes& rank : times.ranks) {
    write_all(pipe, rank.start_s.data(), rank.start_s.size() * sizeof(double));
    write_all(pipe, rank.end_s.data(), rank.end_s.size() * sizeof(double));
  }
}

[[noreturn]] void run_child(int pipe, const Folded& folded) {
  try {
    send_times(pipe, run_events(folded));
  } catch (const std::exception& error) {
    const std::string message = error.what();
    const Header header{.ok = false, .message_size = static_cast<std::int64_t>(message.size())};
    write_all(pipe, &header, sizeof header);
    write_all(pipe, message.data(), message.size());
  }
  ::_exit(0);  // no destructors: they belong to the parent
}

std::vector<std::size_t> op_counts(const Folded& folded) {
  std::vector<std::size_t> per_program;
  for (const LoweredProgram& program : folded.programs) {
    std::size_t ops = 0;
    for (const LoweredPass& pass : program.passes) {
      ops += at(folded.templates, pass.pass_template).ops.size();
    }
    per_program.push_back(ops);
  }
  std::vector<std::size_t> result;
  result.reserve(folded.ranks.size());
  for (const RankClass& rank : folded.ranks) {
    result.push_back(at(per_program, rank.program));
  }
  return result;
}

// The error in words, or "" when all times have come.
std::string receive_times(int pipe, const Folded& folded, Times& times) {
  Header header;
  if (!read_all(pipe, &header, sizeof header)) {
    return "the replaying process died";
  }
  if (!header.ok) {
    std::string message(static_cast<std::size_t>(header.message_size), ' ');
    return read_all(pipe, message.data(), message.size()) ? message : "the replaying process died";
  }
  times.timers = header.timers;
  times.flows = header.flows;
  for (const std::size_t ops : op_counts(folded)) {
    RankTimes rank{.start_s = std::vector<double>(ops), .end_s = std::vector<double>(ops)};
    if (!read_all(pipe, rank.start_s.data(), ops * sizeof(double)) ||
        !read_all(pipe, rank.end_s.data(), ops * sizeof(double))) {
      return "the replaying process died";
    }
    times.ranks.push_back(std::move(rank));
  }
  return "";
}

}  // namespace

Trace replay(const Folded& folded, const Fabric* fabric) {
  return make_trace(folded, fabric, run_events(folded));
}

ReplayChild start_replay(const Folded& folded) {
  int ends[2] = {0, 0};
  SHARDSIM_CHECK(::pipe(ends) == 0, std::string("no pipe: ") + std::strerror(errno));
  const pid_t process = ::fork();
  SHARDSIM_CHECK(process >= 0, std::string("no fork: ") + std::strerror(errno));
  if (process == 0) {
    ::close(ends[0]);
    run_child(ends[1], folded);
  }
  ::close(ends[1]);
  return {.process = process, .pipe = ends[0]};
}

Trace finish_replay(const ReplayChild& child, const Folded& folded, const Fabric* fabric) {
  Times times;
  const std::string error = receive_times(child.pipe, folded, times);
  ::close(child.pipe);
  int status = 0;
  while (::waitpid(child.process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!error.empty()) {
    const std::string signal =
        WIFSIGNALED(status) ? " (signal " + std::to_string(WTERMSIG(status)) + ")" : "";
    throw InternalError(error + signal);
  }
  return make_trace(folded, fabric, std::move(times));
}

Trace replay_in_child(const Folded& folded, const Fabric* fabric) {
  return finish_replay(start_replay(folded), folded, fabric);
}

}  // namespace shardsim
