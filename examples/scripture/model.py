# The scripture model: a byte-level Mixture-of-Experts transformer in standard or FarSkip wiring.
# SPDX-License-Identifier: Apache-2.0
"""One set of parameters, two wirings.

Standard wiring reads the residual stream as it is. FarSkip wiring keeps two streams, R with the
routed experts' output and N without it: attention reads N (so it need not wait for the routed
experts of the layer before), router and experts read the R that entered the layer (so they need
not wait for attention).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    vocab: int = 256
    width: int = 128
    layers: int = 6
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 32
    dense_width: int = 384  # MLP of the first layer
    experts: int = 8
    top_k: int = 2
    expert_width: int = 64
    shared_width: int = 128
    rope_theta: float = 10000.0
    eps: float = 1e-6


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate_half(x):
    low, high = x.chunk(2, dim=-1)
    return torch.cat((-high, low), dim=-1)


class Attention(nn.Module):
    """Grouped-query attention with rotary positions. [B, S, width] -> [B, S, width]."""

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.q_proj = nn.Linear(c.width, c.heads * c.head_dim, bias=False)
        self.k_proj = nn.Linear(c.width, c.kv_heads * c.head_dim, bias=False)
        self.v_proj = nn.Linear(c.width, c.kv_heads * c.head_dim, bias=False)
        self.o_proj = nn.Linear(c.heads * c.head_dim, c.width, bias=False)

    def forward(self, x, cos, sin, mask):
        b, s, _ = x.shape
        c = self.c
        q = self.q_proj(x).view(b, s, c.heads, c.head_dim).transpose(1, 2)
        k = self.k_proj(x).view(b, s, c.kv_heads, c.head_dim).transpose(1, 2)
        v = self.v_proj(x).view(b, s, c.kv_heads, c.head_dim).transpose(1, 2)
        q = q * cos + rotate_half(q) * sin
        k = k * cos + rotate_half(k) * sin
        if mask is None:  # training: the fused kernel
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        else:
            k, v = self._repeat(k), self._repeat(v)
            scores = torch.matmul(q, k.transpose(2, 3)) * c.head_dim**-0.5 + mask
            y = torch.matmul(F.softmax(scores, dim=-1), v)
        return self.o_proj(y.transpose(1, 2).reshape(b, s, c.heads * c.head_dim))

    def _repeat(self, x):
        b, h, s, d = x.shape
        n = self.c.heads // h
        return x[:, :, None].expand(b, h, n, s, d).reshape(b, h * n, s, d)


class MLP(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Experts(nn.Module):
    """Routed experts, weights stacked: gate_up [E, 2*inner, width], down [E, width, inner]."""

    def __init__(self, c: Config):
        super().__init__()
        self.gate_up_proj = nn.Parameter(torch.empty(c.experts, 2 * c.expert_width, c.width))
        self.down_proj = nn.Parameter(torch.empty(c.experts, c.width, c.expert_width))

    def grouped(self, x, index, weight):
        """For training: one product per expert over the tokens that chose it."""
        n, k = index.shape
        order = index.reshape(-1).argsort(stable=True)
        counts = torch.bincount(index.reshape(-1), minlength=self.down_proj.shape[0]).tolist()
        token = order // k
        parts = []
        for e, rows in enumerate(x[token].split(counts)):
            gate, up = F.linear(rows, self.gate_up_proj[e]).chunk(2, dim=-1)
            parts.append(F.linear(F.silu(gate) * up, self.down_proj[e]))
        y = torch.cat(parts) * weight.reshape(-1)[order].unsqueeze(-1)
        return torch.zeros_like(x).index_add(0, token, y)

    def batched(self, x, index, weight):
        """For export: weights gathered by chosen expert, right for every routing."""
        n, k = index.shape
        token = torch.arange(n, device=x.device).unsqueeze(1).expand(n, k).reshape(-1)
        expert = index.reshape(-1)
        rows = x[token].unsqueeze(-1)
        gate, up = torch.bmm(self.gate_up_proj[expert], rows).squeeze(-1).chunk(2, dim=-1)
        hidden = (F.silu(gate) * up).unsqueeze(-1)
        y = torch.bmm(self.down_proj[expert], hidden).squeeze(-1)
        y = y * weight.reshape(-1).unsqueeze(-1)
        return y.view(n, k, -1).sum(dim=1)


class MoE(nn.Module):
    """Router (softmax, top-k, renormalise) and routed experts, plus one shared expert."""

    def __init__(self, c: Config):
        super().__init__()
        self.c = c
        self.router = nn.Linear(c.width, c.experts, bias=False)
        self.experts = Experts(c)
        self.shared_expert = MLP(c.width, c.shared_width)
        self.balance = None  # load-balancing loss of the last training forward

    def routed(self, x, batched):
        flat = x.reshape(-1, self.c.width)
        probs = F.softmax(self.router(flat), dim=-1)
        weight, index = torch.topk(probs, self.c.top_k, dim=-1)
        weight = weight / weight.sum(dim=-1, keepdim=True)
        if self.training:
            share = F.one_hot(index, self.c.experts).float().mean(dim=(0, 1))
            self.balance = self.c.experts * (share * probs.mean(dim=0)).sum()
        run = self.experts.batched if batched else self.experts.grouped
        return run(flat, index, weight).view(x.shape)


class Layer(nn.Module):
    def __init__(self, c: Config, dense):
        super().__init__()
        self.input_norm = RMSNorm(c.width, c.eps)
        self.attention = Attention(c)
        self.post_norm = RMSNorm(c.width, c.eps)
        self.mlp = MLP(c.width, c.dense_width) if dense else MoE(c)

    def forward(self, full, partial, cos, sin, mask, farskip):
        """full is the stream with the routed output of the layer before, partial the one without."""
        source = partial if farskip else full
        after = full + self.attention(self.input_norm(source), cos, sin, mask)
        x = self.post_norm(full if farskip else after)
        if isinstance(self.mlp, MLP):
            after = after + self.mlp(x)
            return after, after
        partial = after + self.mlp.shared_expert(x)
        return partial + self.mlp.routed(x, batched=mask is not None), partial


class Scripture(nn.Module):
    """input_ids int64 [batch, seq] -> logits f32 [batch, seq, vocab].

    farskip: wiring of all layers. exportable: spell attention and experts with plain operators
    (explicit causal mask, gathered weights) instead of the forms that train fast.
    """

    def __init__(self, c: Config = Config(), farskip=False, exportable=False):
        super().__init__()
        self.c, self.farskip, self.exportable = c, farskip, exportable
        self.embedding = nn.Embedding(c.vocab, c.width)
        self.layers = nn.ModuleList(Layer(c, dense=i == 0) for i in range(c.layers))
        self.norm = RMSNorm(c.width, c.eps)
        self.lm_head = nn.Linear(c.width, c.vocab, bias=False)
        inverse = c.rope_theta ** (-torch.arange(0, c.head_dim, 2).float() / c.head_dim)
        self.register_buffer("inverse_frequency", inverse, persistent=False)
        self._initialise()

    def _initialise(self):
        for name, p in self.named_parameters():
            if p.dim() < 2:
                continue
            std = p.shape[-1] ** -0.5
            if name.endswith(("o_proj.weight", "down_proj.weight", "down_proj")):
                std /= (2 * self.c.layers) ** 0.5
            if name.startswith(("embedding", "lm_head")) or "router" in name:
                std = 0.02
            nn.init.normal_(p, std=std)

    def forward(self, input_ids):
        s = input_ids.shape[1]
        position = torch.arange(s, device=input_ids.device)
        angle = position.float()[:, None] * self.inverse_frequency[None, :]
        angle = torch.cat((angle, angle), dim=-1)
        cos, sin = angle.cos(), angle.sin()
        mask = None
        if self.exportable:
            visible = position[None, :] <= position[:, None]
            mask = torch.where(visible, 0.0, torch.finfo(torch.float32).min)
        full = partial = self.embedding(input_ids)
        for layer in self.layers:
            full, partial = layer(full, partial, cos, sin, mask, self.farskip)
        return self.lm_head(self.norm(full))

    def balance(self):
        moe = [layer.mlp for layer in self.layers if isinstance(layer.mlp, MoE)]
        return sum(m.balance for m in moe) / len(moe)
