#include "commands/arguments.h"

#include <algorithm>

#include "base/errors.h"
#include "base/text.h"
#include "commands/output.h"

namespace shardsim {

OutputFormat OutputOptions::kind() const {
  if (format == "json") return OutputFormat::json;
  if (format == "csv") return OutputFormat::csv;
  if (format == "markdown") return OutputFormat::markdown;
  SHARDSIM_CHECK(format == "text", "a format that the arguments' check let through");
  return OutputFormat::text;
}

void add_output_options(CLI::App& app, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  const std::vector<std::string> first(formats.begin(), formats.end() - 1);
  app.add_option("--format", options.format, join(first, ", ") + " or " + formats.back())
      ->check(CLI::IsMember(formats));
  app.add_option("-o,--output", options.path, "file to write, - for stdout");
}

void add_set_option(CLI::App& app, std::vector<std::string>& overrides) {
  app.add_option("--set", overrides, "KEY=VALUE: replace a key of the run file, e.g. parallel.tp=4")
      ->allow_extra_args(false)
      ->take_all();
}

namespace {

// What is wrong with words that no option takes, and what would be right.
Problem unexpected(const CLI::App& app) {
  const std::vector<std::string> extras = app.remaining();
  const std::string help = "see " + app.get_name() + " --help";
  for (const std::string& word : extras) {
    if (word.size() < 2 || word[0] != '-') continue;
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    const std::string near = nearest_name(word, names);
    return {app.get_name(), "", "unknown option " + word,
            (near.empty() ? "" : "did you mean " + near + "? ") + help};
  }
  return {app.get_name(), "", "unexpected \"" + (extras.empty() ? "" : extras.front()) + "\"",
          help};
}

}  // namespace

bool parse_arguments(CLI::App& app, const Arguments& arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 takes them
  try {
    app.parse(reversed);
    return true;
  } catch (const CLI::CallForHelp&) {
    write_stdout(app.help());
    return false;
  } catch (const CLI::ExtrasError&) {
    throw ConfigError({unexpected(app)});
  } catch (const CLI::ParseError& error) {
    std::string what = error.what();
    std::replace(what.begin(), what.end(), '\n', ' ');
    throw ConfigError({{app.get_name(), "", what, "see " + app.get_name() + " --help"}});
  }
}

Variation parse_variation(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    throw ConfigError({{"--vary", "", "\"" + text + "\" is not KEY=VALUE,VALUE,...",
                        "for example parallel.tp=4,8"}});
  }
  Variation variation{text.substr(0, equals), {""}};
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = equals + 1; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      variation.values.back() += c;
      variation.values.back() += text[++i];
      continue;
    }
    if (c == '"') quoted = !quoted;
    if (!quoted && (c == '[' || c == '{')) ++depth;
    if (!quoted && (c == ']' || c == '}')) --depth;
    if (c == ',' && !quoted && depth == 0) {
      variation.values.emplace_back();
    } else {
      variation.values.back() += c;
    }
  }
  return variation;
}

}  // namespace shardsim
