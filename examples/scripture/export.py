# Exports trained weights to ONNX, stores reference logits, and checks both.
# SPDX-License-Identifier: Apache-2.0
"""export.py --weights DIR [KIND...]

Every KIND.onnx is what torch.onnx.export writes, plus the metadata key farskip.tokenizer. The
distilled weights are exported in standard wiring: it is the compiler that puts them into FarSkip
form. reference/ gets small inputs and PyTorch's logits for each kind in each wiring of interest.
"""

import argparse
from pathlib import Path

import numpy as np
import onnxruntime as ort
import torch

import data
from farskip_reference import two_stream_logits
from model import Scripture
from train import as_tensor, bits_per_byte, windows

HERE = Path(__file__).resolve().parent
SHAPES = [(1, 1), (2, 24), (3, 7)]
# name in reference/: (weights, FarSkip wiring)
REFERENCES = {
    "standard": ("standard", False),
    "forced": ("standard", True),
    "distilled": ("distilled", True),
    "native": ("native", True),
}


def load(weights, kind, **wiring):
    model = Scripture(**wiring).eval()
    model.load_state_dict(torch.load(weights / f"{kind}.pt")["model"])
    return model.requires_grad_(False)


def export(weights, kind):
    """Writes kind.onnx; the native model is the only one whose graph has the two streams."""
    model = load(weights, kind, farskip=kind == "native", exportable=True)
    dims = {"input_ids": {0: torch.export.Dim("batch"), 1: torch.export.Dim("seq")}}
    program = torch.onnx.export(
        model,
        (torch.zeros(2, 24, dtype=torch.int64),),
        dynamo=True,
        input_names=["input_ids"],
        output_names=["logits"],
        dynamic_shapes=dims,
    )
    program.model.metadata_props["farskip.tokenizer"] = "bytes"
    # Stack traces name folders of the machine that exported.
    for node in program.model.graph:
        node.metadata_props.pop("pkg.torch.onnx.stack_trace", None)
    program.save(str(HERE / f"{kind}.onnx"), include_initializers=True)
    return model


def sample_ids(shape):
    """Bytes of the held-out text."""
    text = np.frombuffer(data.HELDOUT.read_bytes(), dtype=np.uint8)
    count = shape[0] * shape[1]
    return text[1000 : 1000 + count].reshape(shape).astype(np.int64)


def check_graph(kind, model):
    """ONNX Runtime against PyTorch, for batches and lengths that the export did not see."""
    session = ort.InferenceSession(HERE / f"{kind}.onnx", providers=["CPUExecutionProvider"])
    worst = 0.0
    for shape in SHAPES + [(1, 300), (5, 64), (16, 1)]:
        ids = sample_ids(shape)
        got = session.run(["logits"], {"input_ids": ids})[0]
        want = model(torch.from_numpy(ids)).numpy()
        worst = max(worst, float(np.abs(got - want).max()))
    assert worst < 1e-3, worst
    return worst


def write_reference(weights, name):
    kind, farskip = REFERENCES[name]
    model = load(weights, kind, farskip=farskip, exportable=True)
    worst = 0.0
    for shape in SHAPES:
        label = "x".join(map(str, shape))
        ids = sample_ids(shape)
        logits = model(torch.from_numpy(ids)).numpy()
        np.save(HERE / "reference" / f"ids_{label}.npy", ids)
        np.save(HERE / "reference" / f"{name}_{label}.npy", logits)
        if farskip:
            again = two_stream_logits(dict(model.named_parameters()), ids)
            worst = max(worst, float(np.abs(again - logits).max()))
    assert worst < 1e-3, worst
    fast = load(weights, kind, farskip=farskip)
    x, y = windows(as_tensor(data.HELDOUT.read_bytes()))
    return worst, bits_per_byte(fast, x, y)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("kinds", nargs="*", default=["standard", "distilled", "native"])
    p.add_argument("--weights", type=Path, required=True)
    a = p.parse_args()
    (HERE / "reference").mkdir(exist_ok=True)
    for kind in a.kinds:
        worst = check_graph(kind, export(a.weights, kind))
        print(f"{kind}.onnx: ONNX Runtime differs from PyTorch by {worst:.1e} at most")
    for name, (kind, farskip) in REFERENCES.items():
        if kind in a.kinds:
            worst, bpb = write_reference(a.weights, name)
            note = f", two-stream equations differ by {worst:.1e} at most" if farskip else ""
            print(f"{name}: {bpb:.4f} bits per byte{note}")


if __name__ == "__main__":
    main()
