#include "analysis/layer_time.h"

#include "support/catch.h"
#include "support/toy_trace.h"

using namespace shardsim;

namespace {

// A pass of three layers: 1 s embedding before, then 2 s, 3 s and 4 s; a 10 s gradient reduction of
// the middle layer runs beside it.
std::int32_t add_layers(Trace& trace, PassKind kind) {
  const std::int32_t pass = add_template(trace, "layers",
                                         {{Stream::compute, Category::compute, 1},
                                          {Stream::compute, Category::compute, 2},
                                          {Stream::compute, Category::compute, 3},
                                          {Stream::dp, Category::dp, 10, {2}},
                                          {Stream::compute, Category::compute, 4}});
  TraceTemplate& operations = at(trace.templates, pass);
  operations.kind = kind;
  const std::int32_t layers[] = {-1, 0, 1, 1, 2};
  for (std::int32_t i = 0; i < 5; ++i) at(operations.ops, i).layer = layers[i];
  return pass;
}

}  // namespace

TEST_CASE("layer time: the middle layer's span, without its gradient reduction") {
  Trace trace;
  const std::int32_t forward = add_layers(trace, PassKind::forward);
  const std::int32_t backward = add_layers(trace, PassKind::backward);
  add_rank(trace, add_program(trace, 0, {forward, backward}, 0), {});
  execute(trace);
  const LayerTime time = layer_time(trace);
  CHECK(time.forward_s == Approx(3));
  CHECK(time.backward_s == Approx(3));
}

TEST_CASE("layer time: weight gradients in a pass of their own count with backward") {
  Trace trace;
  const std::int32_t forward = add_layers(trace, PassKind::forward);
  const std::int32_t backward = add_layers(trace, PassKind::backward);
  const std::int32_t weight = add_layers(trace, PassKind::weight);
  add_rank(trace, add_program(trace, 0, {forward, backward, weight}, 0), {});
  execute(trace);
  CHECK(layer_time(trace).backward_s == Approx(6));
}
