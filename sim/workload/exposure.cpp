#include "workload/exposure.h"

#include <algorithm>
#include <array>

#include "base/ids.h"

namespace shardsim {
namespace {

constexpr std::int32_t kNever = -2;   // depends on no compute operation at all
constexpr std::int32_t kBefore = -1;  // on those of earlier passes

enum class Exposure : std::uint8_t { hidden, exposed, trails };  // trails: the next pass decides

// The last compute operation of the pass that each operation follows.
std::vector<std::int32_t> compute_before(const PassTemplate& t) {
  std::vector<std::int32_t> last(t.ops.size(), kNever);
  std::array<std::int32_t, kStreamCount> on_stream;
  on_stream.fill(kNever);
  std::int32_t compute = kBefore;
  for (std::int32_t i = 0; i < count(t.ops); ++i) {
    const Op& op = at(t.ops, i);
    std::int32_t& follows = at(last, i);
    follows = at(on_stream, op.stream);
    for (std::int32_t d = 0; d < op.dep_count; ++d) {
      const std::int32_t dep = at(t.deps, op.first_dep + d);
      follows = std::max(follows, at(last, dep));
    }
    if ((op.join & mask(Stream::compute)) != 0 || op.stream == Stream::compute) {
      follows = std::max(follows, compute);
    }
    if (op.stream == Stream::compute) {
      compute = i;
      follows = i;
    }
    at(on_stream, op.stream) = follows;
  }
  return last;
}

// The first compute operation that waits for operation i; the number of operations when none does.
std::int32_t first_waiting(const PassTemplate& t, std::int32_t i) {
  std::vector<bool> after(t.ops.size(), false);  // has i before it
  after[static_cast<std::size_t>(i)] = true;
  StreamMask streams = mask(at(t.ops, i).stream);
  for (std::int32_t j = i + 1; j < count(t.ops); ++j) {
    const Op& op = at(t.ops, j);
    bool follows = ((mask(op.stream) | op.join) & streams) != 0;
    for (std::int32_t d = 0; d < op.dep_count && !follows; ++d) {
      follows = after[static_cast<std::size_t>(at(t.deps, op.first_dep + d))];
    }
    if (!follows) {
      continue;
    }
    if (op.stream == Stream::compute) {
      return j;
    }
    after[static_cast<std::size_t>(j)] = true;
    streams = static_cast<StreamMask>(streams | mask(op.stream));
  }
  return count(t.ops);
}

bool receives(const Op& op) {
  return op.stream == Stream::pp_recv_forward || op.stream == Stream::pp_recv_backward ||
         op.stream == Stream::pp_recv_forward_mirrored ||
         op.stream == Stream::pp_recv_backward_mirrored;
}

Exposure exposure_of(const PassTemplate& t, std::int32_t i, std::int32_t after) {
  if (after == kNever && receives(at(t.ops, i))) {
    return Exposure::hidden;  // posted while the pass before it computes
  }
  const std::int32_t end = first_waiting(t, i);
  for (std::int32_t j = std::max(after, kBefore) + 1; j < end; ++j) {
    if (at(t.ops, j).stream == Stream::compute && at(t.ops, j).kind == OpKind::kernel) {
      return Exposure::hidden;
    }
  }
  return end < count(t.ops) ? Exposure::exposed : Exposure::trails;
}

std::vector<Exposure> exposures_of(const PassTemplate& t) {
  const std::vector<std::int32_t> after = compute_before(t);
  std::vector<Exposure> result(t.ops.size(), Exposure::hidden);
  for (std::int32_t i = 0; i < count(t.ops); ++i) {
    if (at(t.ops, i).kind == OpKind::communication) {
      at(result, i) = exposure_of(t, i, at(after, i));
    }
  }
  return result;
}

// Whether a pass begins by waiting for what trails on a stream; the step's end waits for all.
bool waits_for(const PassTemplate* next, Stream stream) {
  if (next == nullptr || next->kind == PassKind::step_end) {
    return true;
  }
  for (const Op& op : next->ops) {
    if (op.stream == Stream::compute) {
      return (op.join & mask(stream)) != 0;
    }
  }
  return false;
}

CommunicationCount& entry_of(std::vector<CommunicationCount>& counts, const Op& op) {
  const auto found =
      std::find_if(counts.begin(), counts.end(), [&op](const CommunicationCount& one) {
        return one.communication == op.communication && one.stream == op.stream &&
               one.category == op.category;
      });
  if (found != counts.end()) {
    return *found;
  }
  counts.push_back({op.communication, op.stream, op.category});
  return counts.back();
}

}  // namespace

std::vector<CommunicationCount> count_communications(const Program& program,
                                                     const RankProgram& rank) {
  std::vector<std::vector<Exposure>> exposures(program.templates.size());
  std::vector<CommunicationCount> counts;
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const std::int32_t index = at(rank.passes, p).pass_template;
    const PassTemplate& t = at(program.templates, index);
    std::vector<Exposure>& of_ops = at(exposures, index);
    if (of_ops.empty()) {
      of_ops = exposures_of(t);
    }
    const bool last = p + 1 == count(rank.passes);
    const PassTemplate* next =
        last ? nullptr : &at(program.templates, at(rank.passes, p + 1).pass_template);
    for (std::int32_t i = 0; i < count(t.ops); ++i) {
      const Op& op = at(t.ops, i);
      if (op.kind != OpKind::communication) {
        continue;
      }
      const Exposure exposure = at(of_ops, i);
      CommunicationCount& entry = entry_of(counts, op);
      entry.count += 1;
      entry.exposed += exposure == Exposure::exposed ||
                       (exposure == Exposure::trails && waits_for(next, op.stream));
    }
  }
  return counts;
}

}  // namespace shardsim
