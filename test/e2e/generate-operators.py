#!/usr/bin/env python3
"""Writes small models of one operator each, with inputs and what ONNX Runtime makes of them, into Inputs/operators.

Needs numpy, onnx 1.23 and onnxruntime 1.32 (pip); operators.py, which compiles and compares, needs neither.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import shutil

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = pathlib.Path(__file__).parent / "Inputs" / "operators"
rng = np.random.default_rng(7)


def normal(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def write(name, op, inputs, outputs, attributes, constants=()):
    """inputs: name to array or None (left out), outputs: name to rank. Every extent of an input is dynamic."""
    given = {key: value for key, value in inputs.items() if value is not None}
    names = [key if key in given else "" for key in inputs]
    while not names[-1]:
        names.pop()
    node = helper.make_node(op, names, list(outputs), name="node", domain="com.microsoft", **attributes)
    kind = {key: helper.np_dtype_to_tensor_dtype(value.dtype) for key, value in given.items()}
    first = next(iter(given.values())).dtype
    ports = [
        helper.make_tensor_value_info(key, kind[key], [f"{key}_{axis}" for axis in range(value.ndim)])
        for key, value in given.items()
        if key not in constants
    ]
    results = [
        helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(first), [None] * rank)
        for key, rank in outputs.items()
    ]
    weights = [numpy_helper.from_array(given[key], key) for key in constants if key in given]
    graph = helper.make_graph([node], name, ports, results, weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="farskip tests")
    feeds = {key: value for key, value in given.items() if key not in constants}
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    folder = FOLDER / name
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for key, value in feeds.items():
        np.save(folder / f"in_{key}.npy", value)
    for key, value in zip(outputs, session.run(list(outputs), feeds)):
        np.save(folder / f"out_{key}.npy", value)


def grouped(name, batch=2, rows=3, past=0, heads=4, key_heads=2, size=16, packed=False, rotary=0,
            positions=None, bias=False, sink=False, dtype=np.float32, **attributes):
    total = past + rows
    width = (heads + 2 * key_heads) * size if packed else heads * size
    key = None if packed else normal(batch, rows, key_heads * size, dtype=dtype)
    value = None if packed else normal(batch, rows, key_heads * size, dtype=dtype)
    angles = np.arange(32)[:, None] / 10000 ** (np.arange(max(rotary, 2) // 2) / max(rotary, 2) * 2)
    if rotary:
        attributes["do_rotary"] = 1
    write(
        "gqa_" + name,
        "GroupQueryAttention",
        {
            "query": normal(batch, rows, width, dtype=dtype),
            "key": key,
            "value": value,
            "past_key": normal(batch, key_heads, past, size, dtype=dtype),
            "past_value": normal(batch, key_heads, past, size, dtype=dtype),
            "seqlens_k": np.full(batch, total - 1, np.int32),
            "total": np.array(total, np.int32),
            "cosines": np.cos(angles).astype(dtype) if rotary else None,
            "sines": np.sin(angles).astype(dtype) if rotary else None,
            "positions": positions,
            "bias": normal(batch, 1, rows, total, dtype=dtype) if bias else None,
            "sink": normal(heads, dtype=dtype) if sink else None,
        },
        {"output": 3, "present_key": 4, "present_value": 4},
        {"num_heads": heads, "kv_num_heads": key_heads, **attributes},
        constants=("cosines", "sines"),
    )


def multi_head(name, batch=2, rows=3, keys=0, past=0, heads=2, size=8, value_size=0, bias=False, mask=None,
               added=False, **attributes):
    keys, value_size = keys or rows, value_size or size
    total = past + keys
    masks = {
        "lengths": lambda: rng.integers(1, total + 1, batch).astype(np.int32),
        "keys": lambda: rng.integers(0, 2, (batch, total)).astype(np.int32),
        "rows": lambda: rng.integers(0, 2, (batch, rows, total)).astype(np.int32),
    }
    write(
        "mha_" + name,
        "MultiHeadAttention",
        {
            "query": normal(batch, rows, heads * size),
            "key": normal(batch, keys, heads * size),
            "value": normal(batch, keys, heads * value_size),
            "projection": normal(heads * (2 * size + value_size)) if bias else None,
            "mask": masks[mask]() if mask else None,
            "added": normal(1, heads, rows, total) if added else None,
            "past_key": normal(batch, heads, past, size) if past else None,
            "past_value": normal(batch, heads, past, value_size) if past else None,
        },
        {"output": 3, "present_key": 4, "present_value": 4} if past else {"output": 3},
        {"num_heads": heads, **attributes},
        constants=("projection",),
    )


def pack(numbers, bits):
    count = 8 // bits
    parts = numbers.reshape(*numbers.shape[:-1], -1, count).astype(np.uint8)
    return np.bitwise_or.reduce([parts[..., i] << (bits * i) for i in range(count)])


def packed_product(name, rows=3, k=72, n=5, bits=4, block=32, zeros=None, dtype=np.float32):
    blocks = -(-k // block)
    points = None
    if zeros == "packed":
        numbers = rng.integers(0, 1 << bits, (n, blocks))
        points = pack(np.pad(numbers, ((0, 0), (0, -blocks % (8 // bits)))), bits)
    elif zeros == "floats":
        points = normal(n, blocks, dtype=dtype)
    write(
        "nbits_" + name,
        "MatMulNBits",
        {
            "a": normal(2, rows, k, dtype=dtype),
            "b": pack(rng.integers(0, 1 << bits, (n, blocks, block)), bits),
            "scales": normal(n, blocks, dtype=dtype) * dtype(0.1),
            "zeros": points,
        },
        {"y": 3},
        {"K": k, "N": n, "bits": bits, "block_size": block},
        constants=("b", "scales", "zeros"),
    )


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    grouped("prompt")
    grouped("packed_decode", rows=1, past=5, packed=True, rotary=16)
    grouped("chunk", batch=1, rows=3, past=4, rotary=16, rotary_interleaved=1)
    grouped("partial_rotary", size=32, rotary=16)
    grouped("positions", rows=1, past=3, rotary=16, positions=np.array([[3], [7]], np.int64))
    grouped("window", rows=6, local_window_size=2)
    grouped("softcap", softcap=2.0, scale=0.5)
    grouped("smooth", smooth_softmax=1)
    grouped("sink_bias", sink=True, bias=True)
    grouped("half", batch=1, rows=2, past=3, rotary=16, dtype=np.float16)
    grouped("long", batch=1, rows=5, past=130)
    multi_head("plain")
    multi_head("cross", keys=5, value_size=16, bias=True)
    multi_head("past", rows=2, past=3, unidirectional=1)
    multi_head("lengths", mask="lengths")
    multi_head("keys", mask="keys", added=True)
    multi_head("rows", mask="rows")
    packed_product("4")
    packed_product("4_packed", zeros="packed")
    packed_product("4_floats", zeros="floats")
    packed_product("2_packed", bits=2, block=16, zeros="packed")
    packed_product("8", bits=8)
    packed_product("4_half", dtype=np.float16, zeros="packed", rows=5)


if __name__ == "__main__":
    main()
