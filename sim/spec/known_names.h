// Names that run and cluster files may use for things that other folders implement: the one list
// from which files are read, schemas written and `shardsim list` printed. Whether this version
// implements a name is known to the tables of those folders (RunRule in run_rule.h), and for
// protocols to unsupported.cpp.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

struct KnownName {
  std::string name;
  std::string help;
};

[[nodiscard]] const std::vector<KnownName>& known_schedules();
[[nodiscard]] const std::vector<KnownName>& known_fabric_families();
[[nodiscard]] const std::vector<KnownName>& known_collectives();  // all_reduce, all_gather, ...
[[nodiscard]] const std::vector<KnownName>& known_algorithms();
[[nodiscard]] const std::vector<KnownName>& known_protocols();

[[nodiscard]] std::vector<std::string> names(const std::vector<KnownName>& list);

}  // namespace shardsim
