#!/usr/bin/env bash
# Builds farskip and runs its tests: lit, unit and end-to-end. Installs what is missing on Debian 12.
#   test/run.sh                 all tests
#   test/run.sh PATTERN...      the tests whose name has a match of one of these regular expressions
# FARSKIP_PRESET names the CMake preset (default release). The last line is "N passed, N failed[, N skipped]".
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
# shellcheck source=tools/setup/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tools/setup/setup.sh"

case ${1:-} in
-h | --help)
  sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
  ;;
-*) die "unknown option $1; test/run.sh takes regular expressions on test names, or --help" ;;
esac

lit=${LLVM_LIT:-/usr/lib/llvm-22/bin/lit}
passed=0 failed=0 skipped=0 broken=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The sum of the lines of lit's summary whose label is one of the given ones.
count() {
  awk -F: -v labels="$1" '
    BEGIN { split(labels, l, ","); for (i in l) want[l[i]] }
    { label = $1; gsub(/^ +| +$/, "", label); if (label in want) n += $2 }
    END { print n + 0 }' "$log"
}

# suite NAME LIT-ARGUMENT...: runs one suite and adds up its results.
suite() {
  say "$1 tests"
  shift
  local status=0
  "$lit" --no-progress-bar -v --no-terse-summary "$@" 2>&1 | tee "$log" || status=$?
  local bad
  bad=$(count 'Failed,Unexpectedly Passed,Unresolved,Timed Out')
  passed=$((passed + $(count 'Passed,Passed With Retry,Expectedly Failed')))
  failed=$((failed + bad))
  skipped=$((skipped + $(count 'Skipped,Unsupported')))
  # lit that fails without a failed test could not run the suite at all.
  if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then broken=1; fi
}

# The GoogleTest filter of the tests whose "Program.Suite.Test" has a match of the pattern; empty when none has.
unit_filter() {
  local program
  for program in "$FARSKIP_BUILD"/bin/*Tests; do
    [ -x "$program" ] || continue
    "$program" --gtest_list_tests |
      awk -v program="$(basename "$program")" '
        /^[^ ]/ { suite = $1 } /^  / { print program "." suite $1 " " suite $1 }' |
      { grep -E -- "$1" || true; } | cut -d' ' -f2
  done | paste -sd:
}

prepare
build all

options=(--allow-empty-runs)
units=true
if [ $# -gt 0 ]; then
  pattern=$(IFS='|' && printf '%s' "$*")
  GTEST_FILTER=$(unit_filter "$pattern")
  export GTEST_FILTER
  [ -n "$GTEST_FILTER" ] || units=false
  options+=(--filter "$pattern")
fi

suite lit "${options[@]}" "$FARSKIP_BUILD/test"
if [ "$units" = true ] && compgen -G "$FARSKIP_BUILD/bin/*Tests" >/dev/null; then
  suite unit --allow-empty-runs "$FARSKIP_BUILD/test/Unit"
fi
[ ! -d "$FARSKIP_ROOT/test/e2e" ] || suite end-to-end "${options[@]}" "$FARSKIP_BUILD/test/e2e"

[ "$broken" -eq 0 ] || printf 'error: a suite could not be run; see above\n' >&2
if [ $((passed + failed)) -eq 0 ]; then printf 'error: no test was run\n' >&2; fi
printf '%d passed, %d failed' "$passed" "$((failed + broken))"
if [ "$skipped" -gt 0 ]; then printf ', %d skipped' "$skipped"; fi
printf '\n'
[ "$passed" -gt 0 ] && [ $((failed + broken)) -eq 0 ]
