#!/usr/bin/env python3
"""A picture that a compiled training loop draws while it runs.

A small network learns a curve. Every few hundred steps the loop, which is one program, calls back
with what it has learnt so far, and the picture is written anew: a viewer that reloads it sees the
curve form.

  python examples/callbacks/live_plot.py [--picture live_plot.png] [--steps 4000]
"""

import argparse
import pathlib

import farcall as fc
import farcall.numpy as fnp
import matplotlib
import numpy as np
from farcall import lax

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HIDDEN, RATE, PARTS = 32, 0.02, 8


class LivePlot:
    """Draws a line for each call, the latest one on top of paler earlier ones."""

    def __init__(self, picture, x, noisy, truth):
        self.picture = pathlib.Path(picture)
        self.x = x
        plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False})
        self.figure, (self.left, self.right) = plt.subplots(
            1, 2, figsize=(12, 5), width_ratios=(3, 2), layout="constrained"
        )
        self.left.plot(x, noisy, ".", color="#b8bcc4", label="what it sees")
        self.left.plot(x, truth, color="#55595f", lw=1, ls="--", label="the curve")
        self.left.set(xlabel="x", ylabel="y", ylim=(noisy.min() - 0.3, noisy.max() + 0.5))
        self.right.set(xlabel="step", ylabel="mean square error", yscale="log")
        self.steps, self.losses, self.line, self.count = [], [], None, 0

    def __call__(self, step, loss, learnt):
        self.count += 1
        self.steps.append(int(step))
        self.losses.append(float(loss))
        if self.line:
            label = "earlier" if self.count == 2 else "_earlier"  # one for the legend
            self.line.set(color="#9db8d9", lw=1, label=label)
        (self.line,) = self.left.plot(self.x, np.asarray(learnt), color="#c44e52", lw=2.5)
        self.line.set_label("what it has learnt")
        self.left.set_title(f"step {int(step)}", loc="left")
        self.left.legend(loc="upper right", frameon=False, ncols=4, fontsize=10)
        for line in self.right.lines:
            line.remove()
        self.right.plot(self.steps, self.losses, "o-", color="#1f3b63")
        # Whoever looks meanwhile sees a whole picture.
        unfinished = self.picture.with_suffix(".part.png")
        self.figure.savefig(unfinished, dpi=100)
        unfinished.replace(self.picture)


def network(parameters, x):
    inner, shift, outer = parameters
    return fnp.tanh(x[:, None] * inner + shift) @ outer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", default="live_plot.png")
    parser.add_argument("--steps", type=int, default=4000)
    args = parser.parse_args()

    rng = np.random.default_rng(0)
    x = np.linspace(-3, 3, 120, dtype=np.float32)
    truth = np.sin(2 * x) + 0.3 * x
    noisy = (truth + 0.15 * rng.normal(size=x.shape)).astype(np.float32)
    start = [rng.normal(size=HIDDEN) * scale for scale in (2, 2, 0.1)]
    plot = LivePlot(args.picture, x, noisy, truth)
    part = max(1, args.steps // PARTS)

    def loss(parameters):
        learnt = network(parameters, x)
        return ((learnt - noisy) ** 2).mean(), learnt

    def descend(parameters, step):
        (error, learnt), slopes = fc.value_and_grad(loss, has_aux=True)(parameters)
        lax.cond(
            step % part == 0,
            lambda: fc.debug.callback(plot, step, error, learnt, ordered=True),
            lambda: None,
        )
        return [p - RATE * slope for p, slope in zip(parameters, slopes, strict=True)], error

    train = fc.jit(lambda start: lax.scan(descend, start, fnp.arange(args.steps + 1)))
    _, errors = train([part.astype(np.float32) for part in start])
    print(f"{args.picture}: drawn {plot.count} times, error {float(errors[-1]):.4f}")
    assert errors[-1] < errors[0]


if __name__ == "__main__":
    main()
