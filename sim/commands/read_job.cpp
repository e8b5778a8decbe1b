#include "commands/read_job.h"

#include "lowering/lowering.h"
#include "platform/fabric.h"
#include "workload/pass_order.h"

namespace shardsim {
namespace {

const RunRules& rules() {
  static const RunRules table{
      {{"parallel", "batch", "training.schedule"}, schedule_problems},
      {{"gpus", "nodes", "cluster.node", "cluster.fabric"}, cluster_problems},
      {{"gpus", "nodes", "cluster.node", "cluster.fabric"}, perturbation_problems},
      {{"collectives"}, collective_problems},
  };
  return table;
}

}  // namespace

RunSpec read_job(const std::string& source, const Overrides& overrides) {
  return read_run(source, overrides, rules());
}

RunSpec read_job_text(std::string_view text, const std::string& file, const Overrides& overrides) {
  return read_run_text(text, file, overrides, rules());
}

MeasuredFile read_measured_jobs(const std::string& file) {
  return read_measured_runs(file, rules());
}

}  // namespace shardsim
