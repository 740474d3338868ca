"""Functions of farcall are operators of torch, with derivatives as torch has them."""

import concurrent.futures
import sys
from pathlib import Path

import farcall as fc
import farcall.numpy as fnp
import farcall.torch
import functorch
import numpy as np
import torch
from farcall.experimental.buffer_callback import buffer_callback

sys.path.append(str(Path(__file__).parents[1]))
from handler_library import load


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        message = str(error)
    else:
        message = "nothing was raised"
    assert text in message, message


def rms_norm(x, weight, *, eps):
    return x / fnp.sqrt((x * x).mean(axis=-1, keepdims=True) + eps) * weight


def own(x, weight, eps=1e-3):
    return x / torch.sqrt((x * x).mean(dim=-1, keepdim=True) + eps) * weight


norm = farcall.torch.register(
    "farcall_test::rms_norm", rms_norm, "(Tensor x, Tensor weight, *, float eps=1e-3) -> Tensor"
)
torch.manual_seed(0)
for dtype in (torch.float32, torch.float64):
    x, weight = torch.randn(4, 3, dtype=dtype), torch.randn(3, dtype=dtype)
    torch.testing.assert_close(norm(x, weight), own(x, weight))
    torch.testing.assert_close(norm(x.t()[:, :3].t(), weight, eps=0.5), own(x[:3], weight, 0.5))
assert torch.ops.farcall_test.rms_norm(x, weight).dtype == torch.float64

# Derivatives: against differences and against torch's own, first and second.
x.requires_grad_()
weight.requires_grad_()
assert torch.autograd.gradcheck(norm, (x, weight))
assert torch.autograd.gradgradcheck(norm, (x, weight))
for one, other in zip(
    torch.autograd.grad((norm(x, weight) ** 3).sum(), (x, weight), create_graph=True),
    torch.autograd.grad((own(x, weight) ** 3).sum(), (x, weight), create_graph=True),
    strict=True,
):
    torch.testing.assert_close(one, other)
    a, b = (torch.autograd.grad((g**2).sum(), x, retain_graph=True)[0] for g in (one, other))
    torch.testing.assert_close(a, b)
frozen = weight.detach()
torch.testing.assert_close(
    torch.autograd.grad(norm(x, frozen).sum(), x), torch.autograd.grad(own(x, frozen).sum(), x)
)


# Several results, one of which is an integer and one is not used.
def spread(x):
    return fnp.sin(x), x.argmax(), x * x


sines = farcall.torch.register(
    "farcall_test::spread", spread, "(Tensor x) -> (Tensor, Tensor, Tensor)"
)
v = torch.randn(5, dtype=torch.float64, requires_grad=True)
s, i, _ = sines(v)
assert i.item() == v.argmax().item()
assert not i.requires_grad
torch.testing.assert_close(torch.autograd.grad(s.sum(), v)[0], torch.cos(v).detach())

# Complex numbers have torch's gradients.
product = farcall.torch.register("farcall_test::product", lambda x, y: x * fnp.conj(y) * x)
z, w = (torch.randn(3, dtype=torch.complex128, requires_grad=True) for _ in range(2))
torch.testing.assert_close(
    torch.autograd.grad(product(z, w).abs().sum(), (z, w)),
    torch.autograd.grad((z * w.conj() * z).abs().sum(), (z, w)),
)
torch.testing.assert_close(product(z.conj(), w), z.conj() * w.conj() * z.conj())

# A foreign target by its definition: the kernel is C++, the derivative follows from linearity.
library = load("python_handlers.cpp")
fc.ffi.register_ffi_target("torch_scale", fc.ffi.pycapsule(library.scale))
scale = fc.ffi.define("torch_scale", shape="[...] -> [...]", linear_in=0)
scaled = farcall.torch.register("farcall_test::scale", scale, "(Tensor x, float factor) -> Tensor")
x = torch.ones(3, requires_grad=True)
y = scaled(x, 3.0)
torch.testing.assert_close(y, 3 * x)
torch.testing.assert_close(torch.autograd.grad((y**2).sum(), x)[0], torch.full((3,), 18.0))

# A program, and memory that stays torch's: results are never the operand or a constant.
table = fnp.arange(3.0)
program = fc.make_program(lambda x: x)(np.ones(3, np.float32))
same = farcall.torch.register("farcall_test::same", program, "(Tensor x) -> Tensor")
constant = farcall.torch.register("farcall_test::constant", lambda x: table)
x = torch.ones(3)
for _ in range(2):
    same(x).fill_(7)
    constant(x).fill_(7)
