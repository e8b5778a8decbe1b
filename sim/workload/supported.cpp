#include "workload/supported.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

class Refusals {
 public:
  explicit Refusals(const RunSpec& run) : file_(run.file) {}
  void when(bool condition, const char* pointer, const std::string& what,
            const std::string& right) {
    if (condition) {
      problems_.push_back({file_, pointer, what + " is not implemented yet", right});
    }
  }
  [[nodiscard]] std::vector<Problem> take() { return std::move(problems_); }

 private:
  std::string file_;
  std::vector<Problem> problems_;
};

void refuse_model(const RunSpec& run, Refusals& refuse) {
  refuse.when(run.model.mtp_layers > 0, "/model/mtp_layers", "multi-token prediction", "use 0");
}

void refuse_training(const RunSpec& run, Refusals& refuse) {
  const TrainingSpec& t = run.training;
  refuse.when(t.overlap.tp && run.parallel.tp > 1, "/training/overlap/tp",
              "tensor-parallel communication in chunks beside GEMMs", "use false");
  const bool other_modules =
      std::any_of(t.recompute_modules.begin(), t.recompute_modules.end(),
                  [](RecomputeModule module) { return module != RecomputeModule::core_attn; });
  refuse.when(t.recompute == Recompute::selective && other_modules, "/training/recompute_modules",
              "selective recomputation of anything but core_attn", "use [\"core_attn\"]");
  const auto& known = schedules();
  const auto found = std::find_if(known.begin(), known.end(), [&](const Schedule& schedule) {
    return schedule.name == t.schedule;
  });
  std::vector<std::string> names;
  names.reserve(known.size());
  for (const Schedule& schedule : known) {
    names.push_back(schedule.name);
  }
  refuse.when(run.parallel.pp > 1 && found == known.end(), "/training/schedule",
              "schedule " + t.schedule, "use " + join(names, ", "));
}

}  // namespace

std::vector<Problem> unsupported(const RunSpec& run) {
  Refusals refuse(run);
  refuse_model(run, refuse);
  refuse_training(run, refuse);
  return refuse.take();
}

}  // namespace shardsim
