"""Words of transformations: every product of up to three of them gives what JAX gives, for programs
and for foreign calls.

Of the products of three, each is tried with some of the functions; the slow tests are the rest.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import farcall as fc
import numpy as np
import pytest
from handler_library import load

jax = pytest.importorskip("jax")
from both import FARCALL, JAX, Modules, assert_same  # noqa: E402

# ---- the alphabet: each letter makes a function of x another function of x ----


def ramp(v: Any) -> Any:
    """A direction that depends on the point, so that derivatives nest truly."""
    return 0.4 + 0.3 * v


def two(m: Modules, x: Any) -> Any:
    """A batch of two, of opposite signs, so that both branches of a choice are taken."""
    return m.root.tree.map(lambda v: m.np.stack([v, -0.7 * v]), x)


def under_vmap(m: Modules, f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: m.root.vmap(f)(two(m, x))


def under_jvp(m: Modules, f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: m.root.jvp(f, (x,), (m.root.tree.map(ramp, x),))


def under_vjp(m: Modules, f: Callable[..., Any]) -> Callable[..., Any]:
    def pulled_back(x: Any) -> Any:
        results, pullback = m.root.vjp(f, x)
        return pullback(m.root.tree.map(ramp, results))

    return pulled_back


def under_scan(m: Modules, f: Callable[..., Any]) -> Callable[..., Any]:
    """Each step's input depends on all results of the step before."""

    def step(carry: Any, x: Any) -> Any:
        results = f(m.root.tree.map(lambda v: v + 0.3 * carry, x))
        means = [v.mean() for v in m.root.tree.leaves(results)]
        return m.np.tanh(functools.reduce(lambda a, b: a + b, means)), results

    return lambda x: m.lax.scan(step, m.np.asarray(np.float64(0.5)), two(m, x))


LETTERS: dict[str, Callable[[Modules, Callable[..., Any]], Callable[..., Any]]] = {
    "jit": lambda m, f: m.root.jit(f),
    "vmap": under_vmap,
    "jvp": under_jvp,
    "vjp": under_vjp,
    "scan": under_scan,
    "checkpoint": lambda m, f: m.root.checkpoint(f),
}
Word = tuple[str, ...]


def essential(word: Word) -> Word:
    """Without jit and checkpoint: they change no value, so such words share what JAX gives."""
    return tuple(letter for letter in word if letter not in ("jit", "checkpoint"))


WORDS = [word for length in (1, 2, 3) for word in itertools.product(LETTERS, repeat=length)]
WORDS.sort(key=essential)  # neighbours share


def spelled(m: Modules, word: Word, f: Callable[..., Any]) -> Callable[..., Any]:
    """``vmap-jvp`` is the vmap of the jvp of f."""
    for letter in reversed(word):
        f = LETTERS[letter](m, f)
    return f


# ---- programs ----


def chain(m: Modules, x: Any) -> Any:
    return m.np.tanh(m.np.sin(x) * x + m.np.exp(-x * x))


def rms_norm(m: Modules, x: Any) -> Any:
    return x * m.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-2)


def network(m: Modules, p: Any) -> Any:
    return m.np.tanh(m.np.asarray(BATCH) @ p["w"] + p["b"]) @ p["v"]


def branches(m: Modules, x: Any) -> Any:
    bent = m.np.where(x > 0.2, x, x * x)
    return m.lax.cond(x.sum() > 0, lambda v: m.np.sin(v) * v, lambda v: v * v * v + 1, bent)


def recurrence(m: Modules, x: Any) -> Any:
    def step(carry: Any, v: Any) -> Any:
        return m.np.sin(carry * v) + v, carry * v

    return m.lax.scan(step, m.np.asarray(np.float64(0.5)), x)


RANDOM = np.random.default_rng(5)
BATCH = RANDOM.normal(size=(2, 3))
VECTOR = np.array([0.9, -0.4, 0.6])
WEIGHTS = {"w": RANDOM.normal(size=(3, 2)), "b": RANDOM.normal(size=2), "v": BATCH[:, :1]}

PROGRAMS = {
    chain: VECTOR,
    rms_norm: BATCH,
    network: WEIGHTS,
    branches: VECTOR,
    recurrence: VECTOR,
}

# ---- the same of foreign calls ----

SOURCE = r"""
#include <cmath>
#include <cstddef>
#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

// x / sqrt(mean(x^2) + 0.01) over the last dimension, and the factors.
static ffi::Error normalize(ffi::Buffer<ffi::F64> x, ffi::Result<ffi::Buffer<ffi::F64>> y,
                            ffi::Result<ffi::Buffer<ffi::F64>> scales) {
  const size_t width = static_cast<size_t>(x.dimensions().back());
  for (size_t row = 0; row < x.element_count() / width; ++row) {
    const double* from = x.typed_data() + row * width;
    double sum = 0;
    for (size_t i = 0; i < width; ++i) sum += from[i] * from[i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(width) + 1e-2);
    for (size_t i = 0; i < width; ++i) y->typed_data()[row * width + i] = from[i] * scale;
    scales->typed_data()[row] = scale;
  }
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(words_rms_norm, normalize);
"""


