"""Functions of tvm-ffi as targets and farcall's as functions of tvm-ffi."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall.tvm_ffi import function, function_of_target, register

tvm_ffi = pytest.importorskip("tvm_ffi")

NUMBERS = itertools.count()


def spec(*shape: int, dtype: str = "float32") -> fc.ShapeDtypeStruct:
    return fc.ShapeDtypeStruct(shape, dtype)


def registered(fun: Callable[..., Any], *arguments: str) -> str:
    name = f"tvm_{next(NUMBERS)}"
    register(name, tvm_ffi.convert(fun), *([arguments] if arguments else []))
    return name


def double(x: Any, y: Any) -> None:
    np.from_dlpack(y)[...] = 2 * np.from_dlpack(x)


def tensors(*arrays: np.ndarray) -> list[Any]:
    return [tvm_ffi.from_dlpack(array) for array in arrays]


# ---- as targets ---------------------------------------------------------------------------------


def test_in_programs_loops_and_batches() -> None:
    call = fc.ffi.ffi_call(registered(double), spec(3), vmap_method="sequential")
    x = np.array([1, 2, 3], np.float32)
    np.testing.assert_array_equal(call(x), 2 * x)
    np.testing.assert_array_equal(fc.jit(lambda x: call(call(x)) + 1)(x), 4 * x + 1)
    np.testing.assert_array_equal(fc.vmap(call)(np.stack([x, -x])), [2 * x, -2 * x])
    looped = fc.lax.fori_loop(0, 5, lambda _, y: call(y), fnp.asarray(x))
    np.testing.assert_array_equal(looped, 32 * x)


def test_derivatives_by_definition() -> None:
    name = registered(double)
    call = fc.ffi.define(name, shape="[...] -> [...]", linear_in=0, vmap_method="sequential")
    gradient = fc.grad(lambda x: (call(x) ** 2).sum())(np.ones(3, np.float32))
    np.testing.assert_array_equal(gradient, [8, 8, 8])


def test_several_operands_and_results_in_place() -> None:
    seen = []

    def both(x: Any, y: Any, total: Any, product: Any) -> None:
        seen.append(np.from_dlpack(total).ctypes.data)
        np.from_dlpack(total)[...] = np.from_dlpack(x) + np.from_dlpack(y)
        np.from_dlpack(product)[...] = np.from_dlpack(x) * np.from_dlpack(y)

    call = fc.ffi.ffi_call(registered(both), [spec(2, 2), spec(2, 2)])
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    total, product = call(x, x + 1)
    np.testing.assert_array_equal(total, 2 * x + 1)
    np.testing.assert_array_equal(product, x * (x + 1))
    assert total.unsafe_buffer_pointer() == seen[0]


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float64", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    def copy(x: Any, y: Any) -> None:
        np.from_dlpack(y)[...] = np.from_dlpack(x)

    call = fc.ffi.ffi_call(registered(copy), spec(2, 3, dtype=dtype))
    with fc.enable_x64():
        x = np.arange(6).reshape(2, 3).astype(dtype)
        np.testing.assert_array_equal(call(x), x)


def test_tensors_that_are_kept_never_change() -> None:
    kept: list[Any] = []

    def keeps(x: Any, y: Any) -> None:
        kept.extend([x, y])
        double(x, y)

    call = fc.jit(lambda x: fc.ffi.ffi_call(name, spec(3))(x + 1) + 1)
    name = registered(keeps)
    for i in range(3):
        np.testing.assert_array_equal(call(np.full(3, i, np.float32)), np.full(3, 2 * i + 3))
    for i in range(3):
        x, y = (np.from_dlpack(tensor) for tensor in kept[2 * i : 2 * i + 2])
        np.testing.assert_array_equal(x, np.full(3, i + 1))
        np.testing.assert_array_equal(y, 2 * x)


def test_memory_of_a_caller_cannot_be_kept() -> None:
    """A program that writes into its caller's memory cannot keep it alive."""
    kept: list[Any] = []

    def keeps(x: Any, y: Any) -> None:
        double(x, y)
        if len(kept) == 0:
            kept.extend([x, y])

    made = function(lambda x: fc.ffi.ffi_call(name, spec(3))(x))
    name = registered(keeps)
    x = np.ones(3, np.float32)
    memory = np.zeros(64, np.float32)
    aligned = next(i for i in range(16) if memory[i:].ctypes.data % 64 == 0)
    for first in (aligned, aligned + 1):
        kept.clear()
        y = memory[first : first + 3]
        with pytest.raises(RuntimeError, match="must copy the data instead"):
            made(*tensors(x, y))
        made(*tensors(x, y))  # does not keep
        np.testing.assert_array_equal(y, 2 * x)


