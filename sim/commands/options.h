// The options that choose how a run is simulated: --fold, --coalesce, --check.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "commands/simulate.h"

namespace shardsim {

struct SimulationArguments {
  std::string fold = "auto";
  std::string coalesce = "off";
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

}  // namespace shardsim
