#!/usr/bin/env python3
"""Compiles the models of Inputs/operators, runs them and compares with what is stored beside them."""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import compare


def main():
    compiler, work = sys.argv[1], pathlib.Path(sys.argv[2])
    cases = sorted(path for path in (pathlib.Path(__file__).parent / "Inputs" / "operators").iterdir() if path.is_dir())
    bad = 0
    for case in cases:
        program = work / case.name
        inputs = [argument for path in sorted(case.glob("in_*.npy")) for argument in ("--input", f"{path.stem[3:]}={path}")]
        wanted = sorted(case.glob("out_*.npy"))
        got = [work / f"{case.name}-{path.stem}.npy" for path in wanted]
        outputs = [argument for path, at in zip(wanted, got) for argument in ("--output", f"{path.stem[4:]}={at}")]
        for command in ([compiler, str(case / "model.onnx"), "-o", str(program)], [str(program), *inputs, *outputs]):
            if subprocess.run(command, check=False).returncode:
                print(f"{case.name}: failed")
                bad += 1
                break
        else:
            for path, at in zip(wanted, got):
                want = compare.load(path)
                half = want[0] == "<f2"
                if reason := compare.difference(compare.load(at), want, 5e-3 if half else 1e-5, 5e-3 if half else 1e-5):
                    print(f"{case.name} {path.stem}: {reason}")
                    bad += 1
    print(f"{len(cases)} operators, {bad} wrong")
    return 1 if bad or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
