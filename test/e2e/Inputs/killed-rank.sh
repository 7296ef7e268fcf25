#!/usr/bin/env bash
# killed-rank.sh PROGRAM IDS FOLDER: kills rank 1 in the middle of many runs and looks at what the program makes of it.
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
program=$1 ids=$2 folder=$3
shm() { find /dev/shm -mindepth 1 -printf '%f\n' 2>/dev/null | sort; }
before=$(shm)
FARSKIP_TIMEOUT_S=20 "$program" --input ids="$ids" --output logits="$folder/out.npy" --repeat 1000000 2>"$folder/errors" &
launcher=$!
for ((tries = 0; tries < 200; ++tries)); do
  mapfile -t ranks < <(ps -o pid= --ppid "$launcher" | tr -d ' ')
  [ "${#ranks[@]}" -ge 2 ] && break
  sleep 0.05
done
sleep 0.5
start=$SECONDS
kill -KILL "${ranks[1]}"
status=0
wait "$launcher" || status=$?
cat "$folder/errors"
[ "$status" -eq 75 ] || { echo "exit status $status, wanted 75"; exit 1; }
[ $((SECONDS - start)) -le 25 ] || { echo "took $((SECONDS - start)) s"; exit 1; }
grep -q 'rank 1' "$folder/errors" || { echo "the rank is not named"; exit 1; }
[ ! -e "$folder/out.npy" ] || { echo "there is an output"; exit 1; }
[ "$(shm)" = "$before" ] || { echo "something is left in /dev/shm"; exit 1; }
for rank in "${ranks[@]}"; do
  ! kill -0 "$rank" 2>/dev/null || { echo "rank process $rank lives on"; exit 1; }
done
