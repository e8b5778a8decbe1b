// `key.path=value` of the command line, applied to the tree of a file.
//
// The value is JSON when it parses as JSON, else a string. It replaces what stood there; objects
// and list entries on the way are made when they are missing, names are replaced by their files.
#pragma once

#include <string>
#include <vector>

#include "base/errors.h"
#include "spec/format.h"
#include "spec/json_value.h"

namespace shardsim {

// What overrides are called in messages.
inline constexpr const char* kOverrideFile = "--set";

void apply_override(JsonValue& root, Format format, const std::string& text,
                    std::vector<Problem>& problems);

}  // namespace shardsim
