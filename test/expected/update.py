#!/usr/bin/env python3
"""Adds the names that pass to the lists of names that must pass. The lists only grow.

    update.py RESULTS...    folders that .ci/run has filled, build/ci
"""
# SPDX-License-Identifier: Apache-2.0
import sys

from results import FOLDER, PROGRAMS, read_expected, read_results


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for program in PROGRAMS:
        expected = read_expected(program)
        names = set(expected)
        for folder in sys.argv[1:]:
            names |= {name for name, good in read_results(folder, program).items() if good}
        if names != expected:
            (FOLDER / f"{program}.txt").write_text("".join(f"{name}\n" for name in sorted(names)))
        print(f"{program}: {len(names)} names, {len(names - expected)} of them new")


if __name__ == "__main__":
    main()