def types(m: Modules, x: Any) -> list[Any]:
    return [m.root.ShapeDtypeStruct(s, np.float64) for s in (x.shape, (*x.shape[:-1], 1))]


def direction(y: Any, scale: Any, v: Any) -> Any:
    """The derivative of y along v. It is its own transpose."""
    return scale * (v - y * (y * v).mean(-1, keepdims=True))


def pull_back(residuals: Any, cotangents: Any) -> Any:
    y, scale = residuals
    of_y, of_scale = cotangents
    ct = 0 if of_scale is None else -scale * scale * y * of_scale / y.shape[-1]
    return ct if of_y is None else ct + direction(y, scale, of_y)


def custom(m: Modules, x: Any) -> Any:
    """rms_norm by a foreign call, with a rule for reverse mode."""

    @m.root.custom_vjp
    def normalized(x: Any) -> Any:
        call = m.root.ffi.ffi_call("words_rms_norm", types(m, x), vmap_method="broadcast_all")
        return tuple(call(x))

    def forward(x: Any) -> Any:
        results = normalized(x)
        return results, results

    normalized.defvjp(forward, lambda residuals, cts: (pull_back(residuals, cts),))
    return normalized(x)[0]


def oracle(name: str) -> str:
    """The function whose results JAX gives for this one."""
    return rms_norm.__name__ if name.startswith("defined_") else name


def defined(target: str) -> Callable[[Modules, Any], Any]:
    """rms_norm as a defined target; JAX, which has no definitions, runs the formula."""

    def function(m: Modules, x: Any) -> Any:
        return DEFINITIONS[target](x)[0] if m is FARCALL else rms_norm(m, x)

    return function


def tangents_of_results(call: Any, primals: Any, tangents: Any) -> Any:
    y, scale = call(*primals)
    (v,) = tangents
    return (y, scale), (
        direction(y, scale, v),
        -scale * scale * (y * v).mean(-1, keepdims=True),
    )


def forward(call: Any, x: Any) -> Any:
    results = call(x)
    return results, results


JVP: dict[str, Any] = {"jvp": tangents_of_results}
VJP: dict[str, Any] = {"vjp": (forward, lambda call, *known: pull_back(*known))}
DEFINITIONS = {
    name: fc.ffi.define(
        f"words_{name}",
        shape="[..., n] -> [..., n], [..., 1]",
        vmap_method="broadcast_all",
        **rules,
    )
    for name, rules in {"both": JVP | VJP, "jvp": JVP, "vjp": VJP}.items()
}


@pytest.fixture(scope="module", autouse=True)
def hosts() -> Any:
    """Both hosts have the handler, and 64-bit types; JAX runs operation by operation."""
    for m, names in (FARCALL, ["rms_norm", "both", "jvp", "vjp"]), (JAX, ["rms_norm"]):
        capsule = m.root.ffi.pycapsule(load(SOURCE).words_rms_norm)
        for name in names:
            m.root.ffi.register_ffi_target(f"words_{name}", capsule, platform="cpu")
    with fc.enable_x64(True), jax.enable_x64(True), jax.disable_jit():
        yield


FUNCTIONS = {
    **{program.__name__: (program, x) for program, x in PROGRAMS.items()},
    "custom": (custom, BATCH),
    **{f"defined_{name}": (defined(name), BATCH) for name in DEFINITIONS},
}

# ---- the words ----


ESSENTIAL = sorted({essential(word) for word in WORDS})


def is_slow(name: str, word: Word) -> bool:
    """Of three essential letters, for all but every fifth function: JAX takes a while for them.

    Definitions share what JAX gives with the formula that it runs for them.
    """
    place = list(FUNCTIONS).index(oracle(name)) + ESSENTIAL.index(essential(word))
    return len(essential(word)) == 3 and place % len(PROGRAMS) != 0


CASES = [
    pytest.param(
        name, word, id="-".join([name, *word]), marks=[pytest.mark.slow] * is_slow(name, word)
    )
    for name in FUNCTIONS
    for word in WORDS
]


@functools.cache
def in_jax(name: str, word: Word) -> Any:
    """What JAX gives; None where it refuses forward mode, for which it has two errors."""
    function, x = FUNCTIONS[name]
    try:
        return spelled(JAX, word, functools.partial(function, JAX))(x)
    except (TypeError, NotImplementedError):
        return None


@pytest.mark.parametrize(("name", "word"), CASES)
def test_a_word_gives_what_jax_gives(name: str, word: Word) -> None:
    function, x = FUNCTIONS[name]
    ours = spelled(FARCALL, word, functools.partial(function, FARCALL))
    theirs = in_jax(oracle(name), essential(word))
    assert (theirs is None) == (name == "custom" and "jvp" in word)
    if theirs is None:
        with pytest.raises(TypeError, match=r"forward-mode .* custom_vjp function.*use grad, vjp"):
            ours(x)
    else:
        assert_same(ours(x), theirs, rtol=1e-9, atol=1e-10)
