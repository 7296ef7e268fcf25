#!/usr/bin/env bash
# phases.sh COMPILER MODEL FOLDER: what --compile-to prints after a phase reads back, and the compilation goes on from there
# to what it prints after the next one.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
compiler=$1 model=$2 folder=$3
before=
for phase in import model connected raised sharded overlapped buffers llvm; do
  "$compiler" "$model" --compile-to=$phase --emit=mlir -o "$folder/$phase.mlir"
  "$compiler" "$folder/$phase.mlir" --verify-roundtrip -o "$folder/again.mlir"
  cmp "$folder/$phase.mlir" "$folder/again.mlir" || { echo "phase $phase does not print what it read"; exit 1; }
  if [ -n "$before" ]; then
    "$compiler" "$folder/$before.mlir" "--farskip-to-$phase" -o "$folder/on.mlir"
    cmp "$folder/$phase.mlir" "$folder/on.mlir" || { echo "phase $phase from the text of $before differs"; exit 1; }
  fi
  before=$phase
done
