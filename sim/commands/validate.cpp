// shardsim validate FILE|DIR...: measured runs, predicted and compared.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "commands/arguments.h"
#include "commands/command.h"
#include "commands/options.h"
#include "commands/output.h"
#include "commands/predict_measured.h"
#include "commands/read_job.h"
#include "commands/worker_pool.h"
#include "report/writers/writers.h"

namespace shardsim {

namespace {

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  namespace fs = std::filesystem;
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
      files.push_back(path);
      continue;
    }
    const std::size_t before = files.size();
    for (const auto& entry : fs::directory_iterator(path, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
    std::sort(files.begin() + static_cast<std::ptrdiff_t>(before), files.end());
    if (files.size() == before) {
      throw ConfigError({{path, "", "holds no measured-run files (.json)",
                          "name a folder that does, or the files"}});
    }
  }
  return files;
}

struct Work {
  std::vector<MeasuredTask> tasks;
  std::vector<UnscoredRecord> unscored;
};

// Without the record's number, so that records refused for one reason count together.
std::string why_refused(const RefusedRun& refused) {
  const Problem& first = refused.problems.front();
  const std::size_t config = first.pointer.find("/config");
  const std::string where = config == std::string::npos ? first.file : first.pointer.substr(config);
  std::string why = where + ": " + first.what + (first.right.empty() ? "" : "; " + first.right);
  if (refused.problems.size() > 1) {
    why += " (and " + std::to_string(refused.problems.size() - 1) + " more)";
  }
  return why;
}

void take_file(const std::string& path, Work& work) {
  MeasuredFile file = read_measured_jobs(path);
  for (RefusedRun& refused : file.refused) {
    work.unscored.push_back({refused.id, file.source, why_refused(refused)});
  }
  for (MeasuredRun& record : file.runs) {
    const std::string& convention = record.measured.flops_convention;
    if (!convention.empty() && find_flops_convention(convention) == nullptr) {
      throw ConfigError({{path, "/" + record.id + "/measured/flops_convention",
                          "no convention is called \"" + convention + "\"",
                          "use a name of shardsim list flops-conventions, or null"}});
    }
    work.tasks.push_back({file.source, std::move(record)});
  }
}

// Problems of all files at once.
Work read_work(const std::vector<std::string>& files) {
  Work work;
  std::vector<Problem> problems;
  for (const std::string& file : files) {
    try {
      take_file(file, work);
    } catch (const ConfigError& error) {
      problems.insert(problems.end(), error.problems().begin(), error.problems().end());
    }
  }
  if (!problems.empty()) throw ConfigError(problems);
  return work;
}

Validation validate(Work work, const SimulateOptions& options) {
  const bool told = ::isatty(STDERR_FILENO) == 1;
  const std::string all = std::to_string(work.tasks.size());
  const std::vector<JobResult> results = run_in_workers(
      work.tasks.size(), [&](std::size_t job) { return predict(work.tasks[job], options); },
      [&](std::size_t done) {
        if (told) write_stderr("\r" + std::to_string(done) + " of " + all + " runs ");
      });
  if (told) write_stderr("\r\n");
  std::vector<TimeRecord> times;
  std::vector<MemoryRecord> memory;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const MeasuredTask& task = work.tasks[i];
    if (!results[i].ok) {
      work.unscored.push_back({task.record.id, task.source, results[i].text});
      continue;
    }
    if (!add_records(task, results[i].text, times, memory)) {
      work.unscored.push_back({task.record.id, task.source, "it states nothing to compare with"});
    }
  }
  return make_validation(std::move(times), std::move(memory), std::move(work.unscored));
}

std::string shown(const Validation& validation, OutputFormat format, bool with_records) {
  if (format == OutputFormat::json) return write_json(validation);
  if (format == OutputFormat::csv) return write_csv(validation);
  if (format == OutputFormat::markdown) return write_markdown(validation);
  return write_text(validation, with_records);
}

// A refused record is told even where the result goes to a file.
void tell_unscored(const Validation& validation) {
  std::map<std::string, std::size_t> reasons;
  for (const UnscoredRecord& record : validation.unscored) ++reasons[record.why];
  for (const auto& [why, times] : reasons) {
    write_stderr("note: " + std::to_string(times) + " not scored: " + why + "\n");
  }
}

}  // namespace

Outcome validate_command(const Arguments& arguments) {
  CLI::App app{"Predicts measured runs and reports the errors.", "shardsim validate"};
  std::vector<std::string> paths;
  OutputOptions output;
  SimulationArguments simulation;
  bool with_records = false;
  app.add_option("FILE", paths, "measured-run files, or folders of them")->required();
  app.add_flag("--records", with_records, "text: show every record");
  add_output_options(app, output, {"text", "json", "csv", "markdown"});
  add_simulation_options(app, simulation);
  if (!parse_arguments(app, arguments)) return Outcome::ok;

  Work work = read_work(files_of(paths));
  const OutputFile out(output.path);
  const Validation validation = validate(std::move(work), simulation.options());
  tell_unscored(validation);
  if (validation.records.empty() && validation.memory.empty()) {
    throw ConfigError(
        {{paths.front(), "", "no record can be scored", "see the notes above, one per reason"}});
  }
  out.commit(shown(validation, output.kind(), with_records));
  return Outcome::ok;
}

}  // namespace shardsim
