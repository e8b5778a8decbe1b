// The six kinds of input file.
#pragma once

#include <cstdint>

namespace shardsim {

enum class Format : std::uint8_t { run, model, cluster, gpu, stack, measured };

}  // namespace shardsim
