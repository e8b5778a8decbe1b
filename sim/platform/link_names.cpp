#include "platform/link_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace shardsim {

namespace {

// The part of a link's name before its direction: "node3.nic2" of "node3.nic2.tx".
[[nodiscard]] std::string_view without_direction(std::string_view name) {
  return name.substr(0, name.rfind('.'));
}

// The node that a link's name speaks of, or -1: 3 of "node3.nic2".
[[nodiscard]] std::int64_t node_in_name(std::string_view name) {
  constexpr std::string_view kNode = "node";
  std::int64_t node = -1;
  if (name.substr(0, kNode.size()) == kNode) {
    std::from_chars(name.data() + kNode.size(), name.data() + name.size(), node);
  }
  return node;
}

// The links among which a name can be found: its node's, or the switches'.
struct LinkRange {
  LinkId begin = 0;
  LinkId end = 0;
};
[[nodiscard]] LinkRange links_to_search(const Fabric& fabric, std::string_view name) {
  const std::int64_t node = node_in_name(name);
  const auto switches = static_cast<LinkId>(fabric.nodes * fabric.links_per_node);
  if (node < 0) {
    return {switches, count(fabric.links)};
  }
  if (node >= fabric.nodes) {
    return {};
  }
  const auto first = static_cast<LinkId>(node * fabric.links_per_node);
  return {first, first + fabric.links_per_node};
}

}  // namespace

std::vector<LinkId> find_links(const Fabric& fabric, std::string_view name) {
  std::vector<LinkId> found;
  const LinkRange range = links_to_search(fabric, name);
  for (LinkId link = range.begin; link < range.end; ++link) {
    const std::string candidate = link_name(fabric, link);
    if (candidate == name || without_direction(candidate) == name) {
      found.push_back(link);
    }
  }
  return found;
}

std::string nearest_link(const Fabric& fabric, const std::string& name) {
  const std::int64_t node = std::clamp<std::int64_t>(node_in_name(name), 0, fabric.nodes - 1);
  const auto first = static_cast<LinkId>(node * fabric.links_per_node);
  const auto switches = static_cast<LinkId>(fabric.nodes * fabric.links_per_node);
  std::vector<std::string> names;
  for (LinkId link = first; link < first + fabric.links_per_node; ++link) {
    names.push_back(link_name(fabric, link));
    names.emplace_back(without_direction(names.back()));
  }
  for (LinkId link = switches; link < count(fabric.links); ++link) {
    names.push_back(link_name(fabric, link));
    names.emplace_back(without_direction(names.back()));
  }
  const std::string nearest = nearest_name(name, names);
  if (!nearest.empty()) {
    return fmt::format("did you mean {}?", nearest);
  }
  return fmt::format("links are named like {}, with or without the direction", names.front());
}

}  // namespace shardsim
