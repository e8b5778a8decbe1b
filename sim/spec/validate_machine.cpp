// Rules over the cluster by itself, the job on it, and the products of sizes.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "spec/checks.h"
#include "spec/tables.h"

namespace shardsim {
namespace {

// Bounds of products, so that what is counted exactly downstream (bytes: elements x at most 18)
// stays within 64 bits. 2^50 elements are 2 PB in bf16: no GPU holds them.
constexpr double kMaxElements = 0x1p50;

struct Product {
  std::string text;
  double value;
};

void bound(Checking& c, std::string_view key, const Product& product, const std::string& of) {
  if (product.value > kMaxElements) {
    complain(c, key, fmt::format("{} make {:.3g} {}", product.text, product.value, of),
             fmt::format("use sizes that make at most {:.3g}", kMaxElements));
  }
}

double d(std::int64_t value) { return static_cast<double>(value); }

bool has_peak(const GpuSpec& gpu, Precision precision) {
  return gpu.peak.find(precision) != gpu.peak.end();
}

// Training in a low precision also multiplies in the format that tensors keep.
void check_peak(Checking& c) {
  const GpuSpec& gpu = c.run.cluster.gpu;
  const Precision wanted = c.run.training.precision;
  const Precision lacking = has_peak(gpu, wanted) ? tensor_precision(wanted) : wanted;
  if (has_peak(gpu, lacking) || !usable(c, {"training.precision", "cluster.gpu.peak",
                                            "cluster.gpu.peak." + std::string(name(lacking))})) {
    return;
  }
  std::vector<std::string> known;
  for (const auto& [precision, peak] : gpu.peak) {
    if (has_peak(gpu, tensor_precision(precision))) {
      known.emplace_back(name(precision));
    }
  }
  complain(
      c, "training.precision",
      fmt::format("{} has no peak in {}", gpu.name, name(lacking)) +
          (lacking == wanted ? "" : fmt::format(", which training in {} also uses", name(wanted))),
      known.empty() ? "add it to the GPU's peak" : "use " + join_or(known));
}

void check_flash(Checking& c) {
  const RunSpec& run = c.run;
  const GpuSpec& gpu = run.cluster.gpu;
  const std::string& flash = run.stack.flash_version;
  if (run.training.attention == AttentionKind::flash &&
      usable(c, {"stack.flash_version", "training.attention", "cluster.gpu.efficiency.attention",
                 "cluster.gpu.efficiency.attention." + flash}) &&
      gpu.efficiency.attention.find(flash) == gpu.efficiency.attention.end()) {
    std::vector<std::string> known;
    for (const auto& [version, figures] : gpu.efficiency.attention) {
      known.push_back(quote(version));
    }
    complain(c, "stack.flash_version",
             fmt::format("{} has no figures for flash attention {}", gpu.name, quote(flash)),
             known.empty() ? "add them, or use attention \"unfused\"" : "use " + join_or(known));
  }
}

// Narrower formats are never slower on the same matrix units.
int narrowness(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 0;
    case Precision::fp16:
    case Precision::bf16:
      return 1;
    case Precision::fp8:
    case Precision::mxfp8:
      return 2;
    case Precision::nvfp4:
      return 3;
  }
  return 0;
}

// A peak in the wrong row, or one quoted with sparsity.
void warn_of_peaks(Checking& c) {
  const GpuSpec& gpu = c.run.cluster.gpu;
  for (const auto& [wide, slow] : gpu.peak) {
    for (const auto& [narrow, fast] : gpu.peak) {
      if (narrowness(wide) < narrowness(narrow) && slow > fast) {
        warn(c, fmt::format("{}: its {} peak of {} is above its {} peak of {}", gpu.name,
                            name(wide), format_flops(slow), name(narrow), format_flops(fast)));
      }
    }
  }
}

// How many nodes the widest TP group spans; ranks fill nodes in order.
std::int64_t nodes_of_tp_group(const RunSpec& run) {
  const ParallelSpec& p = run.parallel;
  const std::int64_t per_node = run.cluster.node.gpus_used;
  std::int64_t stride = 1;
  for (const Axis axis : p.order) {
    if (axis == Axis::tp) break;
    stride *= axis == Axis::cp ? p.cp : axis == Axis::dp ? p.dp : axis == Axis::pp ? p.pp : 1;
  }
  std::int64_t most = 1;
  for (std::int64_t block = 0; block < run.gpus; block += stride * p.tp) {
    for (std::int64_t first = block; first < block + stride; ++first) {
      std::int64_t nodes = 1;
      std::int64_t before = first / per_node;
      for (std::int64_t i = 1; i < p.tp; ++i) {
        const std::int64_t node = (first + i * stride) / per_node;
        nodes += node != before ? 1 : 0;
        before = node;
      }
      most = std::max(most, nodes);
    }
  }
  return most;
}

void check_tp_group(Checking& c) {
  const RunSpec& run = c.run;
  if (run.parallel.tp == 1 ||
      !usable(c, {"gpus", "nodes", "parallel.tp", "parallel.dp", "parallel.order",
                  "cluster.node.gpus", "cluster.node.gpus_used"})) {
    return;
  }
  const std::int64_t nodes = nodes_of_tp_group(run);
  if (nodes > 1) {
    warn(c, fmt::format("a TP group of {} spans {} nodes: its collectives leave the NVLink domain "
                        "of {}",
                        run.parallel.tp, nodes, counted(run.cluster.node.gpus_used, "GPU")));
  }
}

void check_link_bandwidth(Checking& c, const std::string& key, bool needed, const LinkSpec& link) {
  const std::string bandwidth = key + ".bandwidth_per_direction";
  if (needed && link.bandwidth_per_direction.value() == 0 && usable(c, {key, bandwidth})) {
    give_up(c, bandwidth, "is missing", "write " + quantity_form(Dimension::bandwidth));
  }
}

}  // namespace

