#!/usr/bin/env bash
# From nothing to a Mixture-of-Experts model that runs on two ranks: installs what is missing on Debian 12, builds
# farskip, compiles the trained example in FarSkip form and lets it continue a text.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
# shellcheck source=tools/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup/setup.sh"
[ $# -eq 0 ] || die "examples/quickstart.sh takes no arguments"

prepare
build farskip-opt
cd "$FARSKIP_ROOT"
out=build/quickstart
mkdir -p "$out"

say "compiling the example in FarSkip form"
show "build/$FARSKIP_PRESET/bin/farskip-opt" examples/scripture/distilled.onnx --farskip=all --ranks=2 -o "$out/scripture"

say "running it"
show "$out/scripture" --prompt-text "In the beginning" --generate 200 --profile
