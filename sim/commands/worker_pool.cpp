#include "commands/worker_pool.h"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <exception>
#include <thread>

#include "base/errors.h"

namespace shardsim {
namespace {

struct Head {  // of a message from a worker
  std::uint64_t job = 0;
  std::uint64_t size = 0;
  bool ok = false;
};

bool write_whole(int pipe, const void* data, std::size_t size) {
  const char* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(pipe, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    next += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

bool read_whole(int pipe, void* data, std::size_t size) {
  char* next = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t got = ::read(pipe, next, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

// One worker: takes job numbers from one pipe, sends results through the other.
struct Worker {
  pid_t process = 0;
  int orders = -1;
  int results = -1;
  std::ptrdiff_t at_job = -1;  // -1: idle
};

[[noreturn]] void work(int orders, int results, const Job& job) {
  std::uint64_t number = 0;
  while (read_whole(orders, &number, sizeof number)) {
    JobResult result;
    try {
      result = {.ok = true, .text = job(number)};
    } catch (const std::exception& error) {
      result.text = error.what();
    }
    const Head head{.job = number, .size = result.text.size(), .ok = result.ok};
    if (!write_whole(results, &head, sizeof head) ||
        !write_whole(results, result.text.data(), result.text.size())) {
      break;
    }
  }
  ::_exit(0);  // no destructors: they belong to the parent
}

class Pool {
 public:
  Pool(std::size_t jobs, const Job& job) : job_(job), results_(jobs) {
    const std::size_t cores = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    workers_.resize(std::min(cores, jobs));
    for (Worker& worker : workers_) {
      start(worker);
      give(worker);
    }
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() {
    for (Worker& worker : workers_) stop(worker);
  }

  std::vector<JobResult> finish(const Progress& progress) {
    std::size_t done = 0;
    while (done < results_.size()) {
      std::vector<pollfd> waiting;
      for (const Worker& worker : workers_) {
        waiting.push_back({.fd = worker.at_job < 0 ? -1 : worker.results, .events = POLLIN, .revents = 0});
      }
      if (::poll(waiting.data(), waiting.size(), -1) < 0) continue;  // interrupted
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (waiting[i].revents == 0) continue;
        collect(workers_[i]);
        ++done;
        if (progress) progress(done);
        give(workers_[i]);
      }
    }
    return std::move(results_);
  }

 private:
  void start(Worker& worker) {
    int orders[2] = {0, 0};
    int results[2] = {0, 0};
    SHARDSIM_CHECK(::pipe(orders) == 0 && ::pipe(results) == 0,
                   std::string("no pipe: ") + std::strerror(errno));
    worker.process = ::fork();
    SHARDSIM_CHECK(worker.process >= 0, std::string("no fork: ") + std::strerror(errno));
    if (worker.process == 0) {
      ::close(orders[1]);
      ::close(results[0]);
      for (const Worker& other : workers_) {  // so that each sees the end of its own orders
        if (&other != &worker && other.orders >= 0) ::close(other.orders);
      }
      work(orders[0], results[1], job_);
    }
    ::close(orders[0]);
    ::close(results[1]);
    worker.orders = orders[1];
    worker.results = results[0];
  }

  void give(Worker& worker) {
    worker.at_job = -1;
    if (next_ == results_.size()) return;
    const std::uint64_t number = next_++;
    worker.at_job = static_cast<std::ptrdiff_t>(number);
    // A worker that is gone is noticed when its result does not come.
    (void)write_whole(worker.orders, &number, sizeof number);
  }

  void collect(Worker& worker) {
    JobResult& result = results_[static_cast<std::size_t>(worker.at_job)];
    Head head;
    if (read_whole(worker.results, &head, sizeof head)) {
      result.ok = head.ok;
      result.text.resize(head.size);
      if (read_whole(worker.results, result.text.data(), head.size)) return;
    }
    stop(worker);
    result = {.ok = false, .text = "the simulating process died"};
    start(worker);
  }

  static void stop(Worker& worker) {
    if (worker.orders < 0) return;
    ::close(worker.orders);
    ::close(worker.results);
    worker.orders = -1;
    int status = 0;
    while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
  }

  const Job& job_;
  std::vector<JobResult> results_;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<JobResult> run_in_workers(std::size_t jobs, const Job& job, const Progress& progress) {
  if (jobs == 0) return {};
  Pool pool(jobs, job);
  return pool.finish(progress);
}

}  // namespace shardsim
