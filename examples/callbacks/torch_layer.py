#!/usr/bin/env python3
"""A torch module inside a farcall program, with torch's own backward.

A GRU cell of torch is the step of a scan; the gradient of the scan is compared with the one that
torch finds by itself.

  python examples/callbacks/torch_layer.py
"""

import sys

import farcall as fc
import numpy as np
from farcall import lax
from farcall.experimental.buffer_callback import buffer_callback

try:
    import torch  # pyright: ignore[reportMissingImports]
except ImportError:
    sys.exit("This example needs torch: pip install torch")

STEPS, INPUTS, STATE = 20, 3, 5


def from_torch(module, result):
    """A module as a function of arrays that can be differentiated; `result` is like its result.

    Both directions work on the program's memory: DLPack shares it, and torch's graph of the
    backward dies before the callback returns.
    """

    def run(ctx, out, *arguments):
        with torch.no_grad():
            torch.from_dlpack(out).copy_(module(*map(torch.from_dlpack, arguments)))

    def run_backward(ctx, out, cotangent, *arguments):
        inputs = [torch.from_dlpack(argument).requires_grad_() for argument in arguments]
        with torch.enable_grad():
            gradients = torch.autograd.grad(module(*inputs), inputs, torch.from_dlpack(cotangent))
        for to, gradient in zip(out, gradients, strict=True):
            torch.from_dlpack(to).copy_(gradient)

    @fc.custom_vjp
    def function(*arguments):
        return buffer_callback(run, result)(*arguments)

    def forward(*arguments):
        return function(*arguments), arguments

    def backward(arguments, cotangent):
        return buffer_callback(run_backward, arguments)(cotangent, *arguments)

    function.defvjp(forward, backward)
    return function


def main():
    torch.manual_seed(0)
    module = torch.nn.GRUCell(INPUTS, STATE)
    batch = 4
    cell = from_torch(module, fc.ShapeDtypeStruct((batch, STATE), np.float32))
    rng = np.random.default_rng(0)
    xs = rng.normal(size=(STEPS, batch, INPUTS)).astype(np.float32)
    start = np.zeros((batch, STATE), np.float32)

    @fc.jit
    @fc.value_and_grad
    def loss(xs):
        state, _ = lax.scan(lambda state, x: (cell(x, state), None), start, xs)
        return (state * state).sum()

    value, gradient = loss(xs)

    leaf = torch.tensor(xs.tolist()).requires_grad_()
    state = torch.zeros(batch, STATE)
    for x in leaf:
        state = module(x, state)
    (state * state).sum().backward()
    np.testing.assert_allclose(gradient, leaf.grad.tolist(), rtol=1e-4, atol=1e-6)
    print(f"loss {float(value):.4f}; its gradient over {STEPS} steps is torch's")


if __name__ == "__main__":
    main()
