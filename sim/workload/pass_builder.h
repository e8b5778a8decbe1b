// Writes the operations of one pass template: streams, dependencies, memory, shared tables.
//
// Operations are appended in enqueue order. Compute operations follow each other on the compute
// stream by themselves; `wait` makes the next compute operation depend on something of another
// stream. Invariant: deps name earlier operations of the same template.
//   PassBuilder pass(tables, "F 2 layers", PassKind::forward);
//   pass.kernel("qkv", shape, Category::compute);
//   pass.wait(pass.communicate(Stream::tp, Category::tp, all_reduce));   // next kernel waits
//   tables.program.templates.push_back(pass.finish());
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workload/program.h"

namespace shardsim {

// Interns labels, kernel shapes and communications of a program under construction.
class ProgramTables {
 public:
  Program program;
  [[nodiscard]] std::int32_t label(const std::string& text);
  [[nodiscard]] std::int32_t kernel(const KernelShape& shape);
  [[nodiscard]] std::int32_t communication(const Communication& communication);

 private:
  std::map<std::string, std::int32_t> labels_;
};

class PassBuilder {
 public:
  PassBuilder(ProgramTables& tables, std::string name, PassKind kind);

  std::int32_t kernel(const std::string& label, const KernelShape& shape, Category category);
  // Starts when the last compute operation, what the next one waits for and `deps` have ended.
  std::int32_t communicate(Stream stream, Category category, const Communication& communication,
                           const std::vector<std::int32_t>& deps = {}, StreamMask join = 0);
  // Starts when its stream is free and `deps` and `join` allow it, whatever compute does.
  std::int32_t communicate_freely(Stream stream, Category category,
                                  const Communication& communication,
                                  const std::vector<std::int32_t>& deps = {}, StreamMask join = 0);
  // A timer of `launches` kernel launches; on the compute stream, with none, a mere meeting point.
  std::int32_t host(Stream stream, const std::string& label, std::int32_t launches,
                    StreamMask join);

  void wait(std::int32_t op);  // the next compute operation depends on it
  void set_layer(std::int32_t layer) { layer_ = layer; }
  // Memory of the tensors called `what`: taken when op starts, given back when op ends.
  void take(Bytes bytes, std::int32_t op, const std::string& what = "activations");
  void give(Bytes bytes, std::int32_t op, const std::string& what = "activations");
  [[nodiscard]] std::int32_t last_compute() const { return last_compute_; }  // -1: none yet
  [[nodiscard]] std::int32_t next_op() const;
  [[nodiscard]] PassTemplate finish();

 private:
  std::int32_t append(Op op, const std::string& label, std::vector<std::int32_t> deps);

  ProgramTables& tables_;
  PassTemplate template_;
  std::vector<std::int32_t> waits_;
  std::int32_t last_compute_ = -1;
  std::int32_t layer_ = -1;
};

}  // namespace shardsim
