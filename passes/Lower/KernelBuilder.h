// Short names for what generated kernels are written with.
// SPDX-License-Identifier: Apache-2.0
#ifndef FARSKIP_PASSES_LOWER_KERNELBUILDER_H
#define FARSKIP_PASSES_LOWER_KERNELBUILDER_H

#include "passes/Lower/Passes.h"

namespace farskip {

/// Appends scalar, vector and loop operations at one place. Bodies of loops are written by callbacks.
class KernelBuilder {
public:
  explicit KernelBuilder(mlir::OpBuilder &builder) : b(builder), loc(builder.getUnknownLoc()) {}

  mlir::Value index(int64_t number) { return mlir::arith::ConstantIndexOp::create(b, loc, number); }
  mlir::Value real(mlir::Type type, double number);
  mlir::Value add(mlir::Value x, mlir::Value y) { return mlir::arith::AddIOp::create(b, loc, x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return mlir::arith::SubIOp::create(b, loc, x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return mlir::arith::MulIOp::create(b, loc, x, y); }
  /// Of non-negative numbers.
  mlir::Value div(mlir::Value x, mlir::Value y) { return mlir::arith::DivUIOp::create(b, loc, x, y); }
  mlir::Value rem(mlir::Value x, mlir::Value y) { return mlir::arith::RemUIOp::create(b, loc, x, y); }
  mlir::Value ceilDiv(mlir::Value x, int64_t y) { return div(add(x, index(y - 1)), index(y)); }
  mlir::Value min(mlir::Value x, mlir::Value y) { return mlir::arith::MinSIOp::create(b, loc, x, y); }
  mlir::Value max(mlir::Value x, mlir::Value y) { return mlir::arith::MaxSIOp::create(b, loc, x, y); }
  mlir::Value less(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::slt, x, y);
  }
  mlir::Value equal(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpIOp::create(b, loc, mlir::arith::CmpIPredicate::eq, x, y);
  }
  mlir::Value both(mlir::Value x, mlir::Value y) { return mlir::arith::AndIOp::create(b, loc, x, y); }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return mlir::arith::SelectOp::create(b, loc, condition, x, y);
  }

  mlir::Value addf(mlir::Value x, mlir::Value y) { return mlir::arith::AddFOp::create(b, loc, x, y); }
  mlir::Value subf(mlir::Value x, mlir::Value y) { return mlir::arith::SubFOp::create(b, loc, x, y); }
  mlir::Value mulf(mlir::Value x, mlir::Value y) { return mlir::arith::MulFOp::create(b, loc, x, y); }
  mlir::Value divf(mlir::Value x, mlir::Value y) { return mlir::arith::DivFOp::create(b, loc, x, y); }
  mlir::Value maxf(mlir::Value x, mlir::Value y) { return mlir::arith::MaxNumFOp::create(b, loc, x, y); }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) { return mlir::math::FmaOp::create(b, loc, x, y, z); }
  mlir::Value exp(mlir::Value x) { return mlir::math::ExpOp::create(b, loc, x); }
  mlir::Value tanh(mlir::Value x) { return mlir::math::TanhOp::create(b, loc, x); }
  /// Whether two floats are equal; false for NaN.
  mlir::Value equalf(mlir::Value x, mlir::Value y) {
    return mlir::arith::CmpFOp::create(b, loc, mlir::arith::CmpFPredicate::OEQ, x, y);
  }
  /// Widens or rounds a float, or a vector of them.
  mlir::Value convert(mlir::Value x, mlir::Type element);

  mlir::Value dim(mlir::Value buffer, int64_t axis) { return mlir::memref::DimOp::create(b, loc, buffer, axis); }
  mlir::Value load(mlir::Value buffer, mlir::ValueRange at) { return mlir::memref::LoadOp::create(b, loc, buffer, at); }
  void store(mlir::Value x, mlir::Value buffer, mlir::ValueRange at) {
    mlir::memref::StoreOp::create(b, loc, x, buffer, at);
  }
  mlir::Value load(mlir::VectorType type, mlir::Value buffer, mlir::ValueRange at) {
    return mlir::vector::LoadOp::create(b, loc, type, buffer, at);
  }
  void storeVector(mlir::Value x, mlir::Value buffer, mlir::ValueRange at) {
    mlir::vector::StoreOp::create(b, loc, x, buffer, at);
  }
  mlir::Value broadcast(mlir::VectorType type, mlir::Value x) {
    return mlir::vector::BroadcastOp::create(b, loc, type, x);
  }
  /// The sum of a vector's elements, halves first.
  mlir::Value sum(mlir::Value vector);
  /// 64-byte aligned memory of the kernel's frame; to be asked for at the kernel's start. `rows` is the outermost
  /// extent.
  mlir::Value scratch(mlir::Value rows, llvm::ArrayRef<int64_t> inner, mlir::Type element);

  void loop(mlir::Value from, mlir::Value to, int64_t step, llvm::function_ref<void(mlir::Value)> body);
  llvm::SmallVector<mlir::Value>
  loop(mlir::Value from, mlir::Value to, int64_t step, mlir::ValueRange init,
       llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body);
  void ifThen(mlir::Value condition, llvm::function_ref<void()> body);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

/// A private function (begin, end, operands of `op`) with a return, and its block; the builder is put before the
/// return.
std::pair<mlir::OwningOpRef<mlir::func::FuncOp>, mlir::Block *> startKernel(mlir::OpBuilder &builder,
                                                                            mlir::Operation *op);
/// The kernel's argument for an operand of `op`; null for none.
mlir::Value kernelArgument(mlir::Operation *op, mlir::Block &body, mlir::Value operand);

} // namespace farskip

#endif
