#!/usr/bin/env python3
"""A kernel compiled by numba inside a farcall program: dynamic time warping.

The distance of two signals that are alike up to their speed has a loop in which each element needs
its neighbours, so that arrays do not help.

  python examples/callbacks/numba_kernel.py
"""

import sys

import farcall as fc
import farcall.numpy as fnp
import numpy as np
from farcall.experimental.buffer_callback import buffer_callback

try:
    import numba
except ImportError:
    sys.exit("This example needs numba: pip install numba")


@numba.njit(nogil=True)  # other threads run meanwhile
def walk(x, y, out):
    """For each row of x and y, the cost of the cheapest way to walk along both."""
    for row in range(len(out)):
        costs = np.full(y.shape[1] + 1, np.inf, np.float32)
        costs[0] = 0
        for a in x[row]:
            corner, costs[0] = costs[0], np.inf
            for i, b in enumerate(y[row]):
                best = min(corner, costs[i], costs[i + 1])
                corner = costs[i + 1]
                costs[i + 1] = best + abs(a - b)
        out[row] = costs[-1]


def walk_in_place(ctx, out, x, y):
    x, y, out = (np.asarray(buffer) for buffer in (x, y, out))
    walk(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), out.reshape(-1))


def distance(x, y):
    """Of two signals. However often it is mapped, it is one call with all of them."""
    result = fc.ShapeDtypeStruct((), np.float32)
    return buffer_callback(walk_in_place, result, vmap_method="broadcast_all")(x, y)


def nearest(known, signals):
    """For each signal the number of the known one that it is most like."""
    distances = fc.vmap(fc.vmap(distance, (0, None)), (None, 0))(known, signals)
    return fnp.argmin(distances, axis=1)


def main():
    time = np.linspace(0, 1, 150)
    shapes = [np.sin, lambda x: np.sign(np.sin(x)), lambda x: (x / np.pi) % 2 - 1]
    rng = np.random.default_rng(0)

    def signal(number, speed):
        warped = 5 * np.pi * time**speed
        return shapes[number](warped) + 0.2 * rng.normal(size=len(time))

    known = np.array([signal(number, 1.0) for number in range(3)], np.float32)
    truth = rng.integers(3, size=60)
    speeds = rng.uniform(0.6, 1.7, size=60)
    signals = np.array([signal(*pair) for pair in zip(truth, speeds, strict=True)], np.float32)

    straight = np.abs(signals[:, None] - known).sum(axis=-1).argmin(axis=1)
    warped = fc.jit(nearest)(known, signals)
    print(f"told apart: {np.mean(np.asarray(warped) == truth):.0%}", end=", ")
    print(f"without warping {np.mean(straight == truth):.0%}")

    slowly = np.empty(1, np.float32)
    walk.py_func(known[:1], signals[:1], slowly)
    np.testing.assert_allclose(distance(known[0], signals[0]), slowly[0], rtol=1e-5)
    assert np.mean(np.asarray(warped) == truth) > 0.9


if __name__ == "__main__":
    main()
