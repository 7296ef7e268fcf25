// Normalisations over the trailing axes.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_DIALECTS_ONNX_ONNXNORM_TD
#define FARSKIP_DIALECTS_ONNX_ONNXNORM_TD

include "dialects/Onnx/OnnxBase.td"

def Onnx_LayerNormalizationOp
    : Onnx_Op<"LayerNormalization",
              (ins Onnx_Tensor:$X, Onnx_Tensor:$Scale, Optional<Onnx_Tensor>:$B, Onnx_Int<-1>:$axis,
                   Onnx_Float<"1e-5f">:$epsilon, Onnx_Int<1>:$stash_type),
              (outs Onnx_Tensor:$Y, Onnx_Tensor:$Mean, Onnx_Tensor:$InvStdDev)> {
  let summary = "ONNX LayerNormalization-17; the statistics have the stash type";
}

def Onnx_RMSNormalizationOp
    : Onnx_Op<"RMSNormalization",
              (ins Onnx_Tensor:$X, Onnx_Tensor:$scale, Onnx_Int<-1>:$axis, Onnx_Float<"1e-5f">:$epsilon,
                   Onnx_Int<1>:$stash_type),
              (outs Onnx_Tensor:$Y)> {
  let summary = "ONNX RMSNormalization-23";
}

def Onnx_SimplifiedLayerNormalizationOp
    : Onnx_Op<"SimplifiedLayerNormalization",
              (ins Onnx_Tensor:$X, Onnx_Tensor:$scale, Onnx_Int<-1>:$axis, Onnx_Float<"1e-5f">:$epsilon,
                   Onnx_Int<1>:$stash_type),
              (outs Onnx_Tensor:$Y, Onnx_Tensor:$inv_std_var)> {
  let summary = "RMS norm as ONNX Runtime has it in the default domain";
}

class Onnx_SkipNorm<string mnemonic, dag weights, list<Trait> traits = []>
    : Onnx_Op<mnemonic,
              !con((ins Onnx_Tensor:$input, Onnx_Tensor:$skip, Onnx_Tensor:$gamma), weights),
              (outs Onnx_Tensor:$output, Onnx_Tensor:$mean, Onnx_Tensor:$inv_std_var,
                    Onnx_Tensor:$input_skip_bias_sum),
              traits>;

def Onnx_MsSkipSimplifiedLayerNormalizationOp
    : Onnx_SkipNorm<"ms.SkipSimplifiedLayerNormalization",
                    (ins Optional<Onnx_Tensor>:$bias, Onnx_Float<"1e-12f">:$epsilon)> {
  let summary = "RMS norm of input + skip + bias; result 3 is that sum, the residual stream";
}

def Onnx_MsSkipLayerNormalizationOp
    : Onnx_SkipNorm<"ms.SkipLayerNormalization",
                    (ins Optional<Onnx_Tensor>:$beta, Optional<Onnx_Tensor>:$bias, Onnx_Float<"1e-12f">:$epsilon),
                    [AttrSizedOperandSegments]> {
  let summary = "layer norm of input + skip + bias; result 3 is that sum";
}

#endif
