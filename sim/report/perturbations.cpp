#include "report/perturbations.h"

#include <fmt/format.h>

#include <vector>

#include "base/errors.h"
#include "base/text.h"

namespace shardsim {

std::string perturbation_text(const Perturbation& perturbation) {
  const std::int64_t index = perturbation.index;
  const double factor = perturbation.factor;
  const std::string bandwidth =
      perturbation.dead ? " dead" : fmt::format(" at {} of its bandwidth", factor);
  switch (perturbation.kind) {
    case Perturbation::Kind::gpu:
      return fmt::format("GPU {} at {} of its speed", index, factor);
    case Perturbation::Kind::node:
      return fmt::format("node {} at {} of its speed", index, factor);
    case Perturbation::Kind::link:
      return "link " + perturbation.link + bandwidth;
    case Perturbation::Kind::rail:
      return fmt::format("rail {}", index) + bandwidth;
    case Perturbation::Kind::spine:
      return fmt::format("spine {}", index) + bandwidth;
    case Perturbation::Kind::jitter:
      return fmt::format("jitter {} with seed {}", factor, perturbation.seed);
  }
  SHARDSIM_CHECK(false, "unknown perturbation");
}

std::string perturbations_text(const RunSpec& run) {
  std::vector<std::string> words;
  for (const Perturbation& one : run.perturbations) words.push_back(perturbation_text(one));
  return join(words, "; ");
}

}  // namespace shardsim
