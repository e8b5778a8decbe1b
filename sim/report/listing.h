// What can be named in a run file or on the command line: `shardsim list`.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

struct ListEntry {
  std::string name;
  std::string help;  // one sentence
};

struct Listing {
  std::string kind;  // "models"
  std::vector<ListEntry> entries;
};

}  // namespace shardsim
