// Reads input files: JSON -> typed, checked values. The front of spec/.
//
// A source is a path, or "-" for standard input. The names of models, clusters, GPUs and stacks
// are files of the data folder ($SHARDSIM_DATA, else where the program was built); a path is
// relative to the file that has it. First names are replaced by what they name, then overrides
// `key.path=value` apply in order, then everything is checked.
// Errors: one ConfigError with every problem; an override's problems have `--set` as file.
//
//   RunSpec run = read_run("configs/llama3-70b-dgx-h100.json", {"parallel.tp=4", "gpus=128"});
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spec/format.h"
#include "spec/measured_run.h"
#include "spec/run_rule.h"
#include "spec/run_spec.h"

namespace shardsim {

using Overrides = std::vector<std::string>;  // "key.path=value", in order

[[nodiscard]] RunSpec read_run(const std::string& source, const Overrides& overrides = {},
                               const RunRules& rules = {});
// The same of a text; `file` is what messages call it and paths are relative to.
[[nodiscard]] RunSpec read_run_text(std::string_view text, const std::string& file,
                                    const Overrides& overrides = {}, const RunRules& rules = {});
// By name or path; keys of overrides are the cluster's own ("node.nics.count=4").
[[nodiscard]] ClusterSpec read_cluster(const std::string& name_or_path,
                                       const Overrides& overrides = {});
[[nodiscard]] ModelSpec read_model(const std::string& name_or_path);
// Published measurements. ConfigError when the file or a record is malformed; a record whose config
// cannot be run is among MeasuredFile::refused.
[[nodiscard]] MeasuredFile read_measured_runs(const std::string& file, const RunRules& rules = {});

// Names of the data folder's files of a format, sorted; none for Format::run. Throws ConfigError
// when the data folder has none.
[[nodiscard]] std::vector<std::string> names_of(Format format);

// JSON Schema (draft 7) of a format.
[[nodiscard]] std::string schema_text(Format format);

}  // namespace shardsim
