#include "spec/precision.h"

#include <string>

#include "base/errors.h"

namespace shardsim {

std::int64_t element_bytes(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return 4;
    case Precision::fp16:
    case Precision::bf16:
      return 2;
    case Precision::fp8:
    case Precision::mxfp8:
      return 1;
    case Precision::nvfp4:
      break;
  }
  SHARDSIM_CHECK(false, "no whole bytes in an element of " + std::string(name(precision)));
  return 0;
}

bool is_low(Precision precision) {
  return precision == Precision::fp8 || precision == Precision::mxfp8 ||
         precision == Precision::nvfp4;
}

Precision tensor_precision(Precision precision) {
  return is_low(precision) ? Precision::bf16 : precision;
}

std::int64_t factor_bytes(Precision precision) {
  return is_low(precision) ? 1 : element_bytes(precision);
}

std::string_view name(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return "fp32";
    case Precision::fp16:
      return "fp16";
    case Precision::bf16:
      return "bf16";
    case Precision::fp8:
      return "fp8";
    case Precision::mxfp8:
      return "mxfp8";
    case Precision::nvfp4:
      return "nvfp4";
  }
  SHARDSIM_CHECK(false, "unnamed precision");
  return "";
}

}  // namespace shardsim
