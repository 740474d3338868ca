"""Torch works in place on the buffers of callbacks, and computes gradients inside of one."""

import contextlib

import farcall as fc
import numpy as np
import torch
from farcall.experimental.buffer_callback import buffer_callback

x = np.arange(6, dtype=np.float32).reshape(2, 3)
y = x + 1
LIKE_X = fc.ShapeDtypeStruct((2, 3), np.float32)


def work_in_place(ctx, out, x, y):
    to = torch.from_dlpack(out)
    assert to.data_ptr() == out.unsafe_pointer
    torch.add(torch.from_dlpack(x), torch.from_dlpack(y), out=to)
    to.mul_(2)


call = buffer_callback(work_in_place, LIKE_X, vmap_method="sequential")
for run in (call, fc.jit(call)):
    np.testing.assert_array_equal(run(x, y), 2 * (x + y))
batch = np.stack([x, y])
np.testing.assert_array_equal(fc.jit(fc.vmap(call, (0, None)))(batch, y), 2 * (batch + y))


def scan(x):
    return fc.lax.scan(lambda c, _: (call(c, y), None), x, None, length=3)[0]


expected = x
for _ in range(3):
    expected = 2 * (expected + y)
np.testing.assert_array_equal(fc.jit(scan)(x), expected)


def write_to_argument(ctx, out, x):
    with contextlib.suppress(RuntimeError, BufferError):
        torch.from_dlpack(x).fill_(9)
    torch.from_dlpack(out).copy_(torch.from_dlpack(x))


# Older versions do not know what may only be read, and get a copy.
if int(torch.__version__.split(".")[0]) < 2:
    call = buffer_callback(write_to_argument, LIKE_X)
    np.testing.assert_array_equal(fc.jit(call)(x), x)


def backward(x):
    t = torch.tensor(np.asarray(x).tolist(), requires_grad=True)
    (t**3).sum().backward()
    return np.array(t.grad.tolist(), np.float32)


made = fc.jit(lambda x: fc.pure_callback(backward, x, x))(x)
np.testing.assert_allclose(made, 3 * x**2)
print("done")
