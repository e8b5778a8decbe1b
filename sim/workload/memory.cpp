#include "workload/memory.h"

#include <algorithm>

#include "base/errors.h"
#include "base/ids.h"

namespace shardsim {
namespace {

struct TemplateWalk {  // relative to what is alive when the pass begins
  Bytes peak{};
  std::int32_t peak_op = -1;
  Bytes net{};
};

TemplateWalk walk_template(const PassTemplate& pass_template) {
  TemplateWalk walk;
  const std::vector<MemoryEvent>& events = pass_template.memory;
  for (std::size_t i = 0; i < events.size();) {
    // An operation takes all it takes before it gives anything back.
    Bytes freed{};
    const std::int32_t op = events[i].op;
    for (; i < events.size() && events[i].op == op; ++i) {
      const Bytes delta = events[i].delta;
      delta > Bytes{0} ? walk.net += delta : freed += delta;
    }
    if (walk.net > walk.peak) {
      walk.peak = walk.net;
      walk.peak_op = op;
    }
    walk.net += freed;
  }
  return walk;
}

std::vector<TemplateWalk> walk_templates(const Program& program) {
  std::vector<TemplateWalk> walks;
  for (const PassTemplate& pass_template : program.templates) {
    walks.push_back(walk_template(pass_template));
  }
  return walks;
}

}  // namespace

ActivationPeak activation_peak(const Program& program, const RankProgram& rank) {
  const std::vector<TemplateWalk> walks = walk_templates(program);
  ActivationPeak result;
  for (std::int32_t p = 0; p < count(rank.passes); ++p) {
    const TemplateWalk& walk = at(walks, at(rank.passes, p).pass_template);
    if (result.at_end + walk.peak > result.peak) {
      result.peak = result.at_end + walk.peak;
      result.pass = p;
      result.op = walk.peak_op;
    }
    result.at_end += walk.net;
  }
  return result;
}

std::vector<HeldTensor> held_at_peak(const Program& program, const RankProgram& rank,
                                     const ActivationPeak& peak) {
  std::vector<Bytes> held(program.labels.size());
  for (std::int32_t p = 0; p <= peak.pass && p < count(rank.passes); ++p) {
    const PassTemplate& from = at(program.templates, at(rank.passes, p).pass_template);
    for (const MemoryEvent& event : from.memory) {
      // The peak's operation has taken all it takes and given nothing back.
      const bool later =
          event.op > peak.op || (event.op == peak.op && event.delta < Bytes{0}) || peak.op < 0;
      if (p < peak.pass || !later) {
        at(held, event.label) += event.delta;
      }
    }
  }
  std::vector<HeldTensor> result;
  for (std::int32_t label = 0; label < count(held); ++label) {
    if (at(held, label) != Bytes{0}) {
      result.push_back({label, at(held, label)});
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const HeldTensor& a, const HeldTensor& b) { return a.bytes > b.bytes; });
  return result;
}

std::vector<PassActivations> activations_over_passes(const Program& program,
                                                     const RankProgram& rank) {
  const std::vector<TemplateWalk> walks = walk_templates(program);
  std::vector<PassActivations> result;
  Bytes alive{};
  for (const Pass& pass : rank.passes) {
    const TemplateWalk& walk = at(walks, pass.pass_template);
    result.push_back({alive + walk.peak, alive + walk.net});
    alive += walk.net;
  }
  return result;
}

}  // namespace shardsim
