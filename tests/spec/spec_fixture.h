// Data of these tests: tests/spec/data as data folder, its run.json as a starting point.
#pragma once

#include <cstdlib>
#include <string>

#include "base/errors.h"
#include "spec/reader.h"

namespace shardsim {

inline std::string data_path() { return std::string(SHARDSIM_TEST_DIR) + "/spec/data"; }
inline void use_test_data() { setenv("SHARDSIM_DATA", data_path().c_str(), 1); }
inline void use_shipped_data() { unsetenv("SHARDSIM_DATA"); }

// run.json with overrides.
inline RunSpec read_base(const Overrides& overrides = {}) {
  use_test_data();
  return read_run(data_path() + "/run.json", overrides);
}

// A whole run file as text, called run.json in messages.
inline RunSpec read_text(const std::string& text, const Overrides& overrides = {}) {
  use_test_data();
  return read_run_text(text, "run.json", overrides);
}

// The problems as text, one a line, the data folder's path cut away; "" when there are none.
template <class Read>
std::string errors_of(Read read) {
  try {
    (void)read();
  } catch (const ConfigError& error) {
    std::string text = error.what();
    const std::string folder = data_path() + "/";
    for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
      text.erase(at, folder.size());
    }
    return text;
  }
  return "";
}

inline std::string base_errors(const Overrides& overrides) {
  return errors_of([&] { return read_base(overrides); });
}
inline std::string text_errors(const std::string& text, const Overrides& overrides = {}) {
  return errors_of([&] { return read_text(text, overrides); });
}

}  // namespace shardsim
