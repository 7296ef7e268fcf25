# Runs a program on a sequence and one of twice its length, and fails when its memory grows faster than the length.
# SPDX-License-Identifier: Apache-2.0
"""memory.py PROGRAM FOLDER: the sequences are written to FOLDER."""
import os
import struct
import subprocess
import sys


def save(path, values):
    """Writes one row of int64 values as .npy, format 1.0; numpy is not among what the tests need."""
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': (1, {len(values)}), }}"
    header += " " * (63 - (10 + len(header)) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}q", *values))


def peak(program, folder, length):
    """Peak resident memory of one run, in KiB."""
    ids = os.path.join(folder, f"ids_{length}.npy")
    save(ids, [position % 96 + 32 for position in range(length)])
    run = subprocess.Popen([program, "--input", f"input_ids={ids}", "--output", f"logits={folder}/logits.npy"])
    _, status, usage = os.wait4(run.pid, 0)
    if status:
        sys.exit(f"{program} ended with status {status} at length {length}")
    return usage.ru_maxrss


def main():
    program, folder = sys.argv[1:]
    short, long = (peak(program, folder, length) for length in (2048, 4096))
    print(f"{short} KiB at 2048 tokens, {long} KiB at 4096")
    # Where heads x rows x keys are kept it is four times as much.
    if long > 3 * short:
        sys.exit("memory grows faster than the sequence")


main()
