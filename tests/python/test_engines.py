"""Devices of another engine from Python: where programs run, and where arrays lie."""

from __future__ import annotations

import ctypes
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from farcall._environment import linker_flags
from handler_library import build
from hostile.memory import tensor_of

ENGINES = Path(__file__).resolve().parent.parent / "engines"


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    """The engine of tests/engines, which stays in this process."""
    flags = ("-std=c++20", "-I", str(ENGINES), *linker_flags())
    loaded = ctypes.CDLL(str(build(ENGINES / "stepwise.cpp", *flags)))
    loaded.stepwise_add()
    return loaded


@pytest.fixture
def two(library: ctypes.CDLL) -> list[fc.Device]:
    return fc.devices("stepwise")


@pytest.fixture
def held(library: ctypes.CDLL) -> Iterator[ctypes.CDLL]:
    """Results are not ready until stepwise_release."""
    library.stepwise_hold()
    yield library
    library.stepwise_release()


X = np.float32([1, 2, 3])


def test_the_error_of_a_program_is_raised_by_waiting(
    library: ctypes.CDLL, two: list[fc.Device]
) -> None:
    y = fc.jit(lambda x: x + 1)(fc.device_put(X, two[0]))
    library.stepwise_fail(1)
    try:
        assert y.is_ready()
        with pytest.raises(RuntimeError, match="the program has failed"):
            y.block_until_ready()
        with pytest.raises(RuntimeError, match="the program has failed"):
            fc.block_until_ready({"y": y})
    finally:
        library.stepwise_fail(0)
    assert y.block_until_ready().tolist() == [2, 3, 4]


def values_at(address: int, count: int) -> list[float]:
    return list((ctypes.c_float * count).from_address(address))


def test_other_libraries_read_the_memory_of_a_device(two: list[fc.Device]) -> None:
    x = fc.jit(lambda x: x + 1)(fc.device_put(X, two[1]))
    assert x.__dlpack_device__() == (10, 1)
    capsule = x.__dlpack__(stream=7)  # valid on every stream
    tensor = tensor_of(capsule)
    assert (tensor.device_type, tensor.device_id, tensor.ndim) == (10, 1, 1)
    interface = x.__cuda_array_interface__
    assert interface["data"] == (tensor.data, False)
    assert interface["shape"] == (3,)
    assert (interface["typestr"], interface["stream"]) == ("<f4", None)
    address = tensor.data
    assert address is not None
    del x, interface
    assert values_at(address, 3) == [2, 3, 4]  # the capsule keeps the memory


def test_a_device_array_goes_to_the_cpu_when_asked(two: list[fc.Device]) -> None:
    x = fc.device_put(X, two[1])
    assert tensor_of(x.__dlpack__(dl_device=(1, 0))).device_type == 1
    assert np.from_dlpack(fc.device_put(x, fc.devices("native")[0])).tolist() == X.tolist()
    assert tensor_of(x.__dlpack__(copy=True)).device_type == 1
    with pytest.raises(BufferError, match=r"device \(10, 1\)"):
        x.__dlpack__(dl_device=(10, 0))


def test_traced_and_deleted_arrays_have_no_memory_for_others(two: list[fc.Device]) -> None:
    with pytest.raises(TypeError, match="values of a traced"):
        fc.jit(lambda x: x.__dlpack__())(X)
    x = fc.device_put(X, two[0])
    x.delete()
    for take in (lambda: x.__dlpack__(), lambda: x.__cuda_array_interface__):
        with pytest.raises((RuntimeError, AttributeError), match=r"deleted|not on a GPU"):
            take()


def test_memory_that_others_hold_is_not_overwritten(two: list[fc.Device]) -> None:
    x = fc.device_put(X, two[0])
    capsule = x.__dlpack__()
    y = fc.jit(lambda x: x * 2, donate_argnums=0)(x)
    assert y.tolist() == [2, 4, 6]
    address = tensor_of(capsule).data
    assert address is not None
    assert values_at(address, 3) == X.tolist()


def test_devices_of_an_engine(two: list[fc.Device]) -> None:
    assert [d.id for d in two] == [0, 1]
    assert repr(two[1]) == "StepwiseDevice(id=1)"
    assert {d.engine for d in two} == {"stepwise"}
    assert fc.device_count("stepwise") == 2
    assert fc.devices() == fc.devices("native") == fc.devices("cpu")
    assert two[0] != two[1]
    assert len({*two, *fc.devices("stepwise")}) == 2
    assert pickle.loads(pickle.dumps(two[1])) == two[1]
    with pytest.raises(RuntimeError, match='devices: unknown platform or engine "abacus"'):
        fc.devices("abacus")


def test_programs_run_where_their_arrays_were_put(two: list[fc.Device]) -> None:
    x = fc.device_put(X, two[1])
    f = fc.jit(lambda a, b: fnp.sin(a) * b)
    assert (x.device, x.committed, x.platform) == (two[1], True, "stepwise")
    assert x.devices() == {two[1]}
    assert x.sharding == fc.sharding.SingleDeviceSharding(two[1])
    for y in (x + 1, fnp.sin(x), x[1:], f(x, X), f(x, fnp.ones(3)), x.sum(), x.astype("int8")):
        assert (y.device, y.committed) == (two[1], True)
    np.testing.assert_array_equal(f(x, X), f(X, X))
    assert f(X, X).device == fc.devices()[0]
    assert not f(X, X).committed
    assert fc.grad(lambda a: (a * a).sum())(x).device == two[1]
    assert fc.vmap(lambda a: a * 2)(x).device == two[1]
    assert lax.fori_loop(0, 3, lambda i, a: a * 2, x).tolist() == [8, 16, 24]
    assert fc.device_put(x, two[0]).device == two[0]