assert x.tolist() == [1, 1, 1]
assert constant(x).tolist() == [0, 1, 2]

# On the device meta there are shapes alone.
shape = norm(torch.empty(4, 3, device="meta"), torch.empty(3, device="meta"))
assert shape.device.type == "meta"
assert shape.shape == (4, 3)

# Nested batches over any axes.
batch = torch.randn(2, 4, 3)
torch.testing.assert_close(
    functorch.vmap(lambda x: norm(x, frozen.float()))(batch), own(batch, frozen.float())
)
rows, weights = torch.randn(5, 3, 4), torch.randn(3, 2)
torch.testing.assert_close(
    functorch.vmap(functorch.vmap(norm, in_dims=(None, 0)), in_dims=(2, None))(rows, weights.t()),
    own(rows.permute(2, 0, 1)[:, None], weights.t()[:, None]),
)
torch.testing.assert_close(functorch.vmap(sines)(batch[0])[0], torch.sin(batch[0]))

# A foreign call is made once for the whole batch.
shapes = []


def host(ctx, out, x):
    shapes.append(x.shape)
    np.asarray(out)[...] = 2 * np.asarray(x)


def doubled(x):
    like_x = fc.ShapeDtypeStruct(x.shape, x.dtype)
    return buffer_callback(host, like_x, vmap_method="broadcast_all")(x)


double = farcall.torch.register("farcall_test::double", doubled)
for _ in range(2):
    torch.testing.assert_close(functorch.vmap(double, in_dims=1)(batch[0]), 2 * batch[0].t())
assert shapes == [(3, 4), (3, 4)], shapes
raises(
    NotImplementedError,
    "torch.ops.farcall_test.double: torch cannot differentiate a Python operator inside",
    lambda: functorch.vmap(double)(batch.requires_grad_()),
)
batched = farcall.torch.register("farcall_test::batched", lambda x: fc.vmap(fnp.sin)(x))
batch = batch.detach().requires_grad_()
torch.testing.assert_close(torch.autograd.grad(batched(batch).sum(), batch)[0], torch.cos(batch))
batch = batch.detach()

# Threads, with operators that compile and run at the same time.
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    parts = [torch.randn(n, 3) for n in range(1, 9)] * 8
    for made, part in zip(pool.map(lambda x: norm(x, frozen.float()), parts), parts, strict=True):
        torch.testing.assert_close(made, own(part, frozen.float()))

raises(
    ValueError,
    'expected a name with a namespace, "mine::name", got "name"',
    lambda: farcall.torch.register("name", rms_norm),
)
raises(
    ValueError,
    'torch.register("mine::norm"): give the schema',
    lambda: farcall.torch.register("mine::norm", rms_norm),
)
raises(
    TypeError,
    "torch.register: expected a function, got 3",
    lambda: farcall.torch.register("mine::three", 3),
)
two = farcall.torch.register("farcall_test::two", lambda x: (x, x))
raises(
    TypeError,
    "torch.ops.farcall_test.two: the schema has 1 result, the function returned 2",
    lambda: two(x),
)
raises(
    TypeError,
    "torch.ops.farcall_test.product: farcall has no dtype torch.complex32",
    lambda: product(*[torch.zeros(2, dtype=torch.complex32)] * 2),
)
# Lists of numbers are static, and tensors may be left out.
powers = farcall.torch.register(
    "farcall_test::powers",
    lambda x, bias, powers: sum(x**n for n in powers) + (0 if bias is None else bias),
    "(Tensor x, Tensor? bias=None, *, int[] powers=[1, 2]) -> Tensor",
)
torch.testing.assert_close(powers(frozen, powers=[1, 3]), frozen + frozen**3)
bias = torch.ones(frozen.shape, dtype=frozen.dtype, requires_grad=True)
for _ in range(2):
    torch.testing.assert_close(powers(frozen, bias), frozen + frozen**2 + bias)
    bias.data.add_(1)
torch.testing.assert_close(torch.autograd.grad(powers(frozen, bias).sum(), bias)[0], 0 * bias + 1)
raises(
    ValueError,
    "lists of tensors are not supported",
    lambda: farcall.torch.register("mine::many", lambda x: x, "(Tensor[] x) -> Tensor"),
)
fails = farcall.torch.register("farcall_test::fails", lambda x: x.reshape(7))
raises(ValueError, "reshape", lambda: fails(x))
print("done")
