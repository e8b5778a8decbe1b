// The operations of one pass template on ranks of one kind.
#include <algorithm>

#include "base/errors.h"
#include "lowering/job.h"

namespace shardsim {
namespace {

inline constexpr Stream kCollectiveStreams[] = {Stream::tp, Stream::cp, Stream::ep, Stream::dp};

bool is_collective_stream(Stream stream) {
  return std::find(std::begin(kCollectiveStreams), std::end(kCollectiveStreams), stream) !=
         std::end(kCollectiveStreams);
}

// In step-by-step mode a collective ends when its sends and its receives have: whoever joins its
// stream joins the receiving one too.
StreamMask widen(StreamMask join) {
  for (const Stream stream : kCollectiveStreams) {
    if ((join & mask(stream)) != 0) {
      join = static_cast<StreamMask>(join | mask(ring_receive_stream(stream)));
    }
  }
  return join;
}

const Carriage& carriage_of(const LoweringJob& job, const RankKind& kind,
                            std::int32_t communication) {
  const std::int32_t groups = at(job.groups_of_communication, communication);
  const std::int32_t shape = groups < 0 ? 0 : at(kind.shapes, groups);
  return at(at(job.carriages, communication), shape);
}

bool stepped(const LoweringJob& job, const Op& op, const Phase& phase) {
  return job.options.step_by_step && phase.part != Part::scalar && phase.part != Part::pairs &&
         phase.part != Part::forwarded && is_collective_stream(op.stream);
}

SlotKey message_slot(const Communication& communication) {
  const bool sends = communication.primitive == Primitive::send;
  return {.kind = sends ? SlotKey::Kind::send : SlotKey::Kind::recv,
          .stage_offset = sends ? communication.stage_offset : -communication.stage_offset,
          .channel = communication.channel};
}

class TemplateLowering {
 public:
  TemplateLowering(const LoweringJob& job, const RankKind& kind, std::int32_t source)
      : job_(job), kind_(kind), from_(at(job.program.templates, source)) {
    result_.source = source;
    result_.name = from_.name;
    result_.kind = from_.kind;
    result_.ops.reserve(from_.ops.size());
  }

  LoweredTemplate run() {
    for (std::int32_t i = 0; i < count(from_.ops); ++i) {
      const Op& op = at(from_.ops, i);
      source_ = i;
      deps_.clear();
      for (std::int32_t d = 0; d < op.dep_count; ++d) {
        const auto& ends = at(ends_, at(from_.deps, op.first_dep + d));
        deps_.insert(deps_.end(), ends.begin(), ends.end());
      }
      join_ = job_.options.step_by_step ? widen(op.join) : op.join;
      ends_.emplace_back();
      lower_op(op);
    }
    return std::move(result_);
  }

 private:
  void lower_op(const Op& op) {
    switch (op.kind) {
      case OpKind::kernel:
        add_timer(op, at(job_.kernel_seconds, op.kernel));
        return;
      case OpKind::host:
        add_timer(op, job_.host_per_kernel * static_cast<double>(op.launches));
        return;
      case OpKind::communication:
        lower_communication(op);
        return;
    }
    SHARDSIM_CHECK(false, "unknown kind of operation");
  }

  LoweredOp& add(const Op& op) {
    LoweredOp lowered{.stream = op.stream,
                      .category = op.category,
                      .join = join_,
                      .first_dep = count(result_.deps),
                      .dep_count = count(deps_),
                      .source = source_,
                      .label = op.label,
                      .layer = op.layer};
    result_.deps.insert(result_.deps.end(), deps_.begin(), deps_.end());
    result_.ops.push_back(lowered);
    return result_.ops.back();
  }

  [[nodiscard]] std::int32_t last() const { return count(result_.ops) - 1; }

  void add_timer(const Op& op, Seconds duration) {
    if (job_.options.step_by_step && is_collective_stream(op.stream)) {
      join_ = static_cast<StreamMask>(join_ | mask(ring_receive_stream(op.stream)));
    }
    add(op).duration = duration;
    ends_.back() = {last()};
  }

  [[nodiscard]] std::int32_t slot(const SlotKey& key) const {
    const auto found = std::lower_bound(kind_.slots.begin(), kind_.slots.end(), key);
    SHARDSIM_CHECK(found != kind_.slots.end() && *found == key, "a slot was not collected");
    return static_cast<std::int32_t>(found - kind_.slots.begin());
  }