def test_arrays_of_different_devices_do_not_meet(two: list[fc.Device]) -> None:
    x, y = (fc.device_put(X, device) for device in two)
    for call in (lambda: x + y, lambda: fc.jit(fnp.add)(x, y)):
        with pytest.raises(ValueError, match=r"operand 0 to stepwise:0, operand 1 to stepwise:1"):
            call()
    assert (x + fc.device_put(y, two[0])).tolist() == [2, 4, 6]


def test_jit_names_its_device(two: list[fc.Device]) -> None:
    for options in ({"device": two[1]}, {"device": fc.sharding.SingleDeviceSharding(two[1])}):
        f = fc.jit(lambda x: x * 2, **options)
        for x in (X, fnp.asarray(X), fc.device_put(X, two[0])):
            assert f(x).device == two[1]
            assert f(x).tolist() == [2, 4, 6]
        assert f.lower(X).compile()(X).device == two[1]
    assert fc.jit(lambda x: x, backend="stepwise")(X).device == two[0]
    assert fc.jit(lambda x: x, backend="cpu")(X).device == fc.devices()[0]
    with pytest.raises(RuntimeError, match='unknown platform or engine "tpu"'):
        fc.jit(lambda x: x, backend="tpu")
    with pytest.raises(ValueError, match="is none of backend 'cpu'"):
        fc.jit(lambda x: x, backend="cpu", device=two[0])
    mesh = fc.sharding.Mesh(two, ("x",))
    with pytest.raises(ValueError, match="has 2 devices; it must have one"):
        fc.jit(lambda x: x, device=fc.NamedSharding(mesh, fc.P("x")))


def test_the_default_device(two: list[fc.Device]) -> None:
    f = fc.jit(lambda x: x + 1)
    assert f(X).device == fc.devices()[0]
    with fc.default_device(two[1]):
        assert fc.default_backend() == "stepwise"
        assert fc.devices() == two
        made = fnp.ones(3)
        assert made.device == f(X).device == f(made).device == two[1]
        assert not made.committed
        with fc.default_device("cpu"):
            assert f(made).device == fc.devices("cpu")[0]
    assert f(X).device == f(made).device == fc.devices()[0]
    assert fc.default_device(two[0])(fnp.zeros)(2).device == two[0]
    fc.config.update("engine", "stepwise")
    try:
        assert fnp.zeros(2).device == two[0]
    finally:
        fc.config.update("engine", None)
    assert fnp.zeros(2).device == fc.devices("native")[0]
    with pytest.raises(ValueError, match="'native', 'pjrt', 'stepwise'"):
        fc.config.update("engine", "abacus")


def test_an_unknown_engine_in_the_environment_is_told_at_import() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import farcall"],
        env={**os.environ, "FARCALL_ENGINE": "abacus"},
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert "environment variable FARCALL_ENGINE" in done.stderr
    assert "'native'" in done.stderr


def test_results_may_come_later(two: list[fc.Device], held: ctypes.CDLL) -> None:
    x = fc.device_put(X, two[0])
    y = x + x
    assert not y.is_ready()
    held.stepwise_release()
    assert y.block_until_ready() is y
    assert y.is_ready()
    assert fc.block_until_ready({"y": y, "n": 3})["y"].tolist() == [2, 4, 6]


def test_values_are_copied_once_and_only_where_they_are_read(
    library: ctypes.CDLL, two: list[fc.Device]
) -> None:
    library.stepwise_to_host.restype = ctypes.c_int64
    x = fc.device_put(X, two[0])
    before = library.stepwise_to_host()
    y = fc.jit(lambda a: a * a + 1)(x)
    assert library.stepwise_to_host() == before
    assert (repr(y), y.tolist()) == ("Array([ 2.,  5., 10.], dtype=float32)", [2, 5, 10])
    assert np.asarray(y).sum() == 17
    assert library.stepwise_to_host() == before + 1


def test_what_holds_on_the_host_holds_on_a_device(two: list[fc.Device]) -> None:
    x = fc.device_put(X, two[0])
    key = fc.random.key(0)
    assert fnp.array_equal(
        fc.random.normal(fc.device_put(key, two[1]), (3,)), fc.random.normal(key, (3,))
    )
    assert fc.pure_callback(lambda a: a * 2, fc.ShapeDtypeStruct((3,), "float32"), x).tolist() == [
        2,
        4,
        6,
    ]
    assert pickle.loads(pickle.dumps(x)).tolist() == [1, 2, 3]
    assert np.from_dlpack(x, device="cpu").tolist() == [1, 2, 3]
    weak = fc.device_put(fnp.asarray(3), two[0])
    assert (weak + fnp.float16(1)).dtype == "float16"
    x.delete()
    assert x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1
