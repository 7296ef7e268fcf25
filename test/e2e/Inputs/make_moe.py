#!/usr/bin/env python3
"""Makes moe.onnx, a model of two mixture-of-experts blocks, and what ONNX Runtime computes with it.

Run with onnx 1.19, onnxruntime 1.23 or later and NumPy; the results are stored, so no test needs them.
"""
# SPDX-License-Identifier: Apache-2.0
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

VOCABULARY, WIDTH, HIDDEN, EXPERTS, CHOSEN = 32, 16, 12, 5, 2
HERE = os.path.dirname(os.path.abspath(__file__))
random = np.random.default_rng(7)
initializers, nodes = [], []


def weight(name, *shape):
    initializers.append(numpy_helper.from_array((random.standard_normal(shape) * 0.4).astype(np.float32), name))
    return name


def node(operator, inputs, output, **attributes):
    domain = attributes.pop("domain", "")
    nodes.append(helper.make_node(operator, inputs, [output], name=output, domain=domain, **attributes))
    return output


initializers.append(numpy_helper.from_array(np.array([-1, EXPERTS], np.int64), "flat"))
stream = node("Gather", [weight("embedding", VOCABULARY, WIDTH), "ids"], "x0")
for layer in range(2):
    p = f"l{layer}."
    normed = node("RMSNormalization", [stream, weight(p + "norm", WIDTH)], p + "normed")
    wide = node("MatMul", [normed, weight(p + "router", WIDTH, EXPERTS)], p + "wide")
    logits = node("Reshape", [wide, "flat"], p + "logits")
    experts = [
        normed,
        logits,
        weight(p + "fc1", EXPERTS, 2 * HIDDEN, WIDTH),
        weight(p + "b1", EXPERTS, 2 * HIDDEN),
        weight(p + "fc2", EXPERTS, WIDTH, HIDDEN),
        weight(p + "b2", EXPERTS, WIDTH),
    ]
    routed = node(
        "MoE",
        experts,
        p + "moe",
        domain="com.microsoft",
        k=CHOSEN,
        activation_type="swiglu",
        swiglu_fusion=1,
        activation_alpha=1.702,
        activation_beta=1.0,
        swiglu_limit=7.0,
        normalize_routing_weights=1,
    )
    stream = node("Add", [stream, routed], f"x{layer + 1}")
node("MatMul", [stream, weight("head", WIDTH, VOCABULARY)], "logits")

graph = helper.make_graph(
    nodes,
    "moe",
    [helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "sequence"])],
    [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])],
    initializers,
)
opsets = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
onnx.save(model, os.path.join(HERE, "moe.onnx"))

session = onnxruntime.InferenceSession(os.path.join(HERE, "moe.onnx"), providers=["CPUExecutionProvider"])
inputs = {
    "5x7": random.integers(0, VOCABULARY, (5, 7)),
    "1x3": random.integers(0, VOCABULARY, (1, 3)),
    # Equal tokens choose equal experts: the others get none.
    "4x6equal": np.full((4, 6), 3),
    "1x1": np.full((1, 1), 9),
}
for name, ids in inputs.items():
    ids = ids.astype(np.int64)
    np.save(os.path.join(HERE, f"moe-ids-{name}.npy"), ids)
    np.save(os.path.join(HERE, f"moe-logits-{name}.npy"), session.run(None, {"ids": ids})[0])
np.save(os.path.join(HERE, "moe-ids-0x4.npy"), np.zeros((0, 4), np.int64))
