#!/usr/bin/env python3
"""Compares results of the black-box checks with the lists of names that must pass.

A listed name that failed or was not reached is a failure; a name that passes and is not listed is printed as new.
The last line is "N passed, N failed" and counts the listed names.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import sys

from results import FOLDER, PROGRAMS, read_expected, read_results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", help="the folder that .ci/run fills, build/ci")
    parser.add_argument("--lists", default=FOLDER, help="the folder of the lists (default: this program's)")
    arguments = parser.parse_args()
    passed = failed = 0
    for program in PROGRAMS:
        found, expected = read_results(arguments.results, program), read_expected(arguments.lists, program)
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
