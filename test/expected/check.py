#!/usr/bin/env python3
"""Compares results of the black-box checks with the lists of names that must pass.

    check.py RESULTS        RESULTS is the folder that .ci/run fills, build/ci

A listed name that failed or was not reached is a failure; a name that passes and is not listed is printed as new.
The last line is "N passed, N failed" and counts the listed names.
"""
# SPDX-License-Identifier: Apache-2.0
import sys

from results import PROGRAMS, read_expected, read_results


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    passed = failed = 0
    for program in PROGRAMS:
        found, expected = read_results(sys.argv[1], program), read_expected(program)
        lost = sorted(name for name in expected if not found.get(name))
        new = sorted(name for name, good in found.items() if good and name not in expected)
        open_ones = sum(not good for name, good in found.items() if name not in expected)
        for name in lost:
            print(f"FAIL {program}: {name}: {'failed' if name in found else 'was not reached'}, but it passed before")
        for name in new:
            print(f"new  {program}: {name}")
        print(f"{program}: {len(expected) - len(lost)} of {len(expected)} listed pass, {len(new)} new, {open_ones} others do not pass yet")
        passed += len(expected) - len(lost)
        failed += len(lost)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
