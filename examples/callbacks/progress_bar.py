#!/usr/bin/env python3
"""A progress bar that a compiled loop moves: debug.callback inside a scan.

The loop is one program; every hundredth of it, it calls back. Transformations leave the bar where
it is: the same function is differentiated with it.

  python examples/callbacks/progress_bar.py [--steps 20000]
"""

import argparse

import farcall as fc
import farcall.numpy as fnp
from farcall import lax
from tqdm import tqdm


def scan_with_bar(step, carry, length, parts=100, **options):
    """As lax.scan(step, carry, xs=fnp.arange(length)), with a bar of tqdm's."""
    part = max(1, length // parts)
    bar = tqdm(total=length, **options)

    def move(n):
        bar.update(int(n) + 1 - bar.n)

    def step_and_move(carry, n):
        result = step(carry, n)
        done = n + 1
        is_due = fnp.logical_or(done % part == 0, done == length)
        lax.cond(is_due, lambda: fc.debug.callback(move, n, ordered=True), lambda: None)
        return result

    return lax.scan(step_and_move, carry, fnp.arange(length))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20_000)
    steps = parser.parse_args().steps

    def settle(rate):
        """Newton's law of cooling, in many small steps."""

        def cool(heat, n):
            return heat - rate * heat / steps, None

        return scan_with_bar(cool, fnp.array(1.0), steps, desc="cooling")[0]

    heat, slope = fc.jit(fc.value_and_grad(settle))(1.0)
    print(f"heat {float(heat):.4f}, its derivative {float(slope):.4f}")
    assert abs(heat - 0.3679) < 1e-3
    assert abs(heat + slope) < 1e-3


if __name__ == "__main__":
    main()
