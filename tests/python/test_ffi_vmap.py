"""vmap of foreign calls: every vmap_method against one call for each element, and against JAX."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi
from handler_library import load

METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
ALL_METHODS = [*METHODS, "legacy_vectorized"]
TARGETS = ["weigh", "grow", "increment", "memory", "ordered", "add_to"]
F64 = np.float64


@pytest.fixture(scope="module", autouse=True)
def library() -> ctypes.CDLL:
    made = load("batched.cpp")
    made.batched_calls.restype = ctypes.c_int64
    for name in TARGETS:
        name = f"batched_{name}"
        ffi.register_ffi_target(name, ffi.pycapsule(getattr(made, name)))
    return made


@pytest.fixture(scope="module", autouse=True)
def wide_types() -> Any:
    """numpy's float64 stays: the handlers take nothing else."""
    with fc.enable_x64():
        yield


@pytest.fixture(scope="module")
def jax(library: ctypes.CDLL) -> Any:
    """JAX with the same handlers."""
    module = pytest.importorskip("jax")
    from hosts import JAX

    for name in TARGETS:
        JAX.register(f"batched_{name}", library)
    with module.enable_x64(True):
        yield module


def values(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.5, 2, shape)


def weigh(module: Any, method: str | None, **options: Any) -> Any:
    """x[n], w[n] to (y[n], sum)."""
    row, total = module.ShapeDtypeStruct((3,), F64), module.ShapeDtypeStruct((), F64)
    call = module.ffi.ffi_call("batched_weigh", (row, total), vmap_method=method, **options)
    return lambda x, w: call(x, w, factor=2.0)


def weighed(x: Any, w: Any) -> tuple[np.ndarray, np.ndarray]:
    y = 2.0 * np.asarray(x) * np.asarray(w)
    return y, y.sum(-1)


def agree(got: Any, wanted: Any) -> None:
    assert isinstance(got, tuple) == isinstance(wanted, tuple)
    if isinstance(wanted, tuple):
        assert len(got) == len(wanted)
        for a, b in zip(got, wanted, strict=True):
            agree(a, b)
        return
    got, wanted = np.asarray(got), np.asarray(wanted)
    assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(got, wanted, rtol=1e-14)


# ---- methods ----


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("in_axes", [(0, 0), (1, 0), (0, 1), (-1, -2), (0, None), (None, 1)])
@pytest.mark.parametrize("out_axes", [0, (1, 0), (-1, -1)])
def test_one_vmap(jax: Any, method: str, in_axes: Any, out_axes: Any) -> None:
    x, w = (
        values(3) if axis is None else np.moveaxis(values(4, 3, seed=i), 0, axis)
        for i, axis in enumerate(in_axes)
    )
    rows = [
        a if axis is None else np.moveaxis(a, axis, 0)
        for a, axis in zip((x, w), in_axes, strict=True)
    ]
    y, sums = weighed(*rows)
    wanted = (y.T, sums) if out_axes != 0 else (y, sums)
    for run in (lambda f: f, fc.jit):
        agree(run(fc.vmap(weigh(fc, method), in_axes, out_axes))(x, w), wanted)
    if out_axes == (1, 0):
        agree(tuple(jax.jit(jax.vmap(weigh(jax, method), in_axes, out_axes))(x, w)), wanted)


@pytest.mark.parametrize("method", METHODS)
def test_two_vmaps_with_every_choice_of_axes(jax: Any, method: str) -> None:
    choices = [
        axes
        for axes in itertools.product([None, 0, 1], repeat=2)
        if any(axis is not None for axis in axes)
    ]
    for inner, outer in itertools.product(choices, choices):
        shapes = [[3], [3]]
        for axes, size in ((inner, 4), (outer, 2)):
            for shape, axis in zip(shapes, axes, strict=True):
                if axis is not None:
                    shape.insert(axis, size)
        x, w = values(*shapes[0]), values(*shapes[1], seed=1)
        ours = fc.vmap(fc.vmap(weigh(fc, method), inner), outer)(x, w)
        agree(ours, fc.vmap(fc.vmap(weighed_by_operations, inner), outer)(x, w))
        if inner == (0, None):
            theirs = jax.jit(jax.vmap(jax.vmap(weigh(jax, method), inner), outer))
            agree(ours, tuple(theirs(x, w)))


def weighed_by_operations(x: Any, w: Any) -> Any:
    y = fnp.asarray(2.0, F64) * x * w
    return y, y.sum()


