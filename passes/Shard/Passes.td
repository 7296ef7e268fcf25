// Passes of the phase `sharded`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_SHARD_PASSES_TD
#define FARSKIP_PASSES_SHARD_PASSES_TD

include "mlir/Pass/PassBase.td"

def ShardBatchPass : Pass<"shard-batch", "::mlir::ModuleOp"> {
  let summary = "give each rank a block of the batch";
  let description = [{
    Finds the axis that counts the sequences, of every input and output, by a proof: run on blocks of that axis the
    program computes the blocks of its results, as no operation but the experts brings sequences together. Inputs and
    results that are cut carry the attribute `farskip.shard_axis`; nothing else changes, as the program is the same for
    any batch. Expects onnx operators and `moe.experts`. Names of inputs play no part. Where several inputs have a
    leading axis of their own symbol they are tried as the same one, which the program then checks when it runs.

    With `replicate`, or when all extents of the model are numbers, every rank gets the whole inputs and the module the
    attribute `farskip.replicated`. Otherwise, when no axis is proven, it fails and names the operation that stands in
    the way.
  }];
  let options = [Option<"ranks", "ranks", "int64_t", "1", "number of ranks; 1 changes nothing">,
                 Option<"replicate", "replicate", "bool", "false", "do not cut the batch">];
  let statistics = [Statistic<"inputs", "inputs-cut", "inputs cut along the batch">];
}

def ShardExpertsPass : Pass<"shard-experts", "::mlir::ModuleOp"> {
  let summary = "spread the experts of each moe.experts over the ranks";
  let description = [{
    Every rank owns a block of the experts. Tokens go to the owners of their experts, one copy per rank, grouped there by
    expert; one loop over the experts runs the region on each group; the results come back and are summed in slot order
    by the token's owner. With one rank nothing is sent, the rest is the same, so the results have the same bits.

    ```mlir
    %y = moe.experts %x, %w, %e params(%p) … { region }
    // becomes
    %plan = moe.exchange_plan %e
    %received = moe.dispatch %x by %plan
    %grouped = rows of %received in the order of moe.plan_groups
    %z = scf.for %i … { region on the group of expert %i }
    %slots = moe.combine %z by %plan
    %y[t] = Σ_j %w[t, j] · %slots[t, j]
    ```

    In a module with `farskip.replicated` every rank holds all tokens: each computes what its own experts add, and one
    all-reduce sums it up.

    The module's attribute `moe.collectives` lists kind and node of every collective, in the order of their numbers.
  }];
  let options = [Option<"ranks", "ranks", "int64_t", "1", "number of ranks">];
  let statistics = [Statistic<"blocks", "blocks-sharded", "mixture-of-experts blocks spread over ranks">];
  let dependentDialects = ["::farskip::moe::MoeDialect", "::farskip::rt::RtDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

#endif