def test_attributes_stand_where_they_are_asked_for() -> None:
    seen: list[Any] = []

    def f(kind: str, y: Any, x: Any, rate: float, count: int, is_on: bool) -> None:
        seen.append((kind, rate, count, is_on))
        np.from_dlpack(y)[...] = rate * np.from_dlpack(x)

    name = registered(f, "kind", "rets", "args", "rate", "count", "is_on")
    call = fc.ffi.ffi_call(name, spec(2))
    y = call(np.ones(2, np.float32), kind="sëen", rate=1.5, count=-3, is_on=True)
    np.testing.assert_array_equal(y, [1.5, 1.5])
    call(np.ones(2, np.float32), kind="", rate=np.float32(0.5), count=np.uint8(7), is_on=False)
    assert seen == [("sëen", 1.5, -3, True), ("", 0.5, 7, False)]
    with pytest.raises(fc.FfiError, match='the call needs the attribute "kind"'):
        call(np.ones(2, np.float32))
    with pytest.raises(fc.FfiError, match='has the attribute "more"'):
        call(np.ones(2, np.float32), kind="", rate=0.0, count=1, is_on=True, more=1)
    with pytest.raises(fc.FfiError, match='"rate" must be a bool, a signed integer'):
        call(np.ones(2, np.float32), kind="", rate=[1.0], count=1, is_on=True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError, "INVALID_ARGUMENT"),
        (TypeError, "INVALID_ARGUMENT"),
        (KeyError, "NOT_FOUND"),
        (RuntimeError, "INTERNAL"),
        (IndexError, "OUT_OF_RANGE"),
    ],
)
def test_errors_come_through(error: type[Exception], code: str) -> None:
    def fails(x: Any, y: Any) -> None:
        raise error("it went wrong")

    call = fc.jit(fc.ffi.ffi_call(registered(fails), spec(2)))
    for _ in range(2):
        with pytest.raises(fc.FfiError, match=rf"{error.__name__}: .*it went wrong") as caught:
            call(np.ones(2, np.float32))
        assert code in str(caught.value)


def test_a_function_that_returns_is_refused() -> None:
    call = fc.ffi.ffi_call(registered(lambda x, y: y), spec(2))
    with pytest.raises(fc.FfiError, match="returned a value; it must write its results"):
        call(np.ones(2, np.float32))


def test_what_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="arguments must be a list of names, got 'args'"):
        register("never", tvm_ffi.convert(lambda x, y: None), "args")
    with pytest.raises(TypeError, match="expected a function, got 3"):
        register("tvm_number", 3)
    name = registered(double)
    with pytest.raises(RuntimeError, match="is registered already"):
        register(name, tvm_ffi.convert(double))


def test_dtypes_that_dlpack_does_not_have() -> None:
    call = fc.ffi.ffi_call(registered(double), spec(2))
    with pytest.raises(fc.FfiError, match="DLPack has no type"):
        call(fnp.zeros(2).astype("int2"))


# ---- as functions of tvm-ffi --------------------------------------------------------------------


