// Reading the arguments of a command: the options that most commands share, and CLI11's complaints
// turned into ConfigError.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "commands/command.h"

namespace shardsim {

enum class OutputFormat { text, json, csv, markdown };

struct OutputOptions {
  std::string format = "text";
  std::string path = "-";  // "-" = stdout
  [[nodiscard]] OutputFormat kind() const;
};

// --format, of the formats given, and -o.
void add_output_options(CLI::App& app, OutputOptions& options,
                        const std::vector<std::string>& formats = {"text", "json", "csv"});
// --set KEY=VALUE, any number of times; one value each, so that positionals may follow.
void add_set_option(CLI::App& app, std::vector<std::string>& overrides);

// False when help was asked for (and printed to stdout): the command has nothing more to do.
// Throws ConfigError for arguments that do not fit.
[[nodiscard]] bool parse_arguments(CLI::App& app, const Arguments& arguments);

// "KEY=a,b" -> key and values, split at commas outside brackets and quotes.
// Throws ConfigError when there is no '=' or no value.
struct Variation {
  std::string key;
  std::vector<std::string> values;
};
[[nodiscard]] Variation parse_variation(const std::string& text);

}  // namespace shardsim
