// shardsim compare A.json B.json ... | RUN.json --vary KEY=a,b: runs side by side.
#include <algorithm>
#include <iostream>
#include <iterator>

#include "base/errors.h"
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/read_job.h"
#include "commands/simulate.h"
#include "report/comparison.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

// One run to be made: its name in the result and what it is read from.
struct Candidate {
  std::string name;
  std::string file;
  std::vector<std::string> overrides;
};

// "configs/tp-intra-node.json" -> "tp-intra-node".
std::string stem(const std::string& file) {
  std::string name = file.substr(file.find_last_of('/') + 1);
  const std::string ending = ".json";
  if (name.size() > ending.size() &&
      name.compare(name.size() - ending.size(), ending.size(), ending) == 0) {
    name.erase(name.size() - ending.size());
  }
  return name == "-" ? "stdin" : name;
}

// Runs of the same name get their number: "a", "a #2".
void make_unique(std::vector<Candidate>& candidates) {
  for (std::size_t i = candidates.size(); i-- > 0;) {
    const std::string& name = candidates[i].name;
    const auto before =
        std::count_if(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(i),
                      [&](const Candidate& other) { return other.name == name; });
    if (before > 0) candidates[i].name += " #" + std::to_string(before + 1);
  }
}

// Every combination of the values of all variations, the last one fastest.
std::vector<Candidate> varied(const std::string& file, const std::vector<std::string>& overrides,
                              const std::vector<std::string>& variations) {
  std::vector<Candidate> candidates{{"", file, overrides}};
  for (const std::string& text : variations) {
    const Variation variation = parse_variation(text);
    std::vector<Candidate> more;
    for (const Candidate& candidate : candidates) {
      for (const std::string& value : variation.values) {
        more.push_back(candidate);
        const std::string setting = variation.key + "=" + value;
        more.back().overrides.push_back(setting);
        more.back().name += (candidate.name.empty() ? "" : " ") + setting;
      }
    }
    candidates = std::move(more);
  }
  return candidates;
}

std::vector<Candidate> candidates_of(const std::vector<std::string>& files,
                                     const std::vector<std::string>& overrides,
                                     const std::vector<std::string>& variations) {
  if (!variations.empty() && files.size() != 1) {
    throw ConfigError({{"shardsim compare", "", "--vary takes exactly one RUN",
                        "give one file with --vary, or several without"}});
  }
  if (std::count(files.begin(), files.end(), "-") > 1) {
    throw ConfigError({{"shardsim compare", "", "stdin can be read only once", "name - once"}});
  }
  std::vector<Candidate> candidates;
  if (variations.empty()) {
    for (const std::string& file : files) candidates.push_back({stem(file), file, overrides});
  } else {
    candidates = varied(files.front(), overrides, variations);
  }
  if (candidates.size() < 2) {
    throw ConfigError({{"shardsim compare", "", "one run has nothing to be compared with",
                        "name two files, or one with --vary KEY=a,b"}});
  }
  make_unique(candidates);
  return candidates;
}

// What "-" stands for, read once however many runs come from it.
std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

// All problems of all files at once, each once.
std::vector<RunSpec> read_all(const std::vector<Candidate>& candidates) {
  std::vector<RunSpec> runs;
  std::vector<Problem> problems;
  const bool from_stdin =
      std::any_of(candidates.begin(), candidates.end(),
                  [](const Candidate& candidate) { return candidate.file == "-"; });
  const std::string stdin_text = from_stdin ? read_stdin() : "";
  for (const Candidate& candidate : candidates) {
    try {
      runs.push_back(candidate.file == "-" ? read_job_text(stdin_text, "-", candidate.overrides)
                                           : read_job(candidate.file, candidate.overrides));
    } catch (const ConfigError& error) {
      for (const Problem& problem : error.problems()) {
        if (std::find(problems.begin(), problems.end(), problem) == problems.end()) {
          problems.push_back(problem);
        }
      }
    }
  }
  if (!problems.empty()) throw ConfigError(problems);
  return runs;
}

std::string shown(const Comparison& comparison, OutputFormat format) {
  if (format == OutputFormat::json) return write_json(comparison);
  if (format == OutputFormat::csv) return write_csv(comparison.runs);
  return write_text(comparison);
}

}  // namespace

Outcome compare_command(const Arguments& arguments) {
  CLI::App app{"Simulates two or more runs and reports them side by side.", "shardsim compare"};
  std::vector<std::string> files;
  std::vector<std::string> overrides;
  std::vector<std::string> variations;
  OutputOptions output;
  SimulationArguments simulation;
  std::string convention;
  app.add_option("RUN", files, "run files, - for stdin")->required();
  app.add_option("--vary", variations, "KEY=a,b: one RUN with each of these values")
      ->allow_extra_args(false)
      ->take_all();
  add_set_option(app, overrides);
  add_output_options(app, output);
  add_simulation_options(app, simulation);
  add_flops_option(app, convention);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const std::vector<Candidate> candidates = candidates_of(files, overrides, variations);
  const std::vector<RunSpec> runs = read_all(candidates);
  OutputFile out(output.path);
  std::vector<RunReport> reports = simulate_all(runs, simulation.options());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i].name = candidates[i].name;
    use_convention(reports[i], convention);
  }
  out.commit(shown(make_comparison(std::move(reports)), output.kind()));
  return Outcome::ok;
}

}  // namespace shardsim
