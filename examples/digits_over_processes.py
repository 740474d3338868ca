#!/usr/bin/env python3
"""The classifier of digits, trained by several processes: each takes its part of every batch.

  mpirun -n 4 python examples/digits_over_processes.py [--handlers libdigits_handlers.so]

Alone, without mpirun, it trains on the devices of this process. The losses are the same.
"""

import argparse
import os

import digits_handlers
import farcall
import numpy as np
from digits_classifier import BATCH, RATE, adam, backward, batch_gradient, forward, initial
from farcall import P, lax
from sklearn.datasets import load_digits


def training_over(mesh):
    """One pass over the scans, as digits_classifier.train, on all devices of the mesh."""

    def part_of_gradient(weights, scans, labels):
        # Of weights that vary, the gradient is that of this part alone.
        own = farcall.tree.map(lambda w: lax.pcast(w, "data", to="varying"), weights)
        gradient, (losses, _) = batch_gradient(own, scans, labels)
        return farcall.tree.map(lambda g: lax.pmean(g, "data"), (gradient, losses.mean()))

    gradient_and_loss = farcall.shard_map(
        part_of_gradient, mesh=mesh, in_specs=(P(), P("data"), P("data")), out_specs=P()
    )

    @farcall.jit
    def train(state, scans, labels, batches):
        def step(state, batch):
            weights, moments, number = state
            gradient, loss = gradient_and_loss(weights, scans[batch], labels[batch])
            weights, moments = adam(weights, moments, gradient, np.float32(RATE), number)
            return (weights, moments, number + 1), loss

        return lax.scan(step, state, batches)

    return train


def main():
    parser = argparse.ArgumentParser(description="A classifier of digits, over processes.")
    parser.add_argument("--handlers", help="the library of foreign functions")
    parser.add_argument("--epochs", type=int, default=3)
    args = parser.parse_args()
    if "OMPI_COMM_WORLD_SIZE" in os.environ:
        farcall.distributed.initialize()
    digits_handlers.register(args.handlers, forward.target_name, backward.target_name)

    pixels, labels = load_digits(return_X_y=True)
    scans, labels = (pixels / 16).astype(np.float32), labels.astype(np.int32)
    random = np.random.default_rng(0)
    weights = initial(random)
    zeros = farcall.tree.map(np.zeros_like, weights)
    state = (weights, (zeros, zeros), np.float32(1))
    train = training_over(farcall.make_mesh((farcall.device_count(),), ("data",)))
    for epoch in range(1, args.epochs + 1):
        order = random.permutation(len(scans))[: len(scans) // BATCH * BATCH]
        state, losses = train(state, scans, labels, order.reshape(-1, BATCH).astype(np.int32))
        if farcall.process_index() == 0:
            print(f"epoch {epoch}: loss {float(np.mean(losses)):.5f}", flush=True)


if __name__ == "__main__":
    main()
