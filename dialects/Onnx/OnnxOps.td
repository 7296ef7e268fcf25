// All operators of the onnx dialect.
// SPDX-License-Identifier: Apache-2.0
include "dialects/Onnx/OnnxAttention.td"
include "dialects/Onnx/OnnxConstant.td"
include "dialects/Onnx/OnnxElementwise.td"
include "dialects/Onnx/OnnxMatMul.td"
include "dialects/Onnx/OnnxNorm.td"
include "dialects/Onnx/OnnxLayout.td"
include "dialects/Onnx/OnnxIndexing.td"
include "dialects/Onnx/OnnxQuantised.td"
include "dialects/Onnx/OnnxReduce.td"
include "dialects/Onnx/OnnxRotary.td"
include "dialects/Onnx/OnnxMoe.td"
