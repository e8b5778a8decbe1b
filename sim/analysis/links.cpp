#include <algorithm>

#include "analysis/analysis.h"
#include "base/rounding.h"

namespace shardsim {

std::vector<LinkUtilisation> link_utilisation(const Trace& trace) {
  std::vector<LinkUtilisation> result;
  for (const TraceLink& link : trace.links) {
    if (link.bytes > 0) {  // links that nothing crosses are left out
      result.push_back({link.name, link.size, link.bytes / (link.capacity.value() * trace.step_s),
                        link.bytes, link.users});
    }
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const LinkUtilisation& a, const LinkUtilisation& b) {
                     return without_rounding(a.utilisation) > without_rounding(b.utilisation);
                   });
  return result;
}

}  // namespace shardsim
