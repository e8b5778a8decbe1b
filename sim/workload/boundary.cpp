#include "workload/boundary.h"

#include "workload/operator_steps.h"

namespace shardsim {
namespace {

bool gathers_after_receive(const RunSpec& run) {
  return run.training.p2p_scatter_gather && !run.parallel.sp && run.parallel.tp > 1;
}

std::string trigger(Direction direction) {
  return direction == Direction::forward ? "stage boundary forward" : "stage boundary backward";
}

Communication message(const RunSpec& run, Primitive primitive, Direction direction) {
  const bool towards_end = direction == Direction::forward;
  const bool sends = primitive == Primitive::send;
  return {.primitive = primitive,
          .stage_offset = towards_end == sends ? 1 : -1,
          .bytes = boundary_bytes(run),
          .dtype = run.training.precision,
          .trigger = trigger(direction)};
}

}  // namespace

bool overlaps_boundaries(const RunSpec& run) {
  return run.training.overlap.pp && run.stack.p2p == P2pStyle::overlapped &&
         run.training.schedule == "interleaved";
}

Bytes boundary_bytes(const RunSpec& run) {
  const bool slice = run.parallel.sp || run.training.p2p_scatter_gather;
  return hidden_bytes(run) / (slice ? run.parallel.tp : 1);
}

void begin_pass(const RunSpec& run, Direction direction, bool receives, PassBuilder& pass) {
  const bool blocking = !overlaps_boundaries(run);
  const bool posts_late = blocking && run.parallel.vpp == 1;
  if (receives) {
    const Stream stream =
        direction == Direction::forward ? Stream::pp_recv_forward : Stream::pp_recv_backward;
    pass.wait(pass.communicate_freely(stream, Category::pp,
                                      message(run, Primitive::recv, direction), {},
                                      posts_late ? mask(Stream::compute) : StreamMask{0}));
  }
  auto join = static_cast<StreamMask>(mask(Stream::host) | mask(Stream::tp));
  if (blocking && run.parallel.pp > 1) {
    join = static_cast<StreamMask>(join | mask(Stream::pp_send_forward) |
                                   mask(Stream::pp_send_backward));
  }
  pass.host(Stream::compute, "begin", 0, join);
  if (receives && gathers_after_receive(run)) {
    const Communication gather{.primitive = Primitive::all_gather,
                               .group = axis_set(Axis::tp),
                               .bytes = hidden_bytes(run),
                               .dtype = run.training.precision,
                               .trigger = trigger(direction)};
    pass.wait(pass.communicate(Stream::tp, Category::pp, gather));
  }
}

void end_pass(const RunSpec& run, Direction direction, bool sends, PassBuilder& pass) {
  if (sends) {
    const Stream stream =
        direction == Direction::forward ? Stream::pp_send_forward : Stream::pp_send_backward;
    pass.communicate(stream, Category::pp, message(run, Primitive::send, direction));
  }
}

}  // namespace shardsim
