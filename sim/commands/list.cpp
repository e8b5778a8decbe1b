// shardsim list [KIND]: the names that run files and options may use. Plug-in folders are listed
// from their own tables, so a new entry is here at once.
#include <fmt/format.h>

#include "base/errors.h"
#include "base/text.h"
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/output.h"
#include "lowering/algorithms/algorithm.h"
#include "platform/fabric.h"
#include "report/listing.h"
#include "report/writers/writers.h"
#include "sharding/parameters.h"
#include "spec/json_value.h"
#include "spec/reader.h"
#include "spec/sources.h"
#include "workload/schedule.h"

namespace shardsim {

namespace {

using Entries = std::vector<ListEntry>;

// Any table of {name, help, ...}.
template <class Table>
Entries entries_of(const Table& table) {
  Entries entries;
  for (const auto& row : table) entries.push_back({row.name, row.help});
  return entries;
}

Entries models() {
  Entries entries;
  for (const std::string& name : names_of(Format::model)) {
    const ModelSpec model = read_model(name);
    entries.push_back(
        {name, fmt::format("{} parameters; {} layers, hidden {}, {} heads, {} KV heads",
                           format_count(count_parameters(model).total), model.layers, model.hidden,
                           model.heads, model.kv_heads)});
  }
  return entries;
}

Entries clusters() {
  Entries entries;
  for (const std::string& name : names_of(Format::cluster)) {
    const ClusterSpec cluster = read_cluster(name);
    const NodeSpec& node = cluster.node;
    std::string help = fmt::format("{} x {} a node", node.gpus, cluster.gpu.name);
    if (node.nvlink_kind != NvlinkKind::none) {
      help += ", NVLink " + format_rate(node.nvlink.bandwidth_per_direction);
    }
    if (node.nics > 0) {
      help += fmt::format(", {} of {}", counted(node.nics, "NIC"),
                          format_rate(node.nic.bandwidth_per_direction));
    }
    entries.push_back({name, help + " per direction"});
  }
  return entries;
}

// Texts of keys in a file of the data folder, as they stand there.
std::vector<std::string> stated(Format format, const std::string& name,
                                const std::vector<std::string>& keys) {
  std::vector<Problem> problems;
  const auto json = load_json(data_folder(format) + name + ".json", problems);
  if (!json) throw ConfigError(problems);
  std::vector<std::string> texts;
  for (const std::string& key : keys) {
    const JsonValue* value = find_path(*json, key);
    texts.push_back(value == nullptr ? "" : value->text);
  }
  return texts;
}

Entries gpus() {
  Entries entries;
  for (const std::string& name : names_of(Format::gpu)) {
    const std::vector<std::string> texts =
        stated(Format::gpu, name, {"memory_capacity", "memory_bandwidth", "peak.bf16"});
    entries.push_back({name, texts[0] + ", " + texts[1] + ", bf16 " + texts[2] + " dense"});
  }
  return entries;
}

Entries stacks() {
  Entries entries;
  for (const std::string& name : names_of(Format::stack)) {
    const std::string source = stated(Format::stack, name, {"source"})[0];
    entries.push_back({name, source.substr(0, source.find(": "))});
  }
  return entries;
}

struct Kind {
  std::string name;
  Entries (*entries)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table{
      {"models", models},
      {"clusters", clusters},
      {"gpus", gpus},
      {"stacks", stacks},
      {"schedules", [] { return entries_of(schedules()); }},
      {"algorithms", [] { return entries_of(collective_algorithms()); }},
      {"topologies", [] { return entries_of(topology_families()); }},
      {"flops-conventions", [] { return entries_of(flops_conventions()); }},
      {"commands", [] { return entries_of(commands()); }},
  };
  return table;
}

std::vector<Listing> listings_of(const std::string& kind) {
  std::vector<Listing> listings;
  std::vector<std::string> names;
  for (const Kind& row : kinds()) {
    names.push_back(row.name);
    if (kind.empty() || kind == row.name) listings.push_back({row.name, row.entries()});
  }
  if (!listings.empty()) return listings;
  const std::string near = nearest_name(kind, names);
  throw ConfigError(
      {{"shardsim list", "", "nothing is called \"" + kind + "\"",
        (near.empty() ? "" : "did you mean " + near + "? ") + "it lists " + join(names, ", ")}});
}

std::string shown(const std::vector<Listing>& listings, OutputFormat format) {
  if (format == OutputFormat::json) return write_json(listings);
  if (format == OutputFormat::csv) return write_csv(listings);
  return write_text(listings);
}

}  // namespace

Outcome list_command(const Arguments& arguments) {
  CLI::App app{"Lists the names that run files and options may use.", "shardsim list"};
  std::string kind;
  OutputOptions output;
  app.add_option("KIND", kind, "models, clusters, gpus, ...; all when left out");
  add_output_options(app, output);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const OutputFile out(output.path);
  out.commit(shown(listings_of(kind), output.kind()));
  return Outcome::ok;
}

}  // namespace shardsim