def softmax(x: Any) -> Any:
    weights = fnp.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def reference(x: np.ndarray) -> np.ndarray:
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("args", [(), (spec(2, 3),)])
def test_a_function_writes_in_place(args: Any) -> None:
    made = function(fc.jit(softmax), *args)
    assert isinstance(made, tvm_ffi.Function)
    x = np.random.default_rng(0).standard_normal((4, 2, 3)).astype(np.float32)
    for part in (x[0], x):  # a batch of them
        y = np.empty_like(part)
        made(*tensors(part, y))
        np.testing.assert_allclose(y, reference(part), rtol=1e-6)


def test_several_results() -> None:
    made = function(lambda x, y: (x + y, x * y), num_results=2)
    x, y = np.float64([1, 2]), np.float64([3, 4])
    total, product = np.empty(2), np.empty(2)
    made(*tensors(x, y, total, product))
    np.testing.assert_array_equal([total, product], [x + y, x * y])


def test_a_target_as_a_function(handlers: Any) -> None:
    del handlers
    made = function_of_target("scale", factor=np.float32(3))
    for size in (2, 5):
        x, y = np.ones(size, np.float32), np.empty(size, np.float32)
        made(*tensors(x, y))
        np.testing.assert_array_equal(y, 3 * x)
    missing = function_of_target("tvm_nobody")
    with pytest.raises(RuntimeError, match=r"farcall: tvm_nobody: .*no target"):
        missing(*tensors(x, y))


def test_there_and_back() -> None:
    name = f"tvm_{next(NUMBERS)}"
    register(name, function(softmax))
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    y = fc.jit(fc.ffi.ffi_call(name, spec(2, 3)))(x)
    np.testing.assert_allclose(y, reference(x), rtol=1e-6)


def test_many_threads() -> None:
    made = function(lambda x: x * x)
    barrier = threading.Barrier(4)

    def work(number: int) -> bool:
        barrier.wait()
        for size in range(1, 30):
            x, y = np.full(size, number, np.float32), np.empty(size, np.float32)
            made(*tensors(x, y))
            if (y != number * number).any():
                return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))


def test_what_is_wrong_with_a_call() -> None:
    made = function(softmax, spec(3))
    x, y = np.ones(3, np.float32), np.empty(3, np.float32)
    with pytest.raises(ValueError, match=r"farcall: softmax: operand 0 should be f32\[3\]"):
        made(*tensors(np.ones(4, np.float32), y))
    with pytest.raises(
        ValueError, match=r"result 0 is f32\[3\], the call expects f64\[3\]; .*tvm-ffi as tensors"
    ):
        made(*tensors(x, np.empty(3)))
    with pytest.raises(ValueError, match="the function takes 1 operand, the call has 2"):
        made(*tensors(x, x, y))
    with pytest.raises(ValueError, match="the call has 0 arguments, expected the operands and 1"):
        made()
    with pytest.raises(ValueError, match="argument 0 is not a tensor"):
        made(3, tensors(y)[0])
    strided = np.ones(6, np.float32)[::2]
    with pytest.raises(ValueError, match="argument 0 is not dense and row-major"):
        made(*tensors(strided, y))


def test_what_the_function_raises() -> None:
    def unfinished(x: Any) -> Any:
        raise NotImplementedError("later")

    x = np.ones(3, np.float32)
    with pytest.raises(RuntimeError, match="farcall: unfinished: NotImplementedError: later"):
        function(unfinished)(*tensors(x, x.copy()))
    with pytest.raises(TypeError, match=r"tvm_ffi.function: expected a function"):
        function(3)


def test_without_tvm_ffi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tvm_ffi", None)
    for use in (lambda: register("a", double), lambda: function(softmax)):
        with pytest.raises(ImportError, match="pip install apache-tvm-ffi"):
            use()


def test_nothing_is_imported_before() -> None:
    code = "import farcall, farcall.tvm_ffi, sys; assert 'tvm_ffi' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