@pytest.mark.parametrize("method", ALL_METHODS)
def test_all_operands_batched(jax: Any, method: str) -> None:
    x, w = values(2, 4, 3), values(2, 4, 3, seed=1)
    got = fc.vmap(fc.vmap(weigh(fc, method)))(x, w)
    agree(got, weighed(x, w))
    agree(got, tuple(jax.jit(jax.vmap(jax.vmap(weigh(jax, method))))(x, w)))


def test_legacy_vectorized_leaves_other_operands_as_they_are(jax: Any) -> None:
    x, w = values(4, 3), values(3)
    got = fc.vmap(weigh(fc, "legacy_vectorized"), (0, None))(x, w)
    agree(got, weighed(x, w))


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_batches_of_no_and_of_one_element(method: str) -> None:
    for size in (0, 1):
        x, w = values(size, 3), values(3)
        agree(fc.vmap(weigh(fc, method), (0, None))(x, w), weighed(x, w))


def test_what_handlers_see() -> None:
    """The shapes of operands in the recorded program."""
    x, w = values(4, 3), values(3)
    for method, shape in [
        ("expand_dims", "f64[1,3]"),
        ("broadcast_all", "f64[4,3]"),
        ("legacy_vectorized", None),
    ]:
        program = fc.make_jaxpr(fc.vmap(weigh(fc, method), (0, None)))(x, w)
        assert program.primitives.count("ffi_call") == 1
        assert (shape is None) or shape in str(program)
    sequential = fc.make_jaxpr(fc.vmap(weigh(fc, "sequential"), (0, None)))(x, w)
    assert sequential.primitives.count("scan") == 1
    unrolled = fc.make_jaxpr(fc.vmap(weigh(fc, "sequential_unrolled"), (0, None)))(x, w)
    assert unrolled.primitives.count("ffi_call") == 4


def test_without_a_method_vmap_is_refused_and_nothing_else() -> None:
    x = values(3)
    agree(weigh(fc, None)(x, x), weighed(x, x))
    agree(fc.jit(weigh(fc, None))(x, x), weighed(x, x))
    with pytest.raises(
        NotImplementedError, match=r'ffi_call\("batched_weigh"\): vmap needs a vmap_'
    ):
        fc.vmap(weigh(fc, None))(values(2, 3), values(2, 3))
    # A call on what is not mapped is none of vmap's business.
    got = fc.vmap(lambda a: weigh(fc, None)(x, x)[0] + a)(values(2, 3))
    np.testing.assert_allclose(got, weighed(x, x)[0] + values(2, 3))


@pytest.mark.parametrize("method", ALL_METHODS)
def test_attributes_and_options_are_kept(method: str) -> None:
    spec = fc.ShapeDtypeStruct((), F64)
    call = ffi.ffi_call("batched_grow", spec, vmap_method=method)
    x = values(2, 3)
    agree(fc.vmap(fc.vmap(lambda v: call(v, rate=0.5)))(x), np.exp(0.5 * x))


# ---- layouts ----


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_layouts_of_operands(jax: Any, method: str, order: tuple[int, int]) -> None:
    x = values(2, 4, 3)
    wanted = x.transpose(0, *(1 + d for d in order)).reshape(2, 12)

    def call(module: Any) -> Any:
        spec = module.ShapeDtypeStruct((12,), F64)
        return module.ffi.ffi_call(
            "batched_memory", spec, vmap_method=method, input_layouts=[order]
        )

    agree(fc.vmap(call(fc))(x), wanted)
    agree(fc.jit(fc.vmap(call(fc), in_axes=1))(np.moveaxis(x, 0, 1)), wanted)
    agree(jax.jit(jax.vmap(call(jax)))(x), wanted)
    twice = np.stack([x, x + 1])
    agree(fc.vmap(fc.vmap(call(fc)))(twice), np.stack([wanted, wanted + 1]))


@pytest.mark.parametrize("method", ALL_METHODS)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_layouts_of_results(jax: Any, method: str, order: tuple[int, int]) -> None:
    x = values(2, 12)
    sizes = tuple((4, 3)[d] for d in order)
    wanted = x.reshape(2, *sizes).transpose(0, *(1 + np.argsort(order)))

    def call(module: Any) -> Any:
        spec = module.ShapeDtypeStruct((4, 3), F64)
        return module.ffi.ffi_call("batched_memory", spec, vmap_method=method, output_layouts=order)

    agree(fc.vmap(call(fc))(x), wanted)
    agree(fc.jit(fc.vmap(call(fc), out_axes=2))(x), np.moveaxis(wanted, 0, 2))
    agree(jax.jit(jax.vmap(call(jax)))(x), wanted)


