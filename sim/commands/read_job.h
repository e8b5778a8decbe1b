// Reads a run for simulation: the reader's rules and those of the layers above it, every problem at
// once.
//
//   RunSpec run = read_job("configs/llama3-70b-dgx-h100.json", {"cluster.node.nics.count=9"});
//   // ConfigError: --set:/cluster/node/nics/count: 9 NICs for 8 GPUs: each GPU uses one NIC; ...
#pragma once

#include <string>
#include <string_view>

#include "spec/reader.h"

namespace shardsim {

[[nodiscard]] RunSpec read_job(const std::string& source, const Overrides& overrides);
[[nodiscard]] RunSpec read_job_text(std::string_view text, const std::string& file,
                                    const Overrides& overrides);
[[nodiscard]] MeasuredFile read_measured_jobs(const std::string& file);

}  // namespace shardsim
