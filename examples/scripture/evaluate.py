# Writes evaluation windows as .npy and turns the programs' logits into bits per byte; no NumPy needed.
# SPDX-License-Identifier: Apache-2.0
"""evaluate.py windows TEXT IDS.npy   |   evaluate.py table TEXT DIR

64 windows of 256 bytes, evenly spread over the held-out text; every byte of a window is predicted,
the first one from a single byte of context.
"""

import ast
import math
import struct
import sys
from array import array
from pathlib import Path

COUNT, SEQ, VOCAB = 64, 256, 256
ROWS = [
    ("standard", "standard model, standard wiring"),
    ("forced", "standard weights forced into FarSkip form"),
    ("distilled", "distilled weights in FarSkip form"),
    ("native", "native FarSkip model"),
]


def starts(text):
    return [i * (len(text) - SEQ - 1) // (COUNT - 1) for i in range(COUNT)]


def write_windows(text, path):
    ids = array("q", (b for s in starts(text) for b in text[s : s + SEQ]))
    if sys.byteorder == "big":
        ids.byteswap()
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({COUNT}, {SEQ}), }}".encode()
    header = header.ljust(-(len(header) + 11) % 64 + len(header)) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + ids.tobytes())


def read_logits(path):
    blob = path.read_bytes()
    if blob[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: not an .npy file")
    size, at = (struct.unpack_from("<H", blob, 8)[0], 10) if blob[6] == 1 else (struct.unpack_from("<I", blob, 8)[0], 12)
    header = ast.literal_eval(blob[at : at + size].decode("latin-1"))
    want = {"descr": "<f4", "fortran_order": False, "shape": (COUNT, SEQ, VOCAB)}
    if header != want:
        sys.exit(f"{path}: {header}, expected {want}")
    values = array("f", blob[at + size :])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def bits_per_byte(text, logits):
    total, row, exp = 0.0, 0, math.exp
    for s in starts(text):
        for target in text[s + 1 : s + SEQ + 1]:
            scores = logits[row : row + VOCAB]
            top = max(scores)
            total += math.log(sum(exp(x - top) for x in scores)) + top - scores[target]
            row += VOCAB
    return total / (COUNT * SEQ) / math.log(2)


def print_table(text, folder):
    bits = {name: bits_per_byte(text, read_logits(folder / f"{name}.npy")) for name, _ in ROWS}
    for name, label in ROWS:
        print(f"{label:<44}{bits[name]:.4f} bits per byte")
    gap = bits["forced"] - bits["standard"]
    if gap > 0:
        print(f"{'share of the gap that distillation closes':<44}{(bits['forced'] - bits['distilled']) / gap:.1%}")


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("windows", "table"):
        sys.exit(__doc__)
    run = write_windows if sys.argv[1] == "windows" else print_table
    run(Path(sys.argv[2]).read_bytes(), Path(sys.argv[3]))


if __name__ == "__main__":
    main()
