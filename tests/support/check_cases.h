// RapidCheck with a number of cases of our own: shrinks a failure and prints the seed that repeats
// it (RC_PARAMS="seed=...").
#pragma once

#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <iostream>
#include <string>
#include <utility>

namespace shardsim::test {

template <class Testable>
[[nodiscard]] bool check_cases(const std::string& description, int cases, Testable&& testable) {
  rc::detail::TestMetadata metadata;
  metadata.id = description;
  metadata.description = description;
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  params.maxSuccess = cases;
  const auto result = rc::detail::checkTestable(std::forward<Testable>(testable), metadata, params);
  std::cout << description << ": seed=" << params.seed << "\n";
  rc::detail::printResultMessage(result, std::cout);
  std::cout << std::endl;
  return result.template is<rc::detail::SuccessResult>();
}

}  // namespace shardsim::test
