// What some jobs must take, by formulas written without looking at sim/: the second opinion.
#pragma once

#include <algorithm>
#include <cmath>

namespace shardsim::closed_form {

struct Ring {
  double bytes = 0;
  int ranks = 2;
  int ranks_per_node = 1;  // ranks / ranks_per_node nodes
  double nvlink_Bps = 1;
  double nic_Bps = 1;
  double nvlink_latency_s = 0;
  double rail_latency_s = 0;  // from GPU to GPU of the next node
  bool all_reduce = true;
};

// Patarasuk and Yuan 2009: each rank passes on (n-1)/n of the buffer, twice for all_reduce, in n-1
// or 2 (n-1) steps. r ranks of a node share r NICs, and r-1 of r times the data stays in the node.
inline double ring_seconds(const Ring& ring) {
  const double n = ring.ranks;
  const double r = ring.ranks_per_node;
  const double passes = ring.all_reduce ? 2 : 1;
  const double moved = passes * (n - 1) / n * ring.bytes;
  const double steps = passes * (n - 1);
  if (ring.ranks == ring.ranks_per_node) {
    return moved / ring.nvlink_Bps + steps * ring.nvlink_latency_s;
  }
  const double nic = moved / r / ring.nic_Bps;
  const double nvlink = moved * (r - 1) / r / ring.nvlink_Bps;
  const double hop = ((r - 1) * ring.nvlink_latency_s + ring.rail_latency_s) / r;
  return std::max(nic, nvlink) + steps * hop;
}

// Equal stages of forward f and backward b, no communication (GPipe, Huang et al. 2019; 1F1B).
inline double pipeline_seconds(int stages, int micro_batches, double forward, double backward) {
  return (micro_batches + stages - 1) * (forward + backward);
}

}  // namespace shardsim::closed_form
