#!/usr/bin/env bash
# same-bits.sh COMPILER EXAMPLE FOLDER: the example's programs for several ranks and threads, compared with one rank's.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
compiler=$1 example=$2 folder=$3
run() { # PROGRAM THREADS IDS RESULT
  "$1" --threads="$2" --input input_ids="$example/reference/ids_$3.npy" --output logits="$4"
}
for model in standard native; do
  "$compiler" "$example/$model.onnx" -o "$folder/one"
  for ids in 1x1 3x7; do run "$folder/one" 1 $ids "$folder/want-$ids.npy"; done
  for options in --ranks=2 --ranks=3 --ranks=4 '--ranks=2 --overlap=off'; do
    # shellcheck disable=SC2086
    "$compiler" "$example/$model.onnx" $options -o "$folder/some"
    for threads in 1 2; do
      for ids in 1x1 3x7; do
        run "$folder/some" $threads $ids "$folder/got.npy"
        cmp "$folder/got.npy" "$folder/want-$ids.npy" || { echo "$model $options, $threads threads, $ids"; exit 1; }
      done
    done
  done
done
