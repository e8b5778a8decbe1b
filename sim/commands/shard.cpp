// shardsim shard RUN.json: the matrix view, axes by tensors and the primitives that follow.
#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/output.h"
#include "commands/read_job.h"
#include "commands/simulate.h"
#include "report/shard_report.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

std::string shown(const ShardReport& report, OutputFormat format) {
  switch (format) {
    case OutputFormat::json:
      return write_json(report);
    case OutputFormat::csv:
      return write_csv(report);
    case OutputFormat::markdown:
      return write_markdown(report);
    case OutputFormat::text:
      break;
  }
  return write_text(report);
}

}  // namespace

Outcome shard_command(const Arguments& arguments) {
  CLI::App app{"Shows what each axis cuts of each weight and activation, and what is communicated.",
               "shardsim shard"};
  std::string file;
  std::vector<std::string> overrides;
  OutputOptions output;
  app.add_option("RUN", file, "run file, - for stdin")->required();
  add_set_option(app, overrides);
  add_output_options(app, output, {"text", "markdown", "json", "csv"});
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const RunSpec run = read_job(file, overrides);
  const OutputFile out(output.path);
  out.commit(shown(make_shard_report(run, program_of(run)), output.kind()));
  return Outcome::ok;
}

}  // namespace shardsim
