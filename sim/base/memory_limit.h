// What one simulation may take of this computer's memory; jobs that need more are refused.
#pragma once

namespace shardsim {

inline constexpr double kGiB = 1024.0 * 1024 * 1024;
inline constexpr double kMostMemory = 8 * kGiB;  // bytes; assumed: what any workstation has

}  // namespace shardsim
