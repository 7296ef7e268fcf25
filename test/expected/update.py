#!/usr/bin/env python3
"""Adds the names that pass to the lists of names that must pass. The lists only grow."""
# SPDX-License-Identifier: Apache-2.0
import argparse
import pathlib

from results import FOLDER, PROGRAMS, read_expected, read_results


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="+", help="a folder that .ci/run has filled, build/ci")
    parser.add_argument("--lists", default=FOLDER, help="the folder of the lists (default: this program's)")
    arguments = parser.parse_args()
    for program in PROGRAMS:
        expected = read_expected(arguments.lists, program)
        names = set(expected)
        for folder in arguments.results:
            names |= {name for name, good in read_results(folder, program).items() if good}
        if names != expected:
            (pathlib.Path(arguments.lists) / f"{program}.txt").write_text("".join(f"{name}\n" for name in sorted(names)))
        print(f"{program}: {len(names)} names, {len(names - expected)} of them new")


if __name__ == "__main__":
    main()
