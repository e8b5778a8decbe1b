// What can be named, as text and JSON: {kind: [{name, help}]}.
#include "report/writers/json_parts.h"
#include "report/writers/layout.h"
#include "report/writers/writers.h"

namespace shardsim {

std::string write_text(const std::vector<Listing>& listings) {
  std::string out;
  for (const Listing& listing : listings) {
    if (!out.empty()) out += "\n";
    out += listing.kind + "\n";
    std::size_t widest = 0;
    for (const ListEntry& entry : listing.entries) {
      widest = std::max(widest, columns(entry.name));
    }
    widest = std::min<std::size_t>(widest, 40);
    for (const ListEntry& entry : listing.entries) {
      out += wrap("  " + pad_right(clip(entry.name, 40), widest) + "  ", entry.help);
    }
  }
  return out;
}

std::string write_json(const std::vector<Listing>& listings) {
  Json out = Json::object();
  for (const Listing& listing : listings) {
    Json rows = Json::array();
    for (const ListEntry& entry : listing.entries) {
      rows.push_back(Json{{"name", entry.name}, {"help", entry.help}});
    }
    out[listing.kind] = std::move(rows);
  }
  constexpr int kOpenLevels = 2;
  return to_text(out, kOpenLevels);
}

}  // namespace shardsim
