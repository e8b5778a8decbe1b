// What the files derive.cpp, validate_*.cpp and unsupported.cpp share: the job as read so far, the
// tree it was read from, and how to say where something is wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "spec/json_value.h"
#include "spec/key_reader.h"
#include "spec/run_spec.h"

namespace shardsim {

struct Checking {
  RunSpec& run;
  const JsonValue& root;
  ReadLog& log;
};

// Whether all these keys were read without a problem: only then is a rule over them worth checking.
[[nodiscard]] bool usable(const Checking& c, std::initializer_list<std::string_view> keys);
// The value that the user or the stack wrote for a key, nullptr when a default holds.
[[nodiscard]] const JsonValue* stated(const Checking& c, std::string_view key);
// Whether the user himself wrote it: a stack may state what has no effect on this job.
[[nodiscard]] bool stated_in_run(const Checking& c, std::string_view key);
// Adds a problem where the key is written, or would be.
void complain(Checking& c, std::string_view key, std::string what, std::string right);
// The same, and rules over the key are not checked any more.
void give_up(Checking& c, std::string_view key, std::string what, std::string right);
void warn(Checking& c, std::string text);

[[nodiscard]] std::vector<std::int64_t> divisors(std::int64_t value);
// "1, 2, 4 or 8": at most twelve of the ascending values, those next to `wanted`.
[[nodiscard]] std::string list_near(const std::vector<std::int64_t>& values, std::int64_t wanted);
// "252 or 264": the multiples of `unit` next to `wanted`, at least `least` (itself a multiple).
[[nodiscard]] std::string multiples_near(std::int64_t wanted, std::int64_t unit,
                                         std::int64_t least);

// Distance in rank numbers between neighbours along an axis.
[[nodiscard]] std::int64_t axis_stride(const ParallelSpec& parallel, Axis axis);
// Whether `ranks` CP ranks can take equal shares of the query and KV heads of a TP rank.
[[nodiscard]] bool shares_heads(const RunSpec& run, std::int64_t ranks);

// The passes over a job that has been read, in this order; each appends to c.log.problems.
void derive(Checking& c);             // gpus, nodes, dp, micro_batches and defaults that follow
void validate_parallel(Checking& c);  // tp, sp, zero, and what they cut
void validate_context(Checking& c);   // cp, and how its ranks exchange keys and values
void validate_moe(Checking& c);       // experts: their grid, what ep and etp cut
void read_expert_loads(Checking& c);  // the file of moe.load_file; REQUIRES model.moe
void validate_pipeline(Checking& c);  // pp, vpp, layers, schedule
void validate_sizes(Checking& c);     // products stay within exact arithmetic
void validate_work(Checking& c);      // the simulation fits in this computer's memory
void validate_cluster(Checking& c);   // the cluster by itself
void validate_machine(Checking& c);   // the job on the cluster
void validate_perturbations(Checking& c);
void refuse_unsupported(Checking& c, std::string_view prefix);  // keys that begin with prefix

}  // namespace shardsim
