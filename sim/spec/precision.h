// Number formats of tensors and of the matrix units that multiply them.
#pragma once

#include <cstdint>
#include <string_view>

namespace shardsim {

enum class Precision { fp32, fp16, bf16, fp8, mxfp8, nvfp4 };

// Bytes of one stored element: fp32 4, fp16 and bf16 2, fp8 and mxfp8 1 (scales apart).
// nvfp4 has half a byte and is never a storage format here: InternalError.
[[nodiscard]] std::int64_t element_bytes(Precision precision);
// The format of tensors outside the products of a run in this precision: bf16 for the eight- and
// four-bit formats, which exist in matrix products only; else the same.
[[nodiscard]] Precision tensor_precision(Precision precision);
[[nodiscard]] bool is_low(Precision precision);  // a format of matrix products only
// Bytes of an element of what a matrix product keeps of its input for backward: under low precision
// in an eight-bit format (Transformer Engine keeps what it multiplied; nvfp4 counted as one byte,
// an upper bound).
[[nodiscard]] std::int64_t factor_bytes(Precision precision);
[[nodiscard]] std::string_view name(Precision precision);

}  // namespace shardsim
