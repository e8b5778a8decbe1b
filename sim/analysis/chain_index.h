// What analyses ask of the chains of a coalesced trace, found once per chain by the analyses
// themselves on its small trace.
//
// Times in seconds from the start of the chain. How a part of a chain is explained does not depend
// on when the chain starts, except that a gap may begin inside it: then only what lies in the gap
// counts.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/compute_stream.h"
#include "analysis/trace_index.h"
#include "base/ids.h"

namespace shardsim {

struct ChainUse {  // of one slot with one label, on one rank of a chain
  std::int32_t slot = 0;
  std::int32_t label = 0;
  std::int64_t count = 0;
  double message_bytes = 0;
  double time_s = 0;
  double exposed_s = 0;  // within the stretch of the compute stream that the chain covers
};

struct ChainRankIndex {
  Breakdown bins;  // of that stretch
  std::vector<ChainUse> uses;
};

struct PartIndex {
  // The critical path from the part's end to the start of the chain, backwards. rank_class and op
  // are those of the chain's trace; the path leaves the chain at the head of `path_rank`.
  std::vector<PathSegment> path;
  std::int32_t path_rank = 0;
  // Of a part beside the compute stream: what this rank did until the part ended, backwards.
  std::vector<Piece> explained;
};

struct ChainIndex {
  TraceIndex inside;
  std::vector<ChainRankIndex> ranks;
};

// A chain that a template holds, as the ranks of one program see it.
struct TemplateChain {
  std::int32_t chain = 0;
  std::int32_t rank = 0;
  std::int32_t head = 0;  // operation of the template
};

struct ChainsIndex {
  std::vector<ChainIndex> chains;
  std::vector<PartIndex> parts;
  std::vector<std::vector<TemplateChain>> of_template;
};

// REQUIRES: `index` is complete but for this.
[[nodiscard]] ChainsIndex make_chains_index(const TraceIndex& index);

// visit(TemplateChain, passes): each chain in the program of a rank class and how often it runs.
template <class Visit>
void for_each_chain(const TraceIndex& index, std::int32_t rank_class, Visit visit) {
  if (index.chains == nullptr) {
    return;
  }
  const ProgramIndex& program = index.program_of(rank_class);
  for (std::int32_t t = 0; t < count(program.passes_of_template); ++t) {
    const std::int32_t passes = at(program.passes_of_template, t);
    if (passes > 0) {
      for (const TemplateChain& held : at(index.chains->of_template, t)) {
        visit(held, passes);
      }
    }
  }
}

}  // namespace shardsim
