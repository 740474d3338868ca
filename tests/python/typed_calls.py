"""What type checkers must see: lines marked `wrong` are errors, all others are none."""

import functools

import farcall as fc
import farcall.numpy as fnp
from farcall import ffi, lax


def scaled(x: fc.Array, factor: float = 1.0) -> fc.Array:
    return x * factor


X = fnp.ones(3)

fc.jit(scaled)(X, factor=2.0)
fc.jit(scaled)(X, facter=2.0)  # wrong
fc.jit(scaled, static_argnums=1)(X, 2.0)
fc.jit(scaled, static_argnum=1)  # wrong
fc.jit(static_argnames="factor")(scaled)(X, factor=2.0)
fc.jit(static_argnames="factor")(scaled)(X, facter=2.0)  # wrong
result: fc.Array = fc.jit(scaled)(X)
text: str = fc.jit(scaled)(X)  # wrong
fc.jit(scaled).lower(X).compile()

fc.vmap(scaled)(X, factor=2.0)
fc.vmap(scaled)(X, facter=2.0)  # wrong
fc.grad(scaled)(X, factor=2.0)
fc.grad(scaled)(X, facter=2.0)  # wrong
fc.value_and_grad(scaled)(X, facter=2.0)  # wrong
fc.checkpoint(scaled)(X, facter=2.0)  # wrong
fc.jacrev(scaled)(X, facter=2.0)  # wrong
fc.hessian(scaled)(X, facter=2.0)  # wrong


@fc.custom_vjp
def clipped(x: fc.Array, low: float) -> fc.Array:
    return fnp.maximum(x, low)


clipped.defvjp(lambda x, low: (clipped(x, low), None), lambda _, g: (g, None))
clipped(X, low=0.0)
clipped(X, lov=0.0)  # wrong
more: fc.Array = clipped(X, 0.0)


@functools.partial(fc.custom_jvp, nondiff_argnums=(1,))
def powered(x: fc.Array, exponent: int) -> fc.Array:
    return x**exponent


powered(X, 2)


@fc.jit
def decorated(x: fc.Array) -> fc.Array:
    return x


decorated(X)
decorated(y=X)  # wrong


def step(carry: fc.Array, x: fc.Array) -> tuple[fc.Array, fc.Array]:
    return carry + x, x


last, all_of_them = lax.scan(step, 0.0, X)
last.sum()
last.summ()  # wrong
lax.scan(step, 0.0, X, lenght=3)  # wrong

one = ffi.ffi_call("scale", fc.ShapeDtypeStruct((3,), "float32"))(X, factor=2.0)
one.sum()
two = ffi.ffi_call("scale", [fc.ShapeDtypeStruct((3,), "float32")])(X)
two.append(one)
two.sum()  # wrong
ffi.ffi_call("scale", fc.ShapeDtypeStruct((3,), "float32"), vmap_metod="sequential")  # wrong

fnp.sin(X)
fnp.sin(y=X)  # wrong
fnp.zeros((2, 3), dtype="float32")
fnp.zeros((2, 3), typ="float32")  # wrong