# ---- aliases ----


@pytest.mark.parametrize("method", ALL_METHODS)
def test_aliases(method: str) -> None:
    x = fnp.asarray(values(4, 3))
    kept = np.array(x)
    call = ffi.ffi_call(
        "batched_increment",
        fc.ShapeDtypeStruct((3,), F64),
        vmap_method=method,
        input_output_aliases={0: 0},
    )
    agree(fc.vmap(call)(x), kept + 1)
    agree(fc.jit(fc.vmap(call, in_axes=1))(x.T), kept + 1)
    np.testing.assert_array_equal(x, kept)


@pytest.mark.parametrize("method", ALL_METHODS)
def test_an_aliased_operand_that_is_not_batched_gets_the_size_of_the_result(method: str) -> None:
    """The other operand is batched, so that the result is."""
    call = ffi.ffi_call(
        "batched_add_to",
        fc.ShapeDtypeStruct((3,), F64),
        vmap_method=method,
        input_output_aliases={0: 0},
    )
    x, other = fnp.asarray(values(3)), values(4, 3)
    agree(fc.vmap(lambda o: call(x, o))(other), x + other)
    agree(fc.vmap(call, (None, 0))(x, other), x + other)
    np.testing.assert_array_equal(x, values(3))


# ---- tokens and effects ----


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_a_token_goes_from_call_to_call(library: ctypes.CDLL, method: str) -> None:
    results = (ffi.abstract_token, fc.ShapeDtypeStruct((), F64))
    call = ffi.ffi_call("batched_ordered", results, vmap_method=method)
    token = fc.lax.create_token()
    before = library.batched_calls()

    def twice(x: Any) -> Any:
        first, y = call(token, x)
        return call(first, y)[1]

    got = fc.vmap(twice)(np.zeros(3))
    assert library.batched_calls() == before + 6
    # The second round comes after the first.
    numbers = np.arange(1, 7) + before
    np.testing.assert_array_equal(got, (numbers[:3] + numbers[3:]).astype(F64))


def test_a_token_under_a_call_on_the_whole_batch(library: ctypes.CDLL) -> None:
    results = (ffi.abstract_token, fc.ShapeDtypeStruct((), F64))
    for method in METHODS[2:]:
        call = ffi.ffi_call("batched_ordered", results, vmap_method=method)
        before = library.batched_calls()
        got = fc.vmap(lambda x, c=call: c(fc.lax.create_token(), x)[1])(np.zeros(3))
        np.testing.assert_array_equal(got, np.full(3, before + 1.0))


@pytest.mark.parametrize(("method", "count"), [(m, 4 if m[0] == "s" else 1) for m in ALL_METHODS])
def test_calls_with_effects(library: ctypes.CDLL, method: str, count: int) -> None:
    spec = fc.ShapeDtypeStruct((), F64)
    call = ffi.ffi_call("batched_grow", spec, vmap_method=method, has_side_effect=True)

    def unread(x: Any) -> Any:
        call(x, rate=1.0)
        return x + 1

    def calls_of(function: Any, *args: Any) -> int:
        before = library.batched_calls()
        np.asarray(fc.tree.leaves(function(*args))[0])
        return library.batched_calls() - before

    x = values(4)
    mapped = fc.vmap(unread)
    assert calls_of(mapped, x) == count
    for _ in range(2):
        assert calls_of(jitted := fc.jit(mapped), x) == count
    assert calls_of(jitted, x) == count

    def in_scan(v: Any) -> Any:
        return fc.lax.scan(lambda c, _: (unread(c), None), v, None, length=3)[0]

    def in_while(v: Any) -> Any:
        def body(state: Any) -> Any:
            return state[0] + 1, unread(state[1])

        return fc.lax.while_loop(lambda s: s[0] < 3, body, (0, v))[1]

    def in_fori(v: Any) -> Any:
        return fc.lax.fori_loop(0, 3, lambda _, c: unread(c), v)

    for loop in (in_scan, in_while, in_fori):
        assert calls_of(fc.vmap(loop), x) == 3 * count
        assert calls_of(fc.jit(fc.vmap(loop)), x) == 3 * count
        assert calls_of(fc.jit(loop), x[0]) == 3

    def in_cond(v: Any, flag: Any) -> Any:
        return fc.lax.cond(flag, unread, lambda a: a, v)

    mapped = fc.vmap(in_cond, (0, None))
    for run in (mapped, fc.jit(mapped)):
        assert calls_of(run, x, np.bool_(True)) == count
        assert calls_of(run, x, np.bool_(False)) == 0
