// The options that choose how a run is simulated: --fold, --coalesce, --check.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "analysis/rates.h"
#include "base/text.h"
#include "commands/simulate.h"
#include "sharding/parameters.h"

namespace shardsim {

struct SimulationArguments {
  std::string fold = "auto";
  std::string coalesce = "auto";
  bool check = false;
  [[nodiscard]] SimulateOptions options() const {
    return {.fold = fold == "off" ? FoldMode::off : FoldMode::automatic,
            .coalesce = coalesce == "off" ? CoalesceMode::off : CoalesceMode::automatic,
            .check = check};
  }
};

inline void add_simulation_options(CLI::App& app, SimulationArguments& arguments) {
  app.add_option("--fold", arguments.fold, "replay classes of equal ranks: auto or off")
      ->check(CLI::IsMember({"auto", "off"}));
  app.add_option("--coalesce", arguments.coalesce, "merge chains of fixed length: auto or off")
      ->check(CLI::IsMember({"auto", "off"}));
  app.add_flag("--check", arguments.check, "check the value of every stage");
}

// --flops-convention: what MFU, HFU and TFLOP/s count (shardsim list flops-conventions).
inline void add_flops_option(CLI::App& app, std::string& convention) {
  std::vector<std::string> names;
  for (const FlopsConvention& one : flops_conventions()) names.push_back(one.name);
  app.add_option("--flops-convention", convention,
                 "what MFU, HFU and TFLOP/s count: " + join(names, ", "))
      ->check(CLI::IsMember(names));
}

// Empty: the default one, by which reports are made.
inline void use_convention(RunReport& report, const std::string& convention) {
  for (const FlopsConvention& one : flops_conventions()) {
    if (one.name == convention) {
      report.analysis.rates = rates(report.run, report.analysis.step_s, one);
    }
  }
}

}  // namespace shardsim