  void lower_communication(const Op& op) {
    const Communication& communication = at(job_.program.communications, op.communication);
    const Carriage& carriage = carriage_of(job_, kind_, op.communication);
    if (carriage.phases.empty()) {
      add_timer(op, Seconds{});
      return;
    }
    const std::int32_t groups = at(job_.groups_of_communication, op.communication);
    for (const Phase& phase : carriage.phases) {
      if (groups >= 0 && stepped(job_, op, phase)) {
        add_steps(op, phase, groups);
      } else {
        const SlotKey key =
            groups < 0
                ? message_slot(communication)
                : SlotKey{.kind = SlotKey::Kind::collective, .groups = groups, .part = phase.part};
        add_flow(op, phase, slot(key));
      }
      // The next phase follows on the stream and waits for nothing else.
      join_ = 0;
      deps_ = ends_.back();
    }
  }

  void add_flow(const Op& op, const Phase& phase, std::int32_t slot_number) {
    if (job_.options.step_by_step && is_collective_stream(op.stream)) {
      join_ = static_cast<StreamMask>(join_ | mask(ring_receive_stream(op.stream)));
    }
    if (deps_ == std::vector<std::int32_t>{last()} && !result_.ops.empty() &&
        result_.ops.back().stream == op.stream && result_.ops.back().source == source_) {
      deps_.clear();  // stream order says it already
    }
    LoweredOp& flow = add(op);
    flow.is_flow = true;
    flow.slot = slot_number;
    flow.duration = phase.latency;
    flow.steps = phase.steps;
    flow.amount = phase.amount;
    flow.message = at(job_.program.communications, op.communication).bytes;
    ends_.back() = {last()};
  }

  // Step s: send a chunk to the next rank and receive one from the one before; the chunk sent is
  // the one received in step s - 1.
  void add_steps(const Op& op, const Phase& phase, std::int32_t groups) {
    const std::int32_t send = slot({SlotKey::Kind::ring_send, groups, phase.part});
    const std::int32_t recv = slot({SlotKey::Kind::ring_recv, groups, phase.part});
    const auto steps = static_cast<std::int32_t>(phase.steps);
    // An operation of no time, so that the first send and the first receive wait for the same.
    join_ = static_cast<StreamMask>(join_ | mask(ring_receive_stream(op.stream)));
    add(op);
    join_ = 0;
    deps_ = {last()};
    for (std::int32_t step = 0; step < steps; ++step) {
      const Phase chunk{.part = phase.part,
                        .amount = phase.amount / phase.steps,
                        .steps = 1,
                        .latency = step == 0 ? phase.latency : Seconds{}};
      add_chunk(op, chunk, send, op.stream);
      const std::int32_t sent = last();
      add_chunk(op, chunk, recv, ring_receive_stream(op.stream));
      deps_ = {last()};
      ends_.back() = {sent, last()};
    }
  }

  void add_chunk(const Op& op, const Phase& chunk, std::int32_t slot_number, Stream stream) {
    LoweredOp& flow = add(op);
    flow.stream = stream;
    flow.is_flow = true;
    flow.slot = slot_number;
    flow.duration = chunk.latency;
    flow.steps = chunk.steps;
    flow.amount = chunk.amount;
    flow.message = at(job_.program.communications, op.communication).bytes;
  }

  const LoweringJob& job_;
  const RankKind& kind_;
  const PassTemplate& from_;
  LoweredTemplate result_;
  std::int32_t source_ = 0;
  StreamMask join_ = 0;
  std::vector<std::int32_t> deps_;
  std::vector<std::vector<std::int32_t>> ends_;  // last lowered operations of each source operation
};

}  // namespace

void collect_slots(const LoweringJob& job, const RankKind& kind, const PassTemplate& from,
                   std::vector<SlotKey>& slots) {
  const auto add = [&](const SlotKey& key) {
    if (std::find(slots.begin(), slots.end(), key) == slots.end()) {
      slots.push_back(key);
    }
  };
  for (const Op& op : from.ops) {
    if (op.kind != OpKind::communication) {
      continue;
    }
    const std::int32_t groups = at(job.groups_of_communication, op.communication);
    for (const Phase& phase : carriage_of(job, kind, op.communication).phases) {
      if (groups < 0) {
        add(message_slot(at(job.program.communications, op.communication)));
      } else if (stepped(job, op, phase)) {
        add({SlotKey::Kind::ring_send, groups, phase.part});
        add({SlotKey::Kind::ring_recv, groups, phase.part});
      } else {
        add({SlotKey::Kind::collective, groups, phase.part});
      }
    }
  }
}

LoweredTemplate lower_template(const LoweringJob& job, const RankKind& kind, std::int32_t source) {
  return TemplateLowering(job, kind, source).run();
}

}  // namespace shardsim
