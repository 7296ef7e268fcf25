# Times compiled models against ONNX Runtime in the same run, and the compiler itself.
# SPDX-License-Identifier: Apache-2.0
"""Needs Python with numpy, onnx and onnxruntime; see README.md for what is measured and how to read it."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import model as synthetic  # noqa: E402

INPUTS = {"prefill 1x512": (1, 512), "decode 8x1": (8, 1)}


def compile_model(compiler, source, output):
    """Seconds, and the peak of memory in MiB without the pages of mapped files."""
    start = time.monotonic()
    process = subprocess.Popen([compiler, source, "-o", output], stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except OSError:
            break
        found = re.search(r"RssAnon:\s+(\d+) kB", status)
        peak = max(peak, int(found.group(1)) if found else 0)
        time.sleep(0.01)
    if process.wait():
        sys.exit(f"{compiler} failed on {source}")
    return time.monotonic() - start, peak / 1024


def median_of_program(program, ids, output, threads, repeats):
    result = subprocess.run(
        [program, "--input", f"input_ids={ids}", "--output", f"logits={output}", "--threads", str(threads),
         "--repeat", str(repeats), "--profile=json"],
        check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["median_s"]


def time_runs(program, source, folder, threads, rounds):
    """Both engines in turn, `rounds` times; medians and their ratios."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin would take the other engine's cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(str(source), options, providers=["CPUExecutionProvider"])
    random = np.random.default_rng(0)
    vocabulary = session.get_outputs()[0].shape[2]
    results = {}
    for name, shape in INPUTS.items():
        ids, output = folder / "ids.npy", folder / "logits.npy"
        np.save(ids, random.integers(0, vocabulary, shape))
        repeats = 3 if shape[1] > 1 else 15
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(median_of_program(program, ids, output, threads, repeats))
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                wanted = session.run(None, {"input_ids": np.load(ids)})[0]
                times.append(time.perf_counter() - start)
            theirs.append(float(np.median(times)))
        results[name] = {
            "seconds": float(np.median(ours)),
            "onnxruntime_seconds": float(np.median(theirs)),
            "ratio": float(np.median(np.array(ours) / np.array(theirs))),
            "largest_difference": float(np.abs(np.load(output) - wanted).max()),
        }
    return results


def fit_compile_time(compiler, folder, counts):
    """Compile time of one narrow shape over numbers of layers, and the straight line through it."""
    times = []
    for layers in counts:
        source = folder / f"layers{layers}.onnx"
        synthetic.save(source, synthetic.Size(layers=layers, width=64, heads=4, groups=2, experts=8, hidden=48,
                                              vocabulary=256))
        times.append(compile_model(compiler, source, folder / f"layers{layers}")[0])
        print(f"compile, {layers} layers: {times[-1]:.2f} s", flush=True)
    slope, start = np.polyfit(counts, times, 1)
    residual = np.array(times) - (slope * np.array(counts) + start)
    spread = np.var(times)
    return {"layers": list(counts), "seconds": times, "seconds_per_layer": float(slope), "start": float(start),
            "r_squared": float(1 - np.var(residual) / spread) if spread else 1.0}


def main():
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compiler", default=root / "build/dev/bin/farskip-opt", type=Path)
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--model", type=Path, help="an .onnx with input_ids and logits; default: the synthetic model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--layers", default="8,16,32,64", help="for the fit of compile time; empty: none")
    parser.add_argument("--folder", type=Path, help="where models are kept between runs; default: removed afterwards")
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="farskip-bench-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        figures = run(arguments, folder)
    finally:
        if not arguments.folder:
            shutil.rmtree(folder)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def run(arguments, folder):
    source = arguments.model or folder / "model.onnx"
    if not source.exists():
        print(f"writing {source}: {synthetic.save(source, synthetic.Size()):,} parameters", flush=True)
    program = folder / "model"
    seconds, peak = compile_model(arguments.compiler, source, program)
    print(f"compile: {seconds:.1f} s, {peak:.0f} MiB beyond mapped files", flush=True)
    figures = {"cpu": cpu_name(), "cores": os.cpu_count(), "compile_seconds": seconds, "compile_mib": peak,
               "threads": {}}
    for threads in map(int, arguments.threads.split(",")):
        figures["threads"][threads] = results = time_runs(program, source, folder, threads, arguments.rounds)
        for name, one in results.items():
            print(f"{name}, {threads} thread{'s' * (threads > 1)}: {one['seconds'] * 1e3:.1f} ms, "
                  f"ONNX Runtime {one['onnxruntime_seconds'] * 1e3:.1f} ms, ratio {one['ratio']:.2f}, "
                  f"largest difference {one['largest_difference']:.1e}", flush=True)
    if arguments.layers:
        fit = figures["compile_fit"] = fit_compile_time(arguments.compiler, folder,
                                                        [int(n) for n in arguments.layers.split(",")])
        print(f"compile time: {fit['start']:.2f} s + {fit['seconds_per_layer']:.3f} s a layer, "
              f"R² {fit['r_squared']:.4f}")
    return figures


def cpu_name():
    found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    return found.group(1) if found else "unknown"


if __name__ == "__main__":
    main()
