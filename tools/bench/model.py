# A synthetic mixture-of-experts model of standard ONNX operators, with seeded random weights.
# SPDX-License-Identifier: Apache-2.0
"""A decoder: embedding, layers of RMS-normed attention with grouped keys and a routed SwiGLU block, logits.

The routed block is spelled as exporters do for a loop over experts: each expert gathers its tokens, computes them and
adds them back, so an engine without any knowledge of mixtures does no work for tokens that an expert did not get.
"""

import argparse
import dataclasses

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


@dataclasses.dataclass
class Size:
    """The defaults give about 500 million parameters."""

    layers: int = 12
    width: int = 1024
    heads: int = 16
    groups: int = 4
    experts: int = 16
    chosen: int = 2
    hidden: int = 704
    vocabulary: int = 32000


class Graph:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.initializers, self.known, self.count, self.parameters = [], [], {}, 0, 0

    def op(self, kind, *inputs, outputs=1, **attributes):
        names = [f"{kind.lower()}_{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), names, name=f"{kind}_{self.count}", **attributes))
        self.count += 1
        return names[0] if outputs == 1 else names

    def weight(self, name, *shape, scale=None):
        scale = scale or shape[0] ** -0.5
        value = self.random.standard_normal(shape, dtype=np.float32) * np.float32(scale)
        self.initializers.append(numpy_helper.from_array(value, name))
        self.parameters += value.size
        return name

    def constant(self, value, dtype=np.int64):
        value = np.asarray(value, dtype)
        key = (value.dtype.str, value.shape, value.tobytes())
        if key not in self.known:
            name = self.known[key] = f"constant_{len(self.known)}"
            self.initializers.append(numpy_helper.from_array(value, name))
        return self.known[key]

    def norm(self, x, name, width):
        square = self.op("Mul", x, x)
        mean = self.op("ReduceMean", square, self.constant([-1]), keepdims=1)
        root = self.op("Sqrt", self.op("Add", mean, self.constant(1e-6, np.float32)))
        gamma = f"{name}.gamma"
        self.initializers.append(numpy_helper.from_array(np.ones(width, np.float32), gamma))
        return self.op("Mul", self.op("Div", x, root), gamma)


def attention(graph, x, name, size, mask, cosine, sine):
    depth = size.width // size.heads
    kv = size.groups * depth

    def heads(part, columns, count, rotate):
        y = graph.op("MatMul", x, graph.weight(f"{name}.{part}", size.width, columns))
        y = graph.op("Reshape", y, graph.constant([0, 0, count, depth]))
        y = graph.op("Transpose", y, perm=[0, 2, 1, 3])
        if not rotate:
            return y
        first, second = graph.op("Split", y, axis=3, outputs=2, num_outputs=2)
        turned = graph.op("Concat", graph.op("Neg", second), first, axis=3)
        return graph.op("Add", graph.op("Mul", y, cosine), graph.op("Mul", turned, sine))

    q = heads("q", size.width, size.heads, True)
    k, v = heads("k", kv, size.groups, True), heads("v", kv, size.groups, False)

    def repeat(y):
        shape = graph.op("Shape", y)
        batch = graph.op("Slice", shape, graph.constant([0]), graph.constant([1]))
        length = graph.op("Slice", shape, graph.constant([2]), graph.constant([3]))
        count, times = graph.constant([size.groups]), graph.constant([size.heads // size.groups])
        wide = graph.op("Concat", batch, count, times, length, graph.constant([depth]), axis=0)
        flat = graph.op("Concat", batch, graph.constant([size.heads]), length, graph.constant([depth]), axis=0)
        return graph.op("Reshape", graph.op("Expand", graph.op("Unsqueeze", y, graph.constant([2])), wide), flat)

    scores = graph.op("MatMul", q, graph.op("Transpose", repeat(k), perm=[0, 1, 3, 2]))
    scores = graph.op("Mul", scores, graph.constant(depth**-0.5, np.float32))
    weights = graph.op("Softmax", graph.op("Add", scores, mask), axis=-1)
    y = graph.op("Transpose", graph.op("MatMul", weights, repeat(v)), perm=[0, 2, 1, 3])
    y = graph.op("Reshape", y, graph.constant([0, 0, size.width]))
    return graph.op("MatMul", y, graph.weight(f"{name}.o", size.width, size.width))


def routed(graph, x, name, size):
    flat = graph.op("Reshape", x, graph.constant([-1, size.width]))
    router = graph.op("MatMul", flat, graph.weight(f"{name}.router", size.width, size.experts))
    weights, chosen = graph.op(
        "TopK", graph.op("Softmax", router, axis=-1), graph.constant([size.chosen]), axis=-1, outputs=2
    )
    weights = graph.op("Div", weights, graph.op("ReduceSum", weights, graph.constant([-1]), keepdims=1))
    one_hot = graph.op("OneHot", chosen, graph.constant([size.experts]), graph.constant([0, 1]))
    # [experts, chosen, tokens]
    table = graph.op("Transpose", one_hot, perm=[2, 1, 0])
    total = graph.op("Mul", flat, graph.constant(0, np.float32))
    for expert in range(size.experts):
        row = graph.op("Gather", table, graph.constant(expert), axis=0)
        slot, token = graph.op("Split", graph.op("NonZero", row), axis=0, outputs=2, num_outputs=2)
        slot, token = (graph.op("Squeeze", part, graph.constant([0])) for part in (slot, token))
        rows = graph.op("Gather", flat, token, axis=0)
        own = f"{name}.expert.{expert}"
        gate = graph.op("MatMul", rows, graph.weight(f"{own}.gate", size.width, size.hidden))
        up = graph.op("MatMul", rows, graph.weight(f"{own}.up", size.width, size.hidden))
        hidden = graph.op("Mul", graph.op("Mul", gate, graph.op("Sigmoid", gate)), up)
        down = graph.op("MatMul", hidden, graph.weight(f"{own}.down", size.hidden, size.width))
        pair = graph.op("Concat", graph.op("Unsqueeze", token, graph.constant([1])),
                        graph.op("Unsqueeze", slot, graph.constant([1])), axis=1)
        factor = graph.op("Unsqueeze", graph.op("GatherND", weights, pair), graph.constant([1]))
        index = graph.op("Unsqueeze", token, graph.constant([1]))
        total = graph.op("ScatterND", total, index, graph.op("Mul", down, factor), reduction="add")
    return graph.op("Reshape", total, graph.op("Shape", x))


def build(size, seed=0):
    """The model and its number of parameters."""
    graph = Graph(seed)
    depth = size.width // size.heads
    table = graph.weight("embedding", size.vocabulary, size.width, scale=1.0)
    x = graph.op("Gather", table, "input_ids", axis=0)
    length = graph.op("Squeeze", graph.op("Slice", graph.op("Shape", "input_ids"), graph.constant([1]),
                                          graph.constant([2])), graph.constant([0]))
    positions = graph.op("Range", graph.constant(0), length, graph.constant(1))
    rows, columns = (graph.op("Unsqueeze", positions, graph.constant([axis])) for axis in (1, 0))
    mask = graph.op("Where", graph.op("LessOrEqual", columns, rows), graph.constant(0, np.float32),
                    graph.constant(-3.4028235e38, np.float32))
    frequency = graph.constant(10000.0 ** (-np.arange(0, depth, 2) / depth), np.float32)
    angles = graph.op("Mul", graph.op("Cast", rows, to=TensorProto.FLOAT), frequency)
    angles = graph.op("Concat", angles, angles, axis=1)
    cosine, sine = graph.op("Cos", angles), graph.op("Sin", angles)
    for layer in range(size.layers):
        name = f"layer.{layer}"
        x = graph.op("Add", x, attention(graph, graph.norm(x, f"{name}.norm1", size.width), name, size, mask, cosine,
                                         sine))
        x = graph.op("Add", x, routed(graph, graph.norm(x, f"{name}.norm2", size.width), name, size))
    x = graph.norm(x, "norm", size.width)
    logits = graph.op("MatMul", x, graph.weight("head", size.width, size.vocabulary))
    graph.nodes.append(helper.make_node("Identity", [logits], ["logits"], name="output"))
    inputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "sequence"])]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "sequence", size.vocabulary])]
    onnx_graph = helper.make_graph(graph.nodes, "bench", inputs, outputs, graph.initializers)
    model = helper.make_model(onnx_graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, graph.parameters


def save(path, size, seed=0):
    """Writes PATH and PATH.data; returns the number of parameters."""
    model, parameters = build(size, seed)
    onnx.save(model, path, save_as_external_data=True, location=f"{path.name}.data", size_threshold=1024)
    return parameters


def main():
    from pathlib import Path

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    for field in dataclasses.fields(Size):
        parser.add_argument(f"--{field.name}", type=int, default=field.default)
    arguments = parser.parse_args()
    size = Size(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Size)})
    print(f"{save(arguments.output, size, arguments.seed):,} parameters")


if __name__ == "__main__":
    main()
