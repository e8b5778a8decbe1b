#include "workload/boundary.h"

#include "workload/operator_steps.h"
#include "workload/schedule.h"

namespace shardsim {
namespace {

bool gathers_after_receive(const RunSpec& run) {
  return run.training.p2p_scatter_gather && !run.parallel.sp && run.parallel.tp > 1;
}

std::string trigger(Direction direction) {
  return direction == Direction::forward ? "stage boundary forward" : "stage boundary backward";
}

Communication message(const RunSpec& run, Primitive primitive, Boundary boundary) {
  const bool towards_end = (boundary.direction == Direction::forward) != boundary.mirrored;
  const bool sends = primitive == Primitive::send;
  return {.primitive = primitive,
          .stage_offset = towards_end == sends ? 1 : -1,
          .bytes = boundary_bytes(run),
          .dtype = tensor_precision(run.training.precision),
          .trigger = trigger(boundary.direction),
          .channel = boundary.mirrored ? 1 : 0};
}

Stream stream_of(Primitive primitive, Boundary boundary) {
  const bool forward = boundary.direction == Direction::forward;
  if (primitive == Primitive::send) {
    return boundary.mirrored
               ? (forward ? Stream::pp_send_forward_mirrored : Stream::pp_send_backward_mirrored)
               : (forward ? Stream::pp_send_forward : Stream::pp_send_backward);
  }
  return boundary.mirrored
             ? (forward ? Stream::pp_recv_forward_mirrored : Stream::pp_recv_backward_mirrored)
             : (forward ? Stream::pp_recv_forward : Stream::pp_recv_backward);
}

constexpr StreamMask kSends = mask(Stream::pp_send_forward) | mask(Stream::pp_send_backward) |
                              mask(Stream::pp_send_forward_mirrored) |
                              mask(Stream::pp_send_backward_mirrored);

bool splits_backward(const RunSpec& run) {
  return run.parallel.pp > 1 && find_schedule(run.training.schedule).splits_backward;
}

}  // namespace

bool overlaps_boundaries(const RunSpec& run) {
  return run.training.overlap.pp && run.stack.p2p == P2pStyle::overlapped &&
         (run.training.schedule == "interleaved" || splits_backward(run));
}

Bytes boundary_bytes(const RunSpec& run) {
  const bool slice = run.parallel.sp || run.training.p2p_scatter_gather;
  return hidden_bytes(run) / (slice ? run.parallel.tp : 1);
}

void begin_pass(const RunSpec& run, Boundary boundary, bool receives, PassBuilder& pass) {
  const bool blocking = !overlaps_boundaries(run);
  const bool posts_late = blocking && run.parallel.vpp == 1 && !splits_backward(run);
  if (receives) {
    pass.wait(pass.communicate_freely(stream_of(Primitive::recv, boundary), Category::pp,
                                      message(run, Primitive::recv, boundary), {},
                                      posts_late ? mask(Stream::compute) : StreamMask{0}));
  }
  StreamMask join = mask(Stream::host) | layer_streams(run);
  if (blocking && run.parallel.pp > 1) {
    join |= kSends;
  }
  pass.host(Stream::compute, "begin", 0, join);
  if (receives && gathers_after_receive(run)) {
    const Communication gather{.primitive = Primitive::all_gather,
                               .group = axis_set(Axis::tp),
                               .bytes = hidden_bytes(run),
                               .dtype = tensor_precision(run.training.precision),
                               .trigger = trigger(boundary.direction)};
    pass.wait(pass.communicate(Stream::tp, Category::pp, gather));
  }
}

void end_pass(const RunSpec& run, Boundary boundary, bool sends, PassBuilder& pass) {
  if (sends) {
    pass.communicate(stream_of(Primitive::send, boundary), Category::pp,
                     message(run, Primitive::send, boundary));
  }
}

}  // namespace shardsim
