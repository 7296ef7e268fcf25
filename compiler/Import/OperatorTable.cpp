// Versions of the operators of the default domain (LayerNormalization: ONNX Runtime had it before ONNX did).
// SPDX-License-Identifier: Apache-2.0
#include "compiler/Import/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace farskip::onnx::reader {

namespace {

struct OperatorRow {
  StringLiteral op;
  uint8_t versions[12]; ///< zero behind the last
};

// Sorted by name.
constexpr OperatorRow operatorRows[] = {
    {"Abs", {1, 6, 13}},
    {"Acos", {7, 22}},
    {"Acosh", {9, 22}},
    {"Add", {1, 6, 7, 13, 14}},
    {"And", {1, 7}},
    {"ArgMax", {1, 11, 12, 13}},
    {"ArgMin", {1, 11, 12, 13}},
    {"Asin", {7, 22}},
    {"Asinh", {9, 22}},
    {"Atan", {7, 22}},
    {"Atanh", {9, 22}},
    {"Attention", {23, 24, 25}},
    {"BitCast", {26}},
    {"BitShift", {11, 28}},
    {"BitwiseAnd", {18}},
    {"BitwiseNot", {18}},
    {"BitwiseOr", {18}},
    {"BitwiseXor", {18}},
    {"Cast", {1, 6, 9, 13, 19, 21, 23, 24, 25, 28}},
    {"CastLike", {15, 19, 21, 23, 24, 25}},
    {"CausalConvWithState", {27}},
    {"Ceil", {1, 6, 13}},
    {"Celu", {12, 28}},
    {"Clip", {1, 6, 11, 12, 13}},
    {"Compress", {9, 11, 28}},
    {"Concat", {1, 4, 11, 13}},
    {"Constant", {1, 9, 11, 12, 13, 19, 21, 23, 24, 25}},
    {"ConstantOfShape", {9, 20, 21, 23, 24, 25}},
    {"Conv", {1, 11, 22}},
    {"Cos", {7, 22}},
    {"Cosh", {9, 22}},
    {"CumProd", {26}},
    {"CumSum", {11, 14}},
    {"DepthToSpace", {1, 11, 13, 28}},
    {"DequantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}},
    {"Div", {1, 6, 7, 13, 14}},
    {"Dropout", {1, 6, 7, 10, 12, 13, 22}},
    {"DynamicQuantizeLinear", {11}},
    {"Einsum", {12, 28}},
    {"Elu", {1, 6, 22}},
    {"Equal", {1, 7, 11, 13, 19}},
    {"Erf", {9, 13}},
    {"Exp", {1, 6, 13}},
    {"Expand", {8, 13}},
    {"EyeLike", {9, 22}},
    {"Flatten", {1, 9, 11, 13, 21, 23, 24, 25}},
    {"Floor", {1, 6, 13}},
    {"Gather", {1, 11, 13}},
    {"GatherElements", {11, 13}},
    {"GatherND", {11, 12, 13}},
    {"Gelu", {20}},
    {"Gemm", {1, 6, 7, 9, 11, 13}},
    {"Greater", {1, 7, 9, 13}},
    {"GreaterOrEqual", {12, 16}},
    {"GroupNormalization", {18, 21}},
    {"HardSigmoid", {1, 6, 22}},
    {"HardSwish", {14, 22}},
    {"Hardmax", {1, 11, 13}},
    {"Identity", {1, 13, 14, 16, 19, 21, 23, 24, 25}},
    {"If", {1, 11, 13, 16, 19, 21, 23, 24, 25}},
    {"InstanceNormalization", {1, 6, 22}},
    {"IsInf", {10, 20}},
    {"IsNaN", {9, 13, 20}},
    {"LRN", {1, 13}},
    {"LayerNormalization", {1, 17}},
    {"LeakyRelu", {1, 6, 16}},
    {"Less", {1, 7, 9, 13}},
    {"LessOrEqual", {12, 16}},
    {"LinearAttention", {27}},
    {"Log", {1, 6, 13}},
    {"LogSoftmax", {1, 11, 13}},
    {"Loop", {1, 11, 13, 16, 19, 21, 23, 24, 25}},
    {"LpNormalization", {1, 22}},
    {"MatMul", {1, 9, 13}},
    {"MatMulInteger", {10}},
    {"Max", {1, 6, 8, 12, 13}},
    {"Mean", {1, 6, 8, 13}},
    {"Min", {1, 6, 8, 12, 13}},
    {"Mish", {18, 22}},
    {"Mod", {10, 13, 28}},
    {"Mul", {1, 6, 7, 13, 14}},
    {"Neg", {1, 6, 13}},
    {"NonZero", {9, 13}},
    {"Not", {1}},
    {"OneHot", {9, 11, 28}},
    {"Or", {1, 7}},
    {"PRelu", {1, 6, 7, 9, 16}},
    {"Pad", {1, 2, 11, 13, 18, 19, 21, 23, 24, 25}},
    {"Pow", {1, 7, 12, 13, 15}},
    {"QuantizeLinear", {10, 13, 19, 21, 23, 24, 25, 28}},
    {"RMSNormalization", {23}},
    {"Range", {11, 27}},
    {"Reciprocal", {1, 6, 13}},
    {"ReduceL1", {1, 11, 13, 18}},
    {"ReduceL2", {1, 11, 13, 18}},
    {"ReduceLogSum", {1, 11, 13, 18, 28}},
    {"ReduceLogSumExp", {1, 11, 13, 18, 28}},
    {"ReduceMax", {1, 11, 12, 13, 18, 20}},
    {"ReduceMean", {1, 11, 13, 18}},
    {"ReduceMin", {1, 11, 12, 13, 18, 20}},
    {"ReduceProd", {1, 11, 13, 18}},
    {"ReduceSum", {1, 11, 13}},
    {"ReduceSumSquare", {1, 11, 13, 18}},
    {"Relu", {1, 6, 13, 14}},
    {"Reshape", {1, 5, 13, 14, 19, 21, 23, 24, 25}},
    {"ReverseSequence", {10, 28}},
    {"RotaryEmbedding", {23}},
    {"Round", {11, 22}},
    {"Scan", {8, 9, 11, 16, 19, 21, 23, 24, 25}},
    {"Scatter", {9, 11}},
    {"ScatterElements", {11, 13, 16, 18}},
    {"ScatterND", {11, 13, 16, 18}},
    {"Selu", {1, 6, 22}},
    {"Shape", {1, 13, 15, 19, 21, 23, 24, 25}},
    {"Shrink", {9}},
    {"Sigmoid", {1, 6, 13}},
    {"Sign", {9, 13}},
    {"Sin", {7, 22}},
    {"Sinh", {9, 22}},
    {"Size", {1, 13, 19, 21, 23, 24, 25}},
    {"Slice", {1, 10, 11, 13}},
    {"Softmax", {1, 11, 13}},
    {"Softplus", {1, 22}},
    {"Softsign", {1, 22}},
    {"SpaceToDepth", {1, 13, 28}},
    {"Split", {1, 2, 11, 13, 18}},
    {"Sqrt", {1, 6, 13}},
    {"Squeeze", {1, 11, 13, 21, 23, 24, 25}},
    {"Sub", {1, 6, 7, 13, 14}},
    {"Sum", {1, 6, 8, 13}},
    {"SwiGLU", {28}},
    {"Swish", {24}},
    {"Tan", {7, 22}},
    {"Tanh", {1, 6, 13}},
    {"TensorScatter", {24}},
    {"ThresholdedRelu", {10, 22}},
    {"Tile", {1, 6, 13}},
    {"TopK", {1, 10, 11, 24}},
    {"Transpose", {1, 13, 21, 23, 24, 25}},
    {"Trilu", {14}},
    {"Unsqueeze", {1, 11, 13, 21, 23, 24, 25}},
    {"Where", {9, 16}},
    {"Xor", {1, 7}},
};

// Sorted by operator.
constexpr AttributeRow attributeRows[] = {
    {"ArgMax", "select_last_index", 12},
    {"ArgMin", "select_last_index", 12},
    {"Attention", "left_window_size", 25},
    {"Attention", "right_window_size", 25},
    {"Cast", "saturate", 19},
    {"Cast", "round_mode", 24},
    {"CastLike", "saturate", 19},
    {"CastLike", "round_mode", 24},
    {"Constant", "sparse_value", 11},
    {"Constant", "value_float", 12},
    {"Constant", "value_floats", 12},
    {"Constant", "value_int", 12},
    {"Constant", "value_ints", 12},
    {"Constant", "value_string", 12},
    {"Constant", "value_strings", 12},
    {"DequantizeLinear", "axis", 13},
    {"DequantizeLinear", "block_size", 21},
    {"DequantizeLinear", "output_dtype", 23},
    {"Dropout", "seed", 12},
    {"GatherND", "batch_dims", 12},
    {"QuantizeLinear", "axis", 13},
    {"QuantizeLinear", "saturate", 19},
    {"QuantizeLinear", "block_size", 21},
    {"QuantizeLinear", "output_dtype", 21},
    {"QuantizeLinear", "precision", 23},
    {"Range", "stash_type", 27},
    {"ReduceL1", "noop_with_empty_axes", 18},
    {"ReduceL2", "noop_with_empty_axes", 18},
    {"ReduceLogSum", "noop_with_empty_axes", 18},
    {"ReduceLogSumExp", "noop_with_empty_axes", 18},
    {"ReduceMax", "noop_with_empty_axes", 18},
    {"ReduceMean", "noop_with_empty_axes", 18},
    {"ReduceMin", "noop_with_empty_axes", 18},
    {"ReduceProd", "noop_with_empty_axes", 18},
    {"ReduceSum", "noop_with_empty_axes", 13},
    {"ReduceSumSquare", "noop_with_empty_axes", 18},
    {"Reshape", "allowzero", 14},
    {"Scan", "scan_input_axes", 9},
    {"Scan", "scan_input_directions", 9},
    {"Scan", "scan_output_axes", 9},
    {"Scan", "scan_output_directions", 9},
    {"ScatterElements", "reduction", 16},
    {"ScatterND", "reduction", 16},
    {"Shape", "end", 15},
    {"Shape", "start", 15},
    {"Split", "num_outputs", 18},
    {"TopK", "largest", 11},
    {"TopK", "sorted", 11},
};

} // namespace

ArrayRef<uint8_t> operatorVersions(StringRef op) {
  static const StringMap<ArrayRef<uint8_t>> byName = [] {
    StringMap<ArrayRef<uint8_t>> map;
    for (const OperatorRow &row : operatorRows)
      map[row.op] = ArrayRef<uint8_t>(row.versions).take_while([](uint8_t version) { return version != 0; });
    return map;
  }();
  return byName.lookup(op);
}

uint32_t sinceVersion(StringRef op, uint32_t opset) {
  uint32_t since = 0;
  for (uint8_t version : operatorVersions(op))
    if (version <= opset)
      since = version;
  return since;
}

ArrayRef<AttributeRow> laterAttributes(StringRef op) {
  ArrayRef<AttributeRow> rows(attributeRows);
  const AttributeRow *first = partition_point(rows, [&](const AttributeRow &row) { return row.op < op; });
  const AttributeRow *last = std::find_if(first, rows.end(), [&](const AttributeRow &row) { return row.op != op; });
  return {first, last};
}

} // namespace farskip::onnx::reader
