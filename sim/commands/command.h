// What a subcommand is: a line of the table in table.cpp, one file each.
//
// A command reads its arguments (those after its name), writes its result to stdout or -o, messages
// to stderr, and says how it ended. It throws ConfigError for wrong usage and wrong input and never
// ends the process: main alone turns outcomes and exceptions into exit codes.
#pragma once

#include <string>
#include <vector>

namespace shardsim {

enum class Outcome { ok, does_not_fit };  // does_not_fit: valid, reported, but out of memory

using Arguments = std::vector<std::string>;

struct Command {
  std::string name;
  std::string help;  // one sentence
  Outcome (*run)(const Arguments& arguments);
};

[[nodiscard]] const std::vector<Command>& commands();

// Throws ConfigError with the nearest name and the list when there is none of that name.
[[nodiscard]] const Command& find_command(const std::string& name);
[[nodiscard]] std::string usage();    // of the program as a whole
[[nodiscard]] std::string version();  // "shardsim 0.1.0"

[[nodiscard]] Outcome run_command(const Arguments& arguments);
[[nodiscard]] Outcome compare_command(const Arguments& arguments);
[[nodiscard]] Outcome shard_command(const Arguments& arguments);
[[nodiscard]] Outcome memory_command(const Arguments& arguments);
[[nodiscard]] Outcome validate_command(const Arguments& arguments);
[[nodiscard]] Outcome list_command(const Arguments& arguments);
[[nodiscard]] Outcome schema_command(const Arguments& arguments);
[[nodiscard]] Outcome dump_command(const Arguments& arguments);

}  // namespace shardsim
