// shardsim run RUN.json: one training step, reported.
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/read_job.h"
#include "commands/simulate.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

std::string shown(const RunReport& report, OutputFormat format) {
  if (format == OutputFormat::json) return write_json(report);
  if (format == OutputFormat::csv) return write_csv(std::vector<RunReport>{report});
  return write_text(report);
}

}  // namespace

Outcome run_command(const Arguments& arguments) {
  CLI::App app{"Simulates one training step and reports it.", "shardsim run"};
  std::string file;
  std::vector<std::string> overrides;
  OutputOptions output;
  SimulationArguments simulation;
  std::string convention;
  app.add_option("RUN", file, "run file, - for stdin")->required();
  add_set_option(app, overrides);
  add_output_options(app, output);
  add_simulation_options(app, simulation);
  add_flops_option(app, convention);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const RunSpec run = read_job(file, overrides);
  OutputFile out(output.path);
  RunReport report = simulate(run, simulation.options());
  use_convention(report, convention);
  out.commit(shown(report, output.kind()));
  return report.analysis.memory.fits ? Outcome::ok : Outcome::does_not_fit;
}

}  // namespace shardsim