void validate_sizes(Checking& c) {
  const ModelSpec& m = c.run.model;
  const BatchSpec& batch = c.run.batch;
  if (!usable(c, {"model", "batch", "model.layers", "model.hidden", "model.ffn", "model.heads",
                  "model.head_dim", "model.vocab", "batch.micro", "batch.sequence"})) {
    return;
  }
  const double tokens = d(batch.micro) * d(batch.sequence);
  const double attention = d(m.heads) * d(m.head_dim);
  const double widest = std::max({d(m.hidden), 2 * d(m.ffn), 3 * attention, d(m.vocab)});
  bound(c, "batch.micro",
        {fmt::format("micro {} x sequence {} x the model's widest activation {:g}", batch.micro,
                     batch.sequence, widest),
         tokens * widest},
        "values");
  if (c.run.training.attention == AttentionKind::unfused) {
    bound(c, "batch.sequence",
          {fmt::format("micro {} x heads {} x sequence {} squared", batch.micro, m.heads,
                       batch.sequence),
           tokens * d(batch.sequence) * d(m.heads)},
          "attention scores");
  }
  bound(c, "model.layers",
        {fmt::format("layers {} x hidden {} x (3 x ffn {} + 4 x heads {} x head_dim {})", m.layers,
                     m.hidden, m.ffn, m.heads, m.head_dim),
         d(m.layers) * d(m.hidden) * (3 * d(m.ffn) + 4 * attention)},
        "parameters");
}

void validate_cluster(Checking& c) {
  const ClusterSpec& cluster = c.run.cluster;
  const NodeSpec& node = cluster.node;
  if (usable(c, {"cluster.node.gpus", "cluster.node.gpus_used"}) && node.gpus_used > node.gpus) {
    give_up(c, "cluster.node.gpus_used",
            fmt::format("{} of a node's {}", node.gpus_used, counted(node.gpus, "GPU")),
            fmt::format("use at most {}", node.gpus));
  }
  check_link_bandwidth(c, "cluster.node.nvlink",
                       node.nvlink_kind != NvlinkKind::none && node.gpus > 1 &&
                           usable(c, {"cluster.node.nvlink.kind", "cluster.node.gpus"}),
                       node.nvlink);
  check_link_bandwidth(c, "cluster.node.nics",
                       node.nics > 0 && usable(c, {"cluster.node.nics.count"}), node.nic);
  const FabricSpec& fabric = cluster.fabric;
  if (usable(c,
             {"cluster.fabric.family", "cluster.fabric.nodes_per_leaf", "cluster.fabric.tiers"}) &&
      fabric.family != "single_node" && fabric.nodes_per_leaf == 0) {
    give_up(c, "cluster.fabric.nodes_per_leaf", "is missing",
            "write it, or tiers whose first radix gives it");
  }
}

void validate_machine(Checking& c) {
  check_peak(c);
  check_flash(c);
  warn_of_peaks(c);
  check_tp_group(c);
}

}  // namespace shardsim
