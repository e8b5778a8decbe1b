// Megatron's pipeline layout string -> what each model chunk holds, in chunk order.
//
// E embedding, t layer, m multi-token prediction layer, L loss, | the cut between two chunks; x*n
// and (...)*n repeat; commas and blanks mean nothing (megatron/core/transformer/
// pipeline_parallel_layer_layout.py). Chunk i is chunk i / pp of stage i % pp.
//
//   "Et*2|(t*2|)*2,tL" -> {E, 2 t} {2 t} {2 t} {1 t, L}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shardsim {

struct LayoutChunk {
  bool embedding = false;
  std::int64_t layers = 0;
  std::int64_t mtp = 0;
  bool loss = false;
  bool operator==(const LayoutChunk&) const = default;
};

struct LayoutFault {
  std::string what;  // begins with the character's number, from 1
  std::string right;
};

struct ParsedLayout {
  std::vector<LayoutChunk> chunks;   // empty when there is a fault
  std::optional<LayoutFault> fault;  // the first
};
[[nodiscard]] ParsedLayout parse_layout(const std::string& text);

[[nodiscard]] std::int64_t layers_of(const std::vector<LayoutChunk>& chunks);
[[nodiscard]] std::int64_t mtp_layers_of(const std::vector<LayoutChunk>& chunks);

}  // namespace shardsim
