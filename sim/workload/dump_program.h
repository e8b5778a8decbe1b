// A Program as text, one line per item, deterministic: what `shardsim dump program` prints.
//
//   program 0 stage 0 ranks 64 parameters 123 weights 246 B gradients 492 B ...
//     pass 0 F c0 micro batch 0 chunk 0
//   template 0 "F c0" forward operations 5
//     op 3 tp tp all_reduce tp 33554432 B bf16 "attention out" layer 0 deps 2 join compute +10 B
#pragma once

#include <string>

#include "workload/program.h"

namespace shardsim {

[[nodiscard]] std::string_view name(PassKind kind);  // "forward", "step_begin", ...
[[nodiscard]] std::string dump_program(const Program& program);

}  // namespace shardsim
