#!/usr/bin/env bash
# Compiles the scripture models and prints bits per byte on the held-out text, from the emitted programs.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

usage() {
  echo "usage: evaluate.sh [FARSKIP-OPT [--ranks=N]]   (default: build/release/bin or build/dev/bin, one rank)"
}

case "${1:-}" in
-h | --help)
  usage
  exit 0
  ;;
esac
if [ $# -gt 2 ]; then
  usage >&2
  exit 64
fi
compiler=${1:-}
if [ -z "$compiler" ]; then
  for kind in release dev; do
    if [ -x "$root/build/$kind/bin/farskip-opt" ]; then
      compiler=$root/build/$kind/bin/farskip-opt
      break
    fi
  done
fi
if [ ! -x "$compiler" ]; then
  echo "evaluate.sh: no farskip-opt found; build it or name it as the first argument" >&2
  exit 64
fi
ranks=${2:---ranks=1}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$here/evaluate.py" windows "$here/heldout.txt" "$work/ids.npy"

# measure NAME MODEL FARSKIP: NAME.npy gets the logits of all windows
measure() {
  "$compiler" "$here/$2.onnx" "--farskip=$3" "$ranks" -o "$work/$1"
  "$work/$1" --input "input_ids=$work/ids.npy" --output "logits=$work/$1.npy"
  rm -f "$work/$1" "$work/$1.weights"
}
measure standard standard none
measure forced standard all
measure distilled distilled all
measure native native none
python3 "$here/evaluate.py" table "$here/heldout.txt" "$work"
