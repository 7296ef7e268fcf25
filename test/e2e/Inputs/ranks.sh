#!/usr/bin/env bash
# ranks.sh COMPILER INPUTS OUTPUTS: compiles moe.onnx for several numbers of ranks and compares their bits with one rank's.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
compiler=$1 inputs=$2 outputs=$3
for ranks in 1 2 3 4 5; do
  "$compiler" "$inputs/moe.onnx" --ranks=$ranks -o "$outputs/model-$ranks"
  for ids in 5x7 1x3 4x6equal 1x1 0x4; do
    for threads in 1 2; do
      result=$outputs/$ranks-$threads-$ids.npy
      "$outputs/model-$ranks" --input ids="$inputs/moe-ids-$ids.npy" --output logits="$result" --threads=$threads
      [ -e "$outputs/1-$ids.npy" ] || cp "$result" "$outputs/1-$ids.npy"
      cmp "$result" "$outputs/1-$ids.npy"
    done
  done
done
"$compiler" "$inputs/moe.onnx" --ranks=3 --overlap=off -o "$outputs/blocking"
"$outputs/blocking" --input ids="$inputs/moe-ids-5x7.npy" --output logits="$outputs/blocking.npy"
cmp "$outputs/blocking.npy" "$outputs/1-5x7.npy"
