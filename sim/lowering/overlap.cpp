// overlap_slowdown: communication beside compute takes SMs and memory bandwidth from it.
//
// Beside a collective with time alone T stand the kernels of the rank's compute stream that follow,
// in program order, the last operation it depends on and precede the first that waits for it. The
// first of them, until their own times sum to T (the last in part), are lengthened by
// overlap_slowdown times the time so covered; time covered twice counts once; send/recv does not
// count.
//   kernels 3 ms + 4 ms, T = 5 ms, 0.3:  3 + 0.3 * 3 = 3.9,  then 4 + 0.3 * 2 = 4.6: ends at 8.5 ms
//
// Each covered piece starts with its kernel, so the union of pieces is the longest one.
#include <algorithm>
#include <map>
#include <utility>

#include "base/errors.h"
#include "lowering/dependencies.h"
#include "lowering/job.h"

namespace shardsim {
namespace {

struct FlatOp {
  std::int32_t pass = 0;
  std::int32_t op = 0;  // of the pass's template
};

// The program laid out: operations in order and what each waits for.
struct Layout {
  std::vector<FlatOp> ops;
  std::vector<std::int32_t> first_predecessor;  // size ops + 1
  std::vector<std::int32_t> predecessors;
};

Layout lay_out(const Lowered& lowered, const LoweredProgram& program) {
  Layout layout;
  DependencyWalk walk;
  for (std::int32_t pass = 0; pass < count(program.passes); ++pass) {
    const LoweredTemplate& from = at(lowered.templates, at(program.passes, pass).pass_template);
    const std::int32_t first = count(layout.ops);
    for (std::int32_t op = 0; op < count(from.ops); ++op) {
      const auto& before = walk.predecessors(from, at(from.ops, op), first);
      layout.first_predecessor.push_back(count(layout.predecessors));
      layout.predecessors.insert(layout.predecessors.end(), before.begin(), before.end());
      walk.enqueue(at(from.ops, op), count(layout.ops));
      layout.ops.push_back({pass, op});
    }
  }
  layout.first_predecessor.push_back(count(layout.predecessors));
  return layout;
}

class Slowdown {
 public:
  Slowdown(const LoweringJob& job, const RankKind& kind, const LoweredProgram& program,
           const Lowered& lowered)
      : job_(job),
        kind_(kind),
        program_(program),
        lowered_(lowered),
        layout_(lay_out(lowered, program)),
        covered_(layout_.ops.size(), 0.0),
        waits_for_(layout_.ops.size(), -1) {}

  // Seconds of each operation that some collective covers.
  std::vector<double> run() {
    for (std::int32_t i = 0; i < count(layout_.ops); ++i) {
      const std::int32_t last = last_of_collective(i);
      if (last >= 0) {
        cover(i, last);
      }
    }
    return std::move(covered_);
  }

 private:
  [[nodiscard]] const LoweredTemplate& template_of(std::int32_t index) const {
    const LoweredPass& pass = at(program_.passes, at(layout_.ops, index).pass);
    return at(lowered_.templates, pass.pass_template);
  }
  [[nodiscard]] const LoweredOp& op(std::int32_t index) const {
    return at(template_of(index).ops, at(layout_.ops, index).op);
  }

  // Of the collective that starts with operation i: its last operation. -1 when none starts there.
  [[nodiscard]] std::int32_t last_of_collective(std::int32_t i) const {
    if (!is_collective(i)) {
      return -1;
    }
    const bool first = i == 0 || !same_collective(i - 1, i);
    std::int32_t last = i;
    while (first && last + 1 < count(layout_.ops) && same_collective(last, last + 1)) {
      ++last;
    }
    return first ? last : -1;
  }
  [[nodiscard]] bool is_collective(std::int32_t i) const {
    if (!op(i).is_flow) {
      return false;
    }
    const SlotKey& slot = at(kind_.slots, op(i).slot);
    return slot.kind != SlotKey::Kind::send && slot.kind != SlotKey::Kind::recv &&
           slot.part != Part::cycle;
  }
  [[nodiscard]] bool same_collective(std::int32_t a, std::int32_t b) const {
    return at(layout_.ops, a).pass == at(layout_.ops, b).pass && op(a).source == op(b).source;
  }

  [[nodiscard]] double time_alone(std::int32_t index) const {
    const PassTemplate& from = at(job_.program.templates, template_of(index).source);
    const std::int32_t communication = at(from.ops, op(index).source).communication;
    const std::int32_t groups = at(job_.groups_of_communication, communication);
    return at(at(job_.carriages, communication), at(kind_.shapes, groups)).time_alone.value();
  }

  [[nodiscard]] std::int32_t last_predecessor(std::int32_t index) const {
    const std::int32_t end = at(layout_.first_predecessor, index + 1);
    return end == at(layout_.first_predecessor, index) ? -1 : at(layout_.predecessors, end - 1);
  }

  bool waits(std::int32_t index, std::int32_t collective) {
    const std::int32_t end = at(layout_.first_predecessor, index + 1);
    for (std::int32_t p = at(layout_.first_predecessor, index); p < end; ++p) {
      if (at(waits_for_, at(layout_.predecessors, p)) == collective) {
        return true;
      }
    }
    return false;
  }

  void cover(std::int32_t first, std::int32_t last) {
    double left = time_alone(first);
    for (std::int32_t i = last_predecessor(first) + 1; left > 0 && i < count(layout_.ops); ++i) {
      const bool part = i >= first && i <= last;
      const LoweredOp& here = op(i);
      if (part || waits(i, first)) {
        at(waits_for_, i) = first;
        if (!part && here.stream == Stream::compute) {
          return;
        }
        continue;
      }
      if (here.stream == Stream::compute && !here.is_flow) {
        const double piece = std::min(here.duration.value(), left);
        at(covered_, i) = std::max(at(covered_, i), piece);
        left -= piece;
      }
    }
  }

  const LoweringJob& job_;
  const RankKind& kind_;
  const LoweredProgram& program_;
  const Lowered& lowered_;
  Layout layout_;
  std::vector<double> covered_;
  std::vector<std::int32_t> waits_for_;  // first operation of the collective last walked from
};

}  // namespace

void apply_overlap_slowdown(const LoweringJob& job, const RankKind& kind, LoweredProgram& program,
                            Lowered& lowered) {
  const double slowdown = job.run.training.overlap_slowdown;
  if (slowdown <= 0) {
    return;
  }
  const std::vector<double> covered = Slowdown(job, kind, program, lowered).run();
  // Passes that run one template under equal cover share a variant of it.
  std::map<std::pair<std::int32_t, std::vector<double>>, std::int32_t> variants;
  std::int64_t first = 0;
  for (LoweredPass& pass : program.passes) {
    const auto size =
        static_cast<std::int64_t>(at(lowered.templates, pass.pass_template).ops.size());
    const std::vector<double> cover(covered.begin() + first, covered.begin() + first + size);
    first += size;
    if (std::all_of(cover.begin(), cover.end(), [](double seconds) { return seconds == 0; })) {
      continue;
    }
    const auto [found, added] =
        variants.try_emplace({pass.pass_template, cover}, count(lowered.templates));
    if (added) {
      LoweredTemplate variant = at(lowered.templates, pass.pass_template);
      for (std::size_t i = 0; i < cover.size(); ++i) {
        variant.ops[i].duration += Seconds{slowdown * cover[i]};
      }
      lowered.templates.push_back(std::move(variant));
    }
    pass.pass_template = found->second;
  }
}

}  // namespace shardsim
