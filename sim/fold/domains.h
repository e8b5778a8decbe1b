// Which rank classes run in lockstep?
//
// Classes that are members of one private lane, in the same role, and run the same passes in the
// same order belong to one domain; so do classes joined through others. Almost linear in lanes and
// passes.
#pragma once

#include <cstdint>
#include <vector>

#include "fold/folded.h"
#include "fold/private_lanes.h"

namespace shardsim {

struct Domains {
  std::vector<std::vector<std::int32_t>> classes;  // of each domain, rising
  std::vector<std::int32_t> domain_of_class;
  std::vector<std::uint8_t> in_lockstep;  // per lane: its members run in lockstep through it
};

[[nodiscard]] Domains find_domains(const Folded& folded, const std::vector<LanePace>& paces);

}  // namespace shardsim
