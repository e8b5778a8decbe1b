#include "lowering/idle_perturbations.h"

#include <fmt/format.h>

#include <algorithm>

namespace shardsim {
namespace {

class Idleness {
 public:
  Idleness(const Fabric& fabric, const NodeMap& map, const Lowered& lowered)
      : fabric_(fabric), map_(map), crossed_(fabric.links.size(), false) {
    for (const LinkUse& use : lowered.uses) {  // lanes exist only where ranks communicate
      crossed_[static_cast<std::size_t>(use.link)] = true;
    }
  }

  // Why a perturbation changes nothing; "" when it may.
  [[nodiscard]] std::string reason(const Perturbation& perturbation) const {
    switch (perturbation.kind) {
      case Perturbation::Kind::gpu:
        return idle_gpu(perturbation.index)
                   ? fmt::format("GPU {} has no effect: it holds no rank", perturbation.index)
                   : "";
      case Perturbation::Kind::node:
        return idle_node(perturbation.index)
                   ? fmt::format("node {} has no effect: it holds no rank", perturbation.index)
                   : "";
      case Perturbation::Kind::link:
        return idle_link(perturbation.link)
                   ? fmt::format("link {} has no effect: no traffic crosses it", perturbation.link)
                   : "";
      case Perturbation::Kind::rail:
        return idle_rail(perturbation.index)
                   ? fmt::format("rail {} has no effect: no traffic crosses it", perturbation.index)
                   : "";
      case Perturbation::Kind::spine:
      case Perturbation::Kind::jitter:
        break;
    }
    return "";
  }

 private:
  [[nodiscard]] bool idle_gpu(std::int64_t gpu) const {
    return std::none_of(map_.gpu_of_rank.begin(), map_.gpu_of_rank.end(),
                        [gpu](GpuId used) { return used == gpu; });
  }
  [[nodiscard]] bool idle_node(std::int64_t node) const {
    return std::none_of(map_.gpu_of_rank.begin(), map_.gpu_of_rank.end(),
                        [&](GpuId used) { return fabric_.node_of(used) == node; });
  }
  [[nodiscard]] bool is_crossed(LinkId link) const {
    return crossed_[static_cast<std::size_t>(link)];
  }
  [[nodiscard]] bool idle_link(const std::string& name) const {
    const std::vector<LinkId> links = find_links(fabric_, name);
    return std::none_of(links.begin(), links.end(), [&](LinkId link) { return is_crossed(link); });
  }
  [[nodiscard]] bool idle_rail(std::int64_t rail) const {
    for (LinkId link = 0; link < count(fabric_.links); ++link) {
      if (is_crossed(link) && fabric_.family->rail_of(fabric_, link) == rail) {
        return false;
      }
    }
    return true;
  }

  const Fabric& fabric_;
  const NodeMap& map_;
  std::vector<bool> crossed_;
};

}  // namespace

std::vector<std::string> idle_perturbations(const RunSpec& run, const Fabric& fabric,
                                            const NodeMap& map, const Lowered& lowered) {
  std::vector<std::string> warnings;
  if (run.perturbations.empty()) {
    return warnings;
  }
  const Idleness idleness(fabric, map, lowered);
  for (const Perturbation& perturbation : run.perturbations) {
    const std::string reason = idleness.reason(perturbation);
    if (!reason.empty()) {
      warnings.push_back("perturbation of " + reason);
    }
  }
  return warnings;
}

}  // namespace shardsim
