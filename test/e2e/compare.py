#!/usr/bin/env python3
"""Compares arrays in .npy files: |got - want| <= atol + rtol * |want|, the same shape, dtype and places of NaN.

Integers and bools must be equal. Needs no NumPy. Exit status 0 when all pairs agree.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import ast
import math
import struct
import sys

FORMATS = {"<f4": "f", "<f8": "d", "<f2": "e", "<i8": "q", "<i4": "i", "<i2": "h", "|i1": "b", "|u1": "B", "|b1": "?"}


def load(path):
    """(dtype, shape, values) of a C-ordered .npy file."""
    with open(path, "rb") as file:
        blob = file.read()
    if blob[:6] != b"\x93NUMPY":
        sys.exit(f"error: {path}: not an .npy file")
    size, start = (struct.unpack_from("<H", blob, 8)[0], 10) if blob[6] == 1 else (struct.unpack_from("<I", blob, 8)[0], 12)
    header = ast.literal_eval(blob[start : start + size].decode("latin-1"))
    if header["fortran_order"] or header["descr"] not in FORMATS:
        sys.exit(f"error: {path}: {header['descr']} in this order is not supported")
    count = math.prod(header["shape"])
    return header["descr"], header["shape"], struct.unpack_from(f"<{count}{FORMATS[header['descr']]}", blob, start + size)


def difference(got, want, atol, rtol):
    """'' when they agree, else what is wrong."""
    if got[:2] != want[:2]:
        return f"{got[0]} {list(got[1])}, expected {want[0]} {list(want[1])}"
    exact = want[0][1] != "f"
    off, largest = 0, 0.0
    for g, w in zip(got[2], want[2]):
        if g == w or (g != g and w != w):
            continue
        distance = abs(g - w)
        largest = max(largest, distance) if distance == distance else math.inf
        if exact or not distance <= atol + rtol * abs(w):
            off += 1
    return f"{off} of {len(want[2])} values off, largest difference {largest:.3g}" if off else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("files", nargs="+", help="GOT WANT, any number of times")
    arguments = parser.parse_args()
    if len(arguments.files) % 2:
        parser.error("an odd number of files")
    bad = False
    for got, want in zip(arguments.files[::2], arguments.files[1::2]):
        reason = difference(load(got), load(want), arguments.atol, arguments.rtol)
        print(f"{got}: {reason or 'agrees'}")
        bad |= bool(reason)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
