# Trains the three sets of weights: standard, distilled into FarSkip form, native FarSkip.
# SPDX-License-Identifier: Apache-2.0
"""train.py {standard,distilled,native} --out DIR [--steps N] [--minutes M]

Writes DIR/KIND.pt after every --save-every steps and at the end; run again to go on from there.
The learning rate follows whichever is further, steps or minutes, so a busy machine still ends
with a finished schedule.
"""

import argparse
import math
import os
import time
from pathlib import Path

import torch
import torch.nn.functional as F

import data
from model import Scripture

SEED = {"standard": 1, "distilled": 2, "native": 3}
RATE = {"standard": 3e-3, "distilled": 2e-3, "native": 3e-3}
BALANCE = 0.01  # weight of the load-balancing loss


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("kind", choices=SEED)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--steps", type=int, default=6500)
    p.add_argument("--minutes", type=float, default=math.inf)
    p.add_argument("--batch", type=int, default=4)
    p.add_argument("--seq", type=int, default=256)
    p.add_argument("--warmup", type=int, default=200)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--save-every", type=int, default=500)
    return p.parse_args()


def as_tensor(text):
    return torch.frombuffer(bytearray(text), dtype=torch.uint8).long()


def sample(text, batch, seq, generator):
    start = torch.randint(len(text) - seq, (batch, 1), generator=generator)
    window = text[start + torch.arange(seq + 1)]
    return window[:, :-1], window[:, 1:]


def windows(text, count=64, seq=256):
    """The windows that evaluate.sh uses: evenly spread over the text."""
    starts = [i * (len(text) - seq - 1) // (count - 1) for i in range(count)]
    w = torch.stack([text[s : s + seq + 1] for s in starts])
    return w[:, :-1], w[:, 1:]


@torch.no_grad()
def bits_per_byte(model, inputs, targets):
    training = model.training
    model.eval()
    logits = torch.cat([model(x) for x in inputs.split(8)])
    model.train(training)
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten()).item() / math.log(2)


def optimizer_for(model, rate):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)


def loss_of(model, teacher, x, y):
    logits = model(x).flatten(0, 1)
    if teacher is None:
        loss = F.cross_entropy(logits, y.flatten())
    else:
        with torch.no_grad():
            target = F.log_softmax(teacher(x).flatten(0, 1), dim=-1)
        student = F.log_softmax(logits, dim=-1)
        loss = F.kl_div(student, target, reduction="batchmean", log_target=True)
    return loss, loss + BALANCE * model.balance()


def main():
    a = parse()
    torch.set_num_threads(a.threads)
    torch.manual_seed(SEED[a.kind])
    generator = torch.Generator().manual_seed(SEED[a.kind])
    a.out.mkdir(parents=True, exist_ok=True)
    train_text, heldout = map(as_tensor, data.split())
    eval_x, eval_y = windows(heldout)

    model = Scripture(farskip=a.kind != "standard").train()
    teacher = None
    if a.kind == "distilled":
        weights = torch.load(a.out / "standard.pt")["model"]
        model.load_state_dict(weights)
        teacher = Scripture().eval().requires_grad_(False)
        teacher.load_state_dict(weights)
    optimizer = optimizer_for(model, RATE[a.kind])
    path = a.out / f"{a.kind}.pt"
    step, spent = 0, 0.0
    if path.exists():
        state = torch.load(path)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        step, spent = state["step"], state["seconds"]
    count = sum(p.numel() for p in model.parameters())
    print(f"{a.kind}: {count} parameters, from step {step}", flush=True)

    begin = time.monotonic() - spent
    smooth = None
    while True:
        spent = time.monotonic() - begin
        progress = max(step / a.steps, spent / 60 / a.minutes)
        if step % a.save_every == 0 or progress >= 1:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(),
                     "generator": generator.get_state(), "step": step, "seconds": spent}
            torch.save(state, path.with_suffix(".tmp"))
            os.replace(path.with_suffix(".tmp"), path)
            bpb = bits_per_byte(model, eval_x, eval_y)
            print(f"step {step} {spent:.0f} s train {smooth or 0:.4f} held-out {bpb:.4f} bits/byte",
                  flush=True)
        if progress >= 1:
            return
        rate = RATE[a.kind] * min((step + 1) / a.warmup, 0.02 + 0.49 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        x, y = sample(train_text, a.batch, a.seq, generator)
        shown, loss = loss_of(model, teacher, x, y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        smooth = shown.item() if smooth is None else 0.98 * smooth + 0.02 * shown.item()
        step += 1


if __name__ == "__main__":
    main()
