#include "base/errors.h"
#include "base/text.h"
#include "commands/command.h"

namespace shardsim {

const std::vector<Command>& commands() {
  static const std::vector<Command> table{
      {"run", "simulate one training step and report it", run_command},
      {"compare", "simulate two or more runs and report them side by side", compare_command},
      {"shard", "show what each axis cuts and which primitives follow", shard_command},
      {"memory", "show what each stage holds and what would make it fit", memory_command},
      {"validate", "hold predictions against measured runs", validate_command},
      {"list", "list models, clusters, GPUs, schedules, algorithms and other names", list_command},
      {"schema", "print the JSON Schema of a run, model, cluster, gpu, stack or measured file",
       schema_command},
      {"dump", "print one stage of the simulation as text, one line per item", dump_command},
  };
  return table;
}

const Command& find_command(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const std::string near = nearest_name(name, names);
  throw ConfigError({{"shardsim", "", "unknown command \"" + name + "\"",
                      (near.empty() ? "" : "did you mean " + near + "? ") + "commands are " +
                          join(names, ", ")}});
}

std::string usage() {
  std::string text =
      "shardsim predicts how long one training step of a transformer takes on a GPU\n"
      "cluster, whether it fits in memory, and why it is as slow as it is.\n\n"
      "usage: shardsim COMMAND [ARGUMENTS]\n\n";
  for (const Command& command : commands()) {
    text += "  " + command.name + std::string(10 - command.name.size(), ' ') + command.help + "\n";
  }
  return text +
         "\n  shardsim COMMAND --help   the arguments of a command\n"
         "  shardsim --version\n\n"
         "exit codes: 0 done, 1 a fault of shardsim, 2 wrong usage or input, 3 the run\n"
         "does not fit in memory (its report is printed all the same)\n";
}

std::string version() { return "shardsim " SHARDSIM_VERSION; }

}  // namespace shardsim
