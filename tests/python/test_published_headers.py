"""Handlers built with every published header of XLA, and with ours of its name, on both engines."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall._plugins import find_plugin

FOLDER = Path(__file__).resolve().parents[2] / "build/release/tests/cpp/ffi/portable"
LIBRARIES = {path.stem.split("_")[1]: path for path in sorted(FOLDER.glob("portable_*.so"))}
HANDLERS = (
    "scale fail scalars sum_array nested enum_struct variadic scratch run_id barrier future ordinal"
)

pytestmark = pytest.mark.skipif(
    not LIBRARIES, reason="needs the handlers that run-tests builds with XLA's headers"
)


class Handlers:
    """The handlers of a library, called on a device."""

    def __init__(self, version: str, device: fc.Device) -> None:
        self.library = ctypes.CDLL(str(LIBRARIES[version]))
        self.header = self.library.portable_header()
        self.version, self.device = version, device

    def register(self) -> None:
        def function(name: str) -> Any:
            return fc.ffi.pycapsule(getattr(self.library, f"portable_{name}"))

        def pointer(name: str) -> Any:
            made = getattr(self.library, f"portable_{name}")
            made.restype = ctypes.c_void_p
            return made()

        def capsule(name: str) -> Any:
            return fc.ffi.pycapsule(ctypes.c_void_p(pointer(name)))

        for name in HANDLERS.split():
            if hasattr(self.library, f"portable_{name}"):
                fc.ffi.register_ffi_target(self.name(name), function(name))
        kind = {"type_id": capsule("counter_id")}
        if pointer("counter_info"):
            kind["type_info"] = capsule("counter_info")
        fc.ffi.register_ffi_type(f"Counter@{self.version}", kind)
        count = {"instantiate": function("count_instantiate"), "execute": function("count")}
        fc.ffi.register_ffi_target(self.name("count"), count)
        if self.header >= 1000:
            states = {
                "instantiate": function("count_instantiate"),
                "prepare": function("states_prepare"),
                "initialize": function("states_initialize"),
                "execute": function("states"),
            }
            fc.ffi.register_ffi_target(self.name("states"), states)

    def name(self, handler: str) -> str:
        return f"python_{handler}@{self.version}"

    def call(self, handler: str, results: Any, *args: Any, **attributes: Any) -> Any:
        call = fc.ffi.ffi_call(self.name(handler), results, has_side_effect=True)
        return fc.jit(lambda *args: call(*args, **attributes), device=self.device)(*args)

    def number(self, handler: str, *args: Any, **attributes: Any) -> int:
        return int(self.call(handler, fc.ShapeDtypeStruct((), np.int64), *args, **attributes))


@pytest.fixture(scope="module", params=["native", "pjrt"])
def device(request: pytest.FixtureRequest) -> fc.Device:
    if request.param == "pjrt" and not find_plugin():
        pytest.skip("no PJRT plugin is installed")
    return fc.devices(request.param)[0]


@pytest.fixture(scope="module", params=LIBRARIES)
def handlers(request: pytest.FixtureRequest, device: fc.Device) -> Handlers:
    made = Handlers(request.param, device)
    made.register()
    return made


def test_buffers_and_attributes(handlers: Handlers) -> None:
    x = np.arange(4, dtype=np.float32)
    y = handlers.call(
        "scale", fc.ShapeDtypeStruct((4,), x.dtype), x, factor=np.float32(2), label=""
    )
    np.testing.assert_array_equal(y, 2 * x)
    scalars = {"b": True, "i8": np.int8(-8), "i16": np.int16(-16), "i32": np.int32(-32)}
    floats = {"f32": np.float32(0.5), "f64": np.float64(0.25)}
    assert handlers.number("scalars", **scalars, i64=np.int64(-64), **floats) == 127
    assert handlers.number("sum_array", values=np.array([1, 20, 300])) == 321
    assert handlers.number("nested", inner={"value": np.int64(40), "text": "ab"}) == 42
    ends = {"low": np.int64(6), "high": np.int64(7)}
    assert handlers.number("enum_struct", mode=np.int32(1), range=ends) == 42


def test_any_number_of_buffers(handlers: Handlers) -> None:
    x, y = np.arange(3, dtype=np.float32), np.arange(4, dtype=np.int8)
    if handlers.header < 500:
        assert handlers.number("variadic", x, y) == 16
        return
    kinds = [fc.ShapeDtypeStruct(a.shape, a.dtype) for a in (x, y)]
    a, b, total = handlers.call("variadic", [*kinds, fc.ShapeDtypeStruct((), np.int64)], x, y)
    np.testing.assert_array_equal(a, x)
    np.testing.assert_array_equal(b, y)
    assert total == 16


def test_a_compiled_call_has_one_state(handlers: Handlers) -> None:
    alive = handlers.library.portable_counters_alive
    alive.restype = ctypes.c_int64
    before = alive()
    count = fc.ffi.ffi_call(
        handlers.name("count"), fc.ShapeDtypeStruct((), np.int64), has_side_effect=True
    )
    f = fc.jit(lambda: count(start=np.int64(30)), device=handlers.device)
    assert [int(f()) for _ in range(3)] == [30, 31, 32]
    assert alive() == before + 1
    with pytest.raises(fc.FfiError, match="start is negative"):
        handlers.number("count", start=np.int64(-1))
    if handlers.header >= 1000:
        three = fc.ShapeDtypeStruct((3,), np.int64)
        assert handlers.call("states", three, start=np.int64(1)).tolist() == [1, 11, 111]


def test_scratch_threads_and_results_that_come_later(handlers: Handlers) -> None:
    assert handlers.number("scratch", size=np.int64(5000), alignment=np.int64(256)) == 0
    if handlers.header < 500:
        return
    assert handlers.number("barrier") >= 1
    assert handlers.number("future", fail=False) == 77
    with pytest.raises(fc.FfiError, match="lost on the way"):
        handlers.number("future", fail=True)
    assert handlers.number("run_id") != 0
    if handlers.header >= 600:
        assert handlers.number("ordinal") == 0


def test_errors_leave_the_device_usable(handlers: Handlers) -> None:
    with pytest.raises(fc.FfiError, match="told to") as caught:
        handlers.call("fail", [], code=np.int32(5), message="told to")
    assert caught.value.code == "NOT_FOUND"
    x = np.ones(2, np.float32)
    kind = fc.ShapeDtypeStruct((2,), np.float32)
    for _ in range(2):
        with pytest.raises(fc.FfiError, match="scale was told to fail"):
            handlers.call("scale", kind, x, factor=np.float32(2), label="fail")
        assert handlers.call("scale", kind, x, factor=np.float32(2), label="")[1] == 2
    # Our header declares its attributes to farcall; XLA's refuses when it decodes them.
    with pytest.raises((fc.FfiError, ValueError), match=r"attribute factor|Wrong type|decode"):
        handlers.call("scale", kind, x, factor=np.float64(2), label="")
