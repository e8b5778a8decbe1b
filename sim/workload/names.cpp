// The one spelling of categories and streams, from breakdown keys to dumps.
#include "base/errors.h"
#include "workload/program.h"

namespace shardsim {

std::string_view name(Category category) {
  switch (category) {
    case Category::compute:
      return "compute";
    case Category::recompute:
      return "recompute";
    case Category::optimizer:
      return "optimizer";
    case Category::tp:
      return "tp";
    case Category::sp:
      return "sp";
    case Category::cp:
      return "cp";
    case Category::ep:
      return "ep";
    case Category::pp:
      return "pp";
    case Category::dp:
      return "dp";
    case Category::other:
      return "other";
  }
  SHARDSIM_CHECK(false, "category without a name");
}

std::string_view name(Stream stream) {
  switch (stream) {
    case Stream::compute:
      return "compute";
    case Stream::host:
      return "host";
    case Stream::tp:
      return "tp";
    case Stream::cp:
      return "cp";
    case Stream::ep:
      return "ep";
    case Stream::dp:
      return "dp";
    case Stream::pp_send_forward:
      return "pp_send_forward";
    case Stream::pp_recv_forward:
      return "pp_recv_forward";
    case Stream::pp_send_backward:
      return "pp_send_backward";
    case Stream::pp_recv_backward:
      return "pp_recv_backward";
    case Stream::pp_send_forward_mirrored:
      return "pp_send_forward_mirrored";
    case Stream::pp_recv_forward_mirrored:
      return "pp_recv_forward_mirrored";
    case Stream::pp_send_backward_mirrored:
      return "pp_send_backward_mirrored";
    case Stream::pp_recv_backward_mirrored:
      return "pp_recv_backward_mirrored";
  }
  SHARDSIM_CHECK(false, "stream without a name");
}

}  // namespace shardsim
