// Passes of the phase `overlapped`.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_OVERLAP_PASSES_TD
#define FARSKIP_PASSES_OVERLAP_PASSES_TD

include "mlir/Pass/PassBase.td"

def SplitCollectivesPass : Pass<"moe-split-collectives", "::mlir::func::FuncOp"> {
  let summary = "split every exchange into a start and a wait";
  let description = [{
    ```mlir
    %y = moe.dispatch %x by %plan outs(%init)
    // becomes
    %pending, %future = moe.dispatch_start %x by %plan outs(%init)
    %y = moe.wait %future, %pending keep(%x)
    ```

    The wait follows its start at once; `schedule-collectives` moves them apart. `moe.exchange_plan` stays: the sizes of
    buffers hang on it.
  }];
  let statistics = [Statistic<"split", "exchanges-split", "exchanges split">];
  let dependentDialects = ["::farskip::moe::MoeDialect"];
}

def ScheduleCollectivesPass : Pass<"schedule-collectives", "::mlir::func::FuncOp"> {
  let summary = "order the operations of a function so that exchanges run under computation";
  let description = [{
    Every operation of the body is a task with a cost, estimated from its loops, bytes and the machine; the list scheduler
    of passes/Schedule finds an order. Operations keep their order where it means something: exchanges that have no
    start, checks that end the run, and what only a check makes safe to run. The order is the same on every rank as it is
    found at compile time.

    With `tokens` the assumed number of tokens on a rank, on which the costs hang; the order is right for any.
  }];
  let options = [Option<"tokens", "tokens", "int64_t", "512", "assumed tokens on a rank">,
                 Option<"flops", "flops", "double", "40e9", "floating-point operations of a core per second">,
                 Option<"memory", "memory-bytes", "double", "10e9", "bytes that memory moves per second">,
                 Option<"link", "link-bytes", "double", "1.25e8", "bytes that a rank's link moves per second">,
                 Option<"latency", "latency", "double", "5e-5", "seconds from start to first byte">,
                 Option<"ranks", "ranks", "int64_t", "2", "ranks that share the tokens">];
  let statistics = [Statistic<"moved", "operations-moved", "operations that left their place">,
                    Statistic<"exchanges", "exchanges", "exchanges scheduled">,
                    Statistic<"hidden", "hidden-percent", "part of the exchanges' time that the estimate hides">];
  let dependentDialects = ["::farskip::moe::MoeDialect"];
}

def VerifyAsyncPass : Pass<"verify-async", "::mlir::func::FuncOp"> {
  let summary = "prove that exchanges under way are used as they may be";
  let description = [{
    Fails, naming the start, unless

    - C7 each start has exactly one wait, in the same block and behind it;
    - C8 no start, plan or blocking exchange stands in a branch or loop, so that every rank runs all of them in one order;
    - C9 between start and wait nothing uses the tensor that is being filled, and the wait keeps what the exchange reads;
    - C10 a future goes nowhere but into its wait.
  }];
}

#endif
