# Set-up shared by test/run.sh, examples/quickstart.sh and .ci/run: packages, configure, build. To be sourced by bash.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash

FARSKIP_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
FARSKIP_PRESET=${FARSKIP_PRESET:-release}
FARSKIP_BUILD=$FARSKIP_ROOT/build/$FARSKIP_PRESET

say() { printf '== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Runs a command and prints it first, as a user would type it.
show() {
  printf '$'
  printf ' %q' "$@"
  printf '\n'
  "$@"
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "root rights are needed for: $*; run it as root or install sudo"
  fi
}

# The names in packages.txt that are not installed.
missing_packages() {
  local name
  while read -r name; do
    case $name in '' | '#'*) continue ;; esac
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || printf '%s\n' "$name"
  done <"$FARSKIP_ROOT/tools/setup/packages.txt"
}

install_packages() {
  local missing=() plan name
  if ! command -v apt-get >/dev/null; then
    # Without apt the tools themselves are the test of what is there.
    for name in clang++-22 ld.lld-22 ninja cmake ccache python3 git; do
      command -v "$name" >/dev/null && continue
      printf 'This machine has no apt-get. Please install what these Debian 12 packages hold, then run this again:\n'
      grep -v '^#' "$FARSKIP_ROOT/tools/setup/packages.txt" | sed 's/^/  /'
      die "$name was not found"
    done
    return
  fi
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -gt 0 ] || return 0
  say "${#missing[@]} Debian packages are missing: ${missing[*]}"
  say "refreshing the list of packages"
  as_root apt-get update -q >/dev/null
  for name in "${missing[@]}"; do
    apt-cache show "$name" >/dev/null 2>&1 ||
      die "apt knows no package $name; is this Debian 12 with bookworm-security among its sources?"
  done
  # apt says how large it is and stops there: the answer is no, which is a failure.
  plan=$(LC_ALL=C apt-get -o Debug::NoLocking=1 install --assume-no --no-install-recommends "${missing[@]}" 2>&1 || true)
  grep -E '^(Need to get|After this operation)' <<<"$plan" | sed 's/^/   /'
  say "installing them"
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >"$FARSKIP_ROOT/build/apt.log" 2>&1 || {
    tail -n 20 "$FARSKIP_ROOT/build/apt.log" >&2
    die "apt-get failed; its whole output is in build/apt.log"
  }
}

# Configures the preset once; CMake looks after later changes itself.
configure() {
  # Clean builds of ours share objects across checkouts, precompiled headers included.
  export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$FARSKIP_ROOT} CCACHE_NOHASHDIR=1
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
  if [ ! -f "$FARSKIP_BUILD/build.ninja" ]; then
    say "configuring (preset $FARSKIP_PRESET)"
    (cd "$FARSKIP_ROOT" && cmake --preset "$FARSKIP_PRESET" >"$FARSKIP_ROOT/build/configure.log" 2>&1) || {
      tail -n 30 "$FARSKIP_ROOT/build/configure.log" >&2
      die "CMake failed; its whole output is in build/configure.log"
    }
  fi
}

# build TARGET...
build() {
  say "building $* (preset $FARSKIP_PRESET)"
  cmake --build "$FARSKIP_BUILD" --target "$@"
}

# Everything up to a configured build folder.
prepare() {
  mkdir -p "$FARSKIP_ROOT/build"
  install_packages
  configure
}
