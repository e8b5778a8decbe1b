// shardsim dump STAGE RUN.json: one stage of the simulation as text, one line per item.
#include "base/errors.h"
#include "base/text.h"
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/read_job.h"
#include "commands/simulate.h"
#include "lowering/lowering.h"
#include "replay/replay.h"
#include "trace/dump_trace.h"
#include "workload/dump_program.h"

namespace shardsim {

namespace {

struct Stage {
  std::string name;
  std::string (*dump)(const RunSpec& run);
};

const std::vector<Stage>& stages() {
  static const std::vector<Stage> table{
      {"program", [](const RunSpec& run) { return dump_program(program_of(run)); }},
      {"fabric", [](const RunSpec& run) { return dump_fabric(make_fabric(run)); }},
      {"lowered",
       [](const RunSpec& run) {
         const Fabric fabric = make_fabric(run);
         return dump_lowered(lower_run(run, program_of(run), fabric, make_node_map(run)));
       }},
      {"folded", [](const RunSpec& run) { return dump_folded(prepare(run, {}).folded); }},
      {"trace",
       [](const RunSpec& run) {
         const Prepared prepared = prepare(run, {});
         return dump_trace(replay(prepared.folded, &prepared.fabric));
       }},
  };
  return table;
}

const Stage& find_stage(const std::string& name) {
  std::vector<std::string> names;
  for (const Stage& stage : stages()) {
    if (stage.name == name) return stage;
    names.push_back(stage.name);
  }
  const std::string near = nearest_name(name, names);
  throw ConfigError(
      {{"shardsim dump", "", "unknown stage \"" + name + "\"",
        (near.empty() ? "" : "did you mean " + near + "? ") + "stages are " + join(names, ", ")}});
}

}  // namespace

Outcome dump_command(const Arguments& arguments) {
  CLI::App app{"Prints one stage of the simulation as text, one line per item.", "shardsim dump"};
  std::string stage;
  std::string file;
  std::vector<std::string> overrides;
  std::string path = "-";
  app.add_option("STAGE", stage, "program, fabric, lowered, folded or trace")->required();
  app.add_option("RUN", file, "run file, - for stdin")->required();
  app.add_option("-o,--output", path, "file to write, - for stdout");
  add_set_option(app, overrides);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const Stage& chosen = find_stage(stage);
  const RunSpec run = read_job(file, overrides);
  const OutputFile out(path);
  out.commit(chosen.dump(run));
  return Outcome::ok;
}

}  // namespace shardsim
