#include "workload/pair_pass.h"

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

using Sections = std::vector<std::pair<std::int32_t, std::int32_t>>;  // operations [first, end)

// The first section is the beginning: up to the first operation of the compute stream.
Sections sections_of(const PassTemplate& pass) {
  Sections sections;
  std::int32_t first = 0;
  for (std::int32_t i = 0; i < count(pass.ops); ++i) {
    const Op& op = at(pass.ops, i);
    const bool begun = sections.empty() && op.stream == Stream::compute;
    if (begun || (!sections.empty() && op.stream == Stream::ep) || i + 1 == count(pass.ops)) {
      sections.emplace_back(first, i + 1);
      first = i + 1;
    }
  }
  return sections;
}

// Waits for nothing that the other pass has in flight: streams of the layers are its own business,
// told by dependencies.
constexpr StreamMask kLayerStreams = mask(Stream::tp) | mask(Stream::cp) | mask(Stream::ep);

class Weaver {
 public:
  void add(const PassTemplate& from, std::vector<std::int32_t>& new_index,
           std::pair<std::int32_t, std::int32_t> section, bool begins) {
    for (std::int32_t i = section.first; i < section.second; ++i) {
      Op op = at(from.ops, i);
      const std::int32_t first_dep = count(result_.deps);
      for (std::int32_t d = 0; d < op.dep_count; ++d) {
        result_.deps.push_back(at(new_index, at(from.deps, op.first_dep + d)));
      }
      op.first_dep = first_dep;
      if (!begins && op.kind == OpKind::host) {
        op.join = static_cast<StreamMask>(op.join & ~kLayerStreams);
      }
      new_index.push_back(count(result_.ops));
      result_.ops.push_back(op);
    }
  }

  void add_memory(const PassTemplate& from, const std::vector<std::int32_t>& new_index) {
    for (MemoryEvent event : from.memory) {
      event.op = at(new_index, event.op);
      result_.memory.push_back(event);
    }
  }

  PassTemplate finish() {
    std::stable_sort(result_.memory.begin(), result_.memory.end(),
                     [](const MemoryEvent& a, const MemoryEvent& b) { return a.op < b.op; });
    return std::move(result_);
  }

  PassTemplate result_;
};

}  // namespace

PassTemplate pair_pass(const PassTemplate& forward, const PassTemplate& backward) {
  const Sections of_forward = sections_of(forward);
  const Sections of_backward = sections_of(backward);
  SHARDSIM_CHECK(!of_forward.empty() && !of_backward.empty(), "a pair of passes that do nothing");
  std::vector<std::int32_t> forward_index;
  std::vector<std::int32_t> backward_index;
  Weaver weaver;
  weaver.result_.name = forward.name + " beside " + backward.name;
  weaver.result_.kind = PassKind::pair;
  weaver.add(forward, forward_index, of_forward.front(), true);
  weaver.add(backward, backward_index, of_backward.front(), true);
  const std::int64_t forwards = count(of_forward) - 1;
  const std::int64_t backwards = count(of_backward) - 1;
  std::int64_t f = 0;
  std::int64_t b = 0;
  while (f < forwards || b < backwards) {
    // Middles of the sections on a common scale; the forward is first.
    const bool forward_next =
        f < forwards && (b == backwards || (2 * f + 1) * backwards <= (2 * b + 1) * forwards);
    if (forward_next) {
      weaver.add(forward, forward_index, at(of_forward, ++f), false);
    } else {
      weaver.add(backward, backward_index, at(of_backward, ++b), false);
    }
  }
  weaver.add_memory(forward, forward_index);
  weaver.add_memory(backward, backward_index);
  return weaver.finish();
}

}  // namespace shardsim
