#include "workload/stages.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/ids.h"
#include "base/text.h"
#include "spec/layout_string.h"
#include "spec/origin.h"

namespace shardsim {
namespace {

std::int64_t counted_layers(const RunSpec& run) {
  return run.model.layers + (run.parallel.count_embedding_as_layer ? 1 : 0) +
         (run.parallel.count_loss_as_layer ? 1 : 0);
}

std::string counted_text(const RunSpec& run) {
  std::string text = fmt::format("{} layers", run.model.layers);
  if (run.parallel.count_embedding_as_layer) {
    text += " + the embedding";
  }
  if (run.parallel.count_loss_as_layer) {
    text += " + the loss";
  }
  return text;
}

// "4 or 5": the largest value below and the smallest above `wanted` that divide `total`.
std::string nearest_divisors(std::int64_t total, std::int64_t wanted) {
  std::vector<std::string> words;
  for (std::int64_t below = std::min(wanted, total); below >= 1; --below) {
    if (total % below == 0) {
      words.push_back(std::to_string(below));
      break;
    }
  }
  for (std::int64_t above = wanted + 1; above <= total; ++above) {
    if (total % above == 0) {
      words.push_back(std::to_string(above));
      break;
    }
  }
  return join(words, " or ");
}

Problem problem(const RunSpec& run, std::string pointer, std::string what, std::string right) {
  return {run.file, std::move(pointer), std::move(what), std::move(right)};
}

std::optional<Problem> even_problem(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::int64_t total = counted_layers(run);
  if (total % p.pp != 0) {
    return problem(
        run, "/parallel/pp",
        fmt::format("{} do not divide into {} stages", counted_text(run), p.pp),
        fmt::format("use {}, or state parallel.layers_per_stage", nearest_divisors(total, p.pp)));
  }
  const std::int64_t per_stage = total / p.pp;
  if (per_stage % p.vpp != 0) {
    return problem(
        run, "/parallel/vpp",
        fmt::format("{} layers of a stage do not divide into {} chunks", per_stage, p.vpp),
        fmt::format("use {}, or state parallel.layers_per_stage with {} entries",
                    nearest_divisors(per_stage, p.vpp), p.pp * p.vpp));
  }
  return std::nullopt;
}

std::optional<Problem> stated_problem(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::vector<std::int64_t>& counts = p.layers_per_stage;
  const std::string pointer = "/parallel/layers_per_stage";
  const bool per_chunk = count(counts) == p.pp * p.vpp;
  if (!per_chunk && count(counts) != p.pp) {
    return problem(run, pointer, fmt::format("{} entries for {} stages", counts.size(), p.pp),
                   p.vpp == 1
                       ? fmt::format("use {} entries", p.pp)
                       : fmt::format("use {} entries, or {}, one per chunk", p.pp, p.pp * p.vpp));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    // In chunk order: an entry per stage is also that of chunks between the ends.
    const bool at_end = (per_chunk || p.vpp == 1) && (i == 0 || i + 1 == counts.size());
    if (counts[i] < 0 || (counts[i] == 0 && !at_end)) {
      return problem(run, fmt::format("{}/{}", pointer, i),
                     fmt::format("{} layers in the middle of the pipeline", counts[i]),
                     "use 1 or more");
    }
    if (!per_chunk && counts[i] % p.vpp != 0) {
      return problem(
          run, fmt::format("{}/{}", pointer, i),
          fmt::format("{} layers of a stage do not divide into {} chunks", counts[i], p.vpp),
          fmt::format("use {}, or state {} entries, one per chunk",
                      nearest_divisors(counts[i], p.vpp) + " chunks", p.pp * p.vpp));
    }
  }
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  if (sum != run.model.layers) {
    return problem(
        run, pointer,
        fmt::format("the entries sum to {}, the model has {} layers", sum, run.model.layers),
        fmt::format("use entries that sum to {}", run.model.layers));
  }
  return std::nullopt;
}

std::optional<Problem> layout_problem(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::string pointer = "/parallel/layout";
  const ParsedLayout parsed = parse_layout(p.layout);
  if (parsed.fault) {
    return problem(run, pointer, parsed.fault->what, parsed.fault->right);
  }
  const std::vector<LayoutChunk>& chunks = parsed.chunks;
  if (count(chunks) != p.pp * p.vpp) {
    return problem(run, pointer,
                   fmt::format("{} chunks for {} stages of {}", chunks.size(), p.pp, p.vpp),
                   fmt::format("use {} chunks", p.pp * p.vpp));
  }
  for (std::size_t i = 1; i + 1 < chunks.size(); ++i) {
    if (chunks[i].layers == 0) {
      return problem(run, pointer, fmt::format("chunk {} has no layer", i + 1),
                     "give each chunk but the first and the last a layer");
    }
  }
  if (layers_of(chunks) != run.model.layers) {
    return problem(run, pointer,
                   fmt::format("the layout holds {} layers, the model has {}", layers_of(chunks),
                               run.model.layers),
                   fmt::format("place {} layers", run.model.layers));
  }
  return std::nullopt;
}

// In model chunk order.
std::vector<std::int64_t> model_chunk_layers(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::int64_t chunks = p.pp * p.vpp;
  if (!p.layers_per_stage.empty()) {
    std::vector<std::int64_t> result = p.layers_per_stage;
    if (count(result) != chunks) {
      result.clear();
      for (std::int64_t i = 0; i < chunks; ++i) {
        result.push_back(at(p.layers_per_stage, i % p.pp) / p.vpp);
      }
    }
    return result;
  }
  if (!p.layout.empty()) {
    std::vector<std::int64_t> result;
    for (const LayoutChunk& chunk : parse_layout(p.layout).chunks) {
      result.push_back(chunk.layers);
    }
    return result;
  }
  std::vector<std::int64_t> result(static_cast<std::size_t>(chunks), counted_layers(run) / chunks);
  result.front() -= p.count_embedding_as_layer ? 1 : 0;
  result.back() -= p.count_loss_as_layer ? 1 : 0;
  return result;
}

ChunkCounts by_stage(const RunSpec& run, const std::vector<std::int64_t>& by_model_chunk) {
  const std::int64_t stages = run.parallel.pp;
  ChunkCounts result(static_cast<std::size_t>(stages));
  for (std::int64_t i = 0; i < count(by_model_chunk); ++i) {
    at(result, i % stages).push_back(at(by_model_chunk, i));
  }
  return result;
}

}  // namespace

std::optional<Problem> stages_problem(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  SHARDSIM_CHECK(p.pp >= 1 && p.vpp >= 1, "a pipeline has at least one stage and chunk");
  if (!p.layout.empty()) {
    return layout_problem(run);
  }
  return p.layers_per_stage.empty() ? even_problem(run) : stated_problem(run);
}

std::string stages_objection(const RunSpec& run) {
  const std::optional<Problem> found = stages_problem(run);
  return found ? found->what + "; " + found->right : "";
}

ChunkCounts layers_of_chunks(const RunSpec& run) {
  if (const std::optional<Problem> found = stages_problem(run)) {
    throw located(run, {*found});
  }
  return by_stage(run, model_chunk_layers(run));
}

ChunkCounts first_layers_of_chunks(const RunSpec& run) {
  if (const std::optional<Problem> found = stages_problem(run)) {
    throw located(run, {*found});
  }
  std::vector<std::int64_t> firsts;
  std::int64_t next = 0;
  for (const std::int64_t layers : model_chunk_layers(run)) {
    firsts.push_back(next);
    next += layers;
  }
  return by_stage(run, firsts);
}

}  // namespace shardsim
