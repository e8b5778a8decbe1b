// Advice for a link's name that does not exist. (find_links, of fabric.h, is in the .cpp too: a
// name is searched among the links of the node it speaks of, or among the switches'.)
#pragma once

#include <string>

#include "platform/fabric.h"

namespace shardsim {

// "did you mean node3.nic2.tx?", or how links are named.
[[nodiscard]] std::string nearest_link(const Fabric& fabric, const std::string& name);

}  // namespace shardsim
