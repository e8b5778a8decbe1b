#include "workload/pass_builder.h"

#include <algorithm>

#include "base/errors.h"

namespace shardsim {
namespace {

template <class Item>
std::int32_t intern(std::vector<Item>& items, const Item& item) {
  const auto found = std::find(items.begin(), items.end(), item);
  if (found != items.end()) {
    return static_cast<std::int32_t>(found - items.begin());
  }
  items.push_back(item);
  return count(items) - 1;
}

}  // namespace

std::int32_t ProgramTables::label(const std::string& text) {
  const auto [entry, inserted] = labels_.try_emplace(text, count(program.labels));
  if (inserted) {
    program.labels.push_back(text);
  }
  return entry->second;
}

std::int32_t ProgramTables::kernel(const KernelShape& shape) {
  return intern(program.kernels, shape);
}

std::int32_t ProgramTables::communication(const Communication& communication) {
  return intern(program.communications, communication);
}

PassBuilder::PassBuilder(ProgramTables& tables, std::string name, PassKind kind) : tables_(tables) {
  template_.name = std::move(name);
  template_.kind = kind;
}

std::int32_t PassBuilder::next_op() const { return count(template_.ops); }

std::int32_t PassBuilder::append(Op op, const std::string& label, std::vector<std::int32_t> deps) {
  std::sort(deps.begin(), deps.end());
  deps.erase(std::unique(deps.begin(), deps.end()), deps.end());
  SHARDSIM_CHECK(deps.empty() || (deps.front() >= 0 && deps.back() < next_op()),
                 "a dependency must be an earlier operation");
  op.label = tables_.label(label);
  op.layer = layer_;
  op.first_dep = count(template_.deps);
  op.dep_count = count(deps);
  template_.deps.insert(template_.deps.end(), deps.begin(), deps.end());
  template_.ops.push_back(op);
  const std::int32_t index = next_op() - 1;
  if (op.stream == Stream::compute) {
    last_compute_ = index;
    waits_.clear();
  }
  return index;
}

std::int32_t PassBuilder::kernel(const std::string& label, const KernelShape& shape,
                                 Category category) {
  Op op{.kind = OpKind::kernel, .stream = Stream::compute, .category = category};
  op.kernel = tables_.kernel(shape);
  return append(op, label, waits_);
}

std::int32_t PassBuilder::communicate(Stream stream, Category category,
                                      const Communication& communication,
                                      const std::vector<std::int32_t>& deps, StreamMask join) {
  std::vector<std::int32_t> all = waits_;
  all.insert(all.end(), deps.begin(), deps.end());
  if (last_compute_ >= 0) {
    all.push_back(last_compute_);
  }
  return communicate_freely(stream, category, communication, all, join);
}

std::int32_t PassBuilder::communicate_freely(Stream stream, Category category,
                                             const Communication& communication,
                                             const std::vector<std::int32_t>& deps,
                                             StreamMask join) {
  SHARDSIM_CHECK(communication.bytes > Bytes{0}, communication.trigger + " moves nothing");
  Op op{.kind = OpKind::communication, .stream = stream, .category = category, .join = join};
  op.communication = tables_.communication(communication);
  return append(op, communication.trigger + " " + std::string(name(communication.primitive)), deps);
}

std::int32_t PassBuilder::host(Stream stream, const std::string& label, std::int32_t launches,
                               StreamMask join) {
  Op op{.kind = OpKind::host, .stream = stream, .category = Category::other, .join = join};
  op.launches = launches;
  return append(op, label, stream == Stream::compute ? waits_ : std::vector<std::int32_t>{});
}

void PassBuilder::wait(std::int32_t op) { waits_.push_back(op); }

void PassBuilder::take(Bytes bytes, std::int32_t op, const std::string& what) {
  if (bytes.value() != 0) {
    template_.memory.push_back({op, bytes, tables_.label(what)});
  }
}

void PassBuilder::give(Bytes bytes, std::int32_t op, const std::string& what) {
  take(-bytes, op, what);
}

PassTemplate PassBuilder::finish() {
  std::stable_sort(template_.memory.begin(), template_.memory.end(),
                   [](const MemoryEvent& a, const MemoryEvent& b) { return a.op < b.op; });
  return std::move(template_);
}

}  // namespace shardsim
