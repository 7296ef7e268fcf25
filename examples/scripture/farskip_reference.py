# The FarSkip equations once more, in NumPy and float64, independent of model.py.
# SPDX-License-Identifier: Apache-2.0
"""Checks the trained model's own FarSkip forward: one token at a time, one expert at a time."""

import numpy as np

LAYERS, HEADS, KV_HEADS, HEAD_DIM, TOP_K, EPS, THETA = 6, 4, 2, 32, 2, 1e-6, 10000.0


def norm(x, weight):
    return weight * x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)


def silu(x):
    return x / (1.0 + np.exp(-x))


def rotate(x):
    """x: [S, heads, HEAD_DIM], rotated by position."""
    half = HEAD_DIM // 2
    angle = np.arange(len(x))[:, None, None] * THETA ** (-np.arange(half) / half)
    low, high = x[..., :half], x[..., half:]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate((low * cos - high * sin, high * cos + low * sin), -1)


def attention(w, p, x):
    s = len(x)
    q = rotate((x @ w[p + "q_proj.weight"].T).reshape(s, HEADS, HEAD_DIM))
    k = rotate((x @ w[p + "k_proj.weight"].T).reshape(s, KV_HEADS, HEAD_DIM))
    v = (x @ w[p + "v_proj.weight"].T).reshape(s, KV_HEADS, HEAD_DIM)
    out = np.zeros_like(q)
    for h in range(HEADS):
        g = h // (HEADS // KV_HEADS)
        for t in range(s):
            score = k[: t + 1, g] @ q[t, h] / np.sqrt(HEAD_DIM)
            e = np.exp(score - score.max())
            out[t, h] = (e / e.sum()) @ v[: t + 1, g]
    return out.reshape(s, -1) @ w[p + "o_proj.weight"].T


def mlp(w, p, x):
    gate, up = x @ w[p + "gate_proj.weight"].T, x @ w[p + "up_proj.weight"].T
    return (silu(gate) * up) @ w[p + "down_proj.weight"].T


def routed(w, p, x):
    out = np.zeros_like(x)
    for t, row in enumerate(x):
        logit = w[p + "router.weight"] @ row
        chosen = np.argsort(-logit, kind="stable")[:TOP_K]
        share = np.exp(logit[chosen] - logit.max())
        for e, weight in zip(chosen, share / share.sum()):
            gate, up = np.split(w[p + "experts.gate_up_proj"][e] @ row, 2)
            out[t] += weight * (w[p + "experts.down_proj"][e] @ (silu(gate) * up))
    return out


def two_stream_logits(parameters, ids):
    """ids [B, S] -> logits [B, S, 256] with all layers in FarSkip form.

    R holds everything, N lacks the routed experts of the layer before:
    a = Attn(LN1(N)); m = R; R' = R + a; MoE: s, r of LN2(m), N = R' + s, R = N + r;
    dense: R = N = R' + MLP(LN2(m)).
    """
    w = {k: v.detach().numpy().astype(np.float64) for k, v in parameters.items()}
    rows = []
    for sequence in ids:
        r_stream = n_stream = w["embedding.weight"][sequence]
        for i in range(LAYERS):
            p = f"layers.{i}."
            a = attention(w, p + "attention.", norm(n_stream, w[p + "input_norm.weight"]))
            x = norm(r_stream, w[p + "post_norm.weight"])
            r_prime = r_stream + a
            if i == 0:
                r_stream = n_stream = r_prime + mlp(w, p + "mlp.", x)
            else:
                n_stream = r_prime + mlp(w, p + "mlp.shared_expert.", x)
                r_stream = n_stream + routed(w, p + "mlp.", x)
        rows.append(norm(r_stream, w["norm.weight"]) @ w["lm_head.weight"].T)
    return np.stack(rows)
