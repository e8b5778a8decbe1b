// shardsim memory RUN.json: what one GPU of each stage holds, and what would make it fit.
#include <iostream>
#include <iterator>
#include <optional>

#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/memory_advice.h"
#include "commands/output.h"
#include "commands/read_job.h"
#include "commands/simulate.h"
#include "report/memory_report.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

std::string shown(const MemoryReport& report, OutputFormat format) {
  if (format == OutputFormat::json) return write_json(report);
  if (format == OutputFormat::csv) return write_csv(report);
  return write_text(report);
}

// Reads a run any number of times; standard input gives its text only once.
class Source {
 public:
  Source(const std::string& file, const Overrides& overrides) : file_(file), overrides_(overrides) {
    if (file == "-") {
      text_.emplace(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
    }
  }
  [[nodiscard]] RunSpec read(const Overrides& more) const {
    Overrides all = overrides_;
    all.insert(all.end(), more.begin(), more.end());
    return text_ ? read_job_text(*text_, file_, all) : read_job(file_, all);
  }

 private:
  std::string file_;
  Overrides overrides_;
  std::optional<std::string> text_;
};

}  // namespace

Outcome memory_command(const Arguments& arguments) {
  CLI::App app{"Shows what one GPU of each pipeline stage holds, and what would make it fit.",
               "shardsim memory"};
  std::string file;
  std::vector<std::string> overrides;
  OutputOptions output;
  app.add_option("RUN", file, "run file, - for stdin")->required();
  add_set_option(app, overrides);
  add_output_options(app, output);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  const Source source(file, overrides);
  const RunSpec run = source.read({});
  const OutputFile out(output.path);
  MemoryReport report = make_memory_report(run, program_of(run));
  if (!report.use.fits) {
    report.changes = advise(run, [&source](const Overrides& more) { return source.read(more); });
  }
  out.commit(shown(report, output.kind()));
  return report.use.fits ? Outcome::ok : Outcome::does_not_fit;
}

}  // namespace shardsim
