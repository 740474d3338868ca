"""The same ffi_call in JAX and in farcall: same results, same classes of errors; and where farcall
promises more than JAX, that it keeps the promise."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

import farcall as fc
import ml_dtypes
import numpy as np
import pytest
from handler_library import load

pytest.importorskip("jax")
from hosts import FARCALL, HOSTS, JAX, Host
from jax.experimental.layout import Layout

F32 = ((), np.float32)
S64 = ((), np.int64)
VECTOR = ((4,), np.float32)
TARGETS = [
    "axpy",
    "read_memory",
    "write_memory",
    "add_one",
    "echo_attributes",
    "effect",
    "optional",
    "variadic",
    "fail",
]

# The interface's numbers of dtypes, as the echo handler writes them.
NUMBERS = {
    "bool": 1,
    "int8": 2,
    "int16": 3,
    "int32": 4,
    "int64": 5,
    "uint8": 6,
    "uint16": 7,
    "uint32": 8,
    "uint64": 9,
    "float16": 10,
    "float32": 11,
    "float64": 12,
    "complex64": 15,
    "bfloat16": 16,
    "complex128": 18,
    "float8_e5m2": 19,
    "float8_e4m3fn": 20,
}


@pytest.fixture(scope="module", autouse=True)
def library() -> ctypes.CDLL:
    made = load("jax_hosted.cpp")
    for host in HOSTS:
        for name in TARGETS:
            host.register(f"hosted_{name}", made)
        host.register("hosted_untyped", made, api_version=0)
        host.register("hosted_untyped_unified", made, api_version=0)
    return made


@pytest.fixture(params=HOSTS, ids=repr)
def host(request: pytest.FixtureRequest) -> Host:
    return request.param


def echo(host: Host, **attributes: Any) -> str:
    """What the handler received: a line for each attribute, with kind, dtype and bytes."""
    result = host.call("hosted_echo_attributes", ((4096,), np.uint8), **attributes)
    return result.tobytes().rstrip(b"\0").decode()


def scalar(name: str, value: Any) -> str:
    made = np.asarray(value)
    return f"{name} scalar {NUMBERS[made.dtype.name]} {made.tobytes().hex()}\n"


def array(name: str, value: np.ndarray) -> str:
    return f"{name} array {NUMBERS[value.dtype.name]} {value.tobytes().hex()}\n"


def string(name: str, value: bytes) -> str:
    return f"{name} string {value.hex()}\n"


# ---- attributes that both have ------------------------------------------------------------------


class Color(enum.IntEnum):
    RED = 3


SAME: dict[str, tuple[Any, str]] = {
    "bool": (True, scalar("v", np.True_)),
    "int": (-5, scalar("v", np.int64(-5))),
    "float": (0.1, scalar("v", np.float64(0.1))),
    "nan": (float("nan"), scalar("v", np.float64("nan"))),
    "negative zero": (-0.0, scalar("v", np.float64(-0.0))),
    "str": ("näm\0e", string("v", "näm\0e".encode())),
    "empty str": ("", string("v", b"")),
    "bytes": (b"raw", string("v", b"raw")),
    "numpy str": (np.str_("text"), string("v", b"text")),
    **{
        dtype.__name__: (dtype(3), scalar("v", dtype(3)))
        for dtype in (
            *(np.bool_, np.int8, np.int16, np.int32, np.int64),
            *(np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64),
        )
    },
    **{
        f"array of {dtype.__name__}": (
            np.arange(3, dtype=dtype),
            array("v", np.arange(3, dtype=dtype)),
        )
        for dtype in (
            *(np.int8, np.int16, np.int32, np.int64),
            *(np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64),
        )
    },
    "empty array": (np.zeros(0, np.int32), array("v", np.zeros(0, np.int32))),
    "matrix": (np.arange(6).reshape(2, 3), array("v", np.arange(6))),
    "strided array": (np.arange(6)[::2], array("v", np.arange(6)[::2].copy())),
    "dict": (
        {"b": 1, "a": "x", "c": np.float32(2)},
        "v dictionary\n"
        + string("v.a", b"x")
        + scalar("v.b", np.int64(1))
        + scalar("v.c", np.float32(2)),
    ),
    "empty dict": ({}, "v dictionary\n"),
}


@pytest.mark.parametrize("case", SAME)
def test_attributes_arrive_alike(case: str) -> None:
    value, expected = SAME[case]
    assert echo(FARCALL, v=value) == echo(JAX, v=value) == expected


def test_attributes_arrive_sorted_by_name() -> None:
    attributes = {"zeta": 1, "alpha": 2, "Beta": 3, "a": 4, "_": 5}
    expected = "".join(scalar(name, np.int64(attributes[name])) for name in sorted(attributes))
    assert echo(FARCALL, **attributes) == echo(JAX, **attributes) == expected


@pytest.mark.parametrize(
    "value", [None, object(), np.float32, 1j], ids=["none", "object", "type", "complex"]
)
def test_attributes_that_jax_cannot_pass_raise_type_errors_there(value: Any) -> None:
    with pytest.raises(TypeError):
        echo(JAX, v=value)
    if not isinstance(value, complex):
        with pytest.raises(TypeError, match='attribute "v"'):
            echo(FARCALL, v=value)


# ---- attributes that farcall has beyond JAX -----------------------------------------------------

MORE: dict[str, tuple[Any, str]] = {
    "uint64 in full": (np.uint64(2**64 - 1), scalar("v", np.uint64(2**64 - 1))),
    "int above 63 bits": (2**64 - 1, scalar("v", np.uint64(2**64 - 1))),
    "float16": (np.float16(0.5), scalar("v", np.float16(0.5))),
    "bfloat16": (ml_dtypes.bfloat16(0.5), scalar("v", ml_dtypes.bfloat16(0.5))),
    "float8": (ml_dtypes.float8_e5m2(0.5), scalar("v", ml_dtypes.float8_e5m2(0.5))),
    "complex": (1 + 2j, scalar("v", np.complex128(1 + 2j))),
    "complex64": (np.complex64(1j), scalar("v", np.complex64(1j))),
    "0-d array": (np.array(3, np.int16), scalar("v", np.int16(3))),
    **{
        f"array of {dtype.__name__}": (
            np.array([0, 1, 1]).astype(dtype),
            array("v", np.array([0, 1, 1]).astype(dtype)),
        )
        for dtype in (
            *(np.bool_, np.float16, np.complex64, np.complex128),
            *(ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn),
        )
    },
    "list of int": ([1, 2], array("v", np.array([1, 2]))),
    "tuple of float": ((1.5, 2.5), array("v", np.array([1.5, 2.5]))),
    "list of bool": ([True, False], array("v", np.array([True, False]))),
    "list of complex": ([1j, 2.0], array("v", np.array([1j, 2.0]))),
    "list of both": ([1, 2.5], array("v", np.array([1, 2.5]))),
    "list of numpy scalars": ([np.int8(1)] * 2, array("v", np.ones(2, np.int8))),
    "empty list": ([], array("v", np.zeros(0, np.int64))),
    "big-endian array": (np.array([1, 2], ">i4"), array("v", np.array([1, 2], np.int32))),
    "enumeration": (Color.RED, scalar("v", np.int64(3))),
    "dict of dict": (
        {"b": {"d": [1], "c": {}}, "a": np.ones(1, np.float16)},
        "v dictionary\n"
        + array("v.a", np.ones(1, np.float16))
        + "v.b dictionary\nv.b.c dictionary\n"
        + array("v.b.d", np.array([1])),
    ),
}


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("case", MORE)
def test_attributes_beyond_jax(case: str, jit: bool) -> None:
    value, expected = MORE[case]
    result = FARCALL.call("hosted_echo_attributes", ((4096,), np.uint8), jit=jit, v=value)
    assert result.tobytes().rstrip(b"\0").decode() == expected


farcall_numpy: Any = fc.numpy
UNPASSABLE = {
    "list of str": (["a"], TypeError, 'attribute "v"'),
    "mixed list": ([1, "a"], TypeError, 'attribute "v"'),
    "nested list": ([[1], [2]], TypeError, 'attribute "v"'),
    "list of two dtypes": ([np.int8(1), np.float32(2)], TypeError, 'attribute "v"'),
    "array of objects": (np.array([None]), TypeError, 'attribute "v"'),
    "array of str": (np.array(["a"]), TypeError, 'attribute "v"'),
    "dates": (np.datetime64("2020-01-01"), TypeError, 'attribute "v"'),
    "set": ({1, 2}, TypeError, 'attribute "v"'),
    "none in a dict": ({"inner": None}, TypeError, 'attribute "v.inner"'),
    "key that is no str": ({1: 2}, TypeError, 'attribute "v"'),
    "farcall array": (farcall_numpy.zeros(2), TypeError, 'attribute "v"'),
    "int above 64 bits": (2**64, OverflowError, 'attribute "v"'),
    "int below 64 bits": (-(2**63) - 1, OverflowError, 'attribute "v"'),
}


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("case", UNPASSABLE)
def test_an_attribute_that_cannot_be_passed_is_named(case: str, jit: bool) -> None:
    value, error, text = UNPASSABLE[case]
    with pytest.raises(error, match=text):
        FARCALL.call("hosted_echo_attributes", ((64,), np.uint8), jit=jit, v=value)


EQUAL_IN_PYTHON = [
    2,
    2.0,
    np.int32(2),
    np.float32(2),
    np.int8(2),
    np.float64(2),
    2 + 0j,
    np.uint64(2),
]
ONES = [1, True, 1.0, np.True_, np.int64(1), np.float16(1)]


@pytest.mark.parametrize("values", [EQUAL_IN_PYTHON, ONES], ids=["two", "one"])
def test_values_that_compare_equal_are_different_attributes(values: list[Any]) -> None:
    """One callable, called eagerly, then inside one jitted function and as static arguments."""
    struct = fc.ShapeDtypeStruct((64,), np.uint8)
    call = fc.ffi.ffi_call("hosted_echo_attributes", struct)

    def text(result: Any) -> str:
        return np.asarray(result).tobytes().rstrip(b"\0").decode()

    expected = [scalar("v", value) for value in values]
    for _ in range(2):
        assert [text(call(v=value)) for value in values] == expected
    assert [text(r) for r in fc.jit(lambda: [call(v=value) for value in values])()] == expected
    static = fc.jit(lambda value: call(v=value), static_argnums=0)
    assert [text(static(value)) for value in values] == expected


def test_arrays_of_equal_bytes_are_different_attributes() -> None:
    call = fc.ffi.ffi_call("hosted_echo_attributes", fc.ShapeDtypeStruct((128,), np.uint8))
    values = [
        np.zeros(2, np.int64),
        np.zeros(2, np.float64),
        np.zeros(4, np.int32),
        np.zeros(2, np.uint64),
    ]
    for value in values * 2:
        assert np.asarray(call(v=value)).tobytes().rstrip(b"\0").decode() == array("v", value)


def test_an_array_that_changes_is_another_attribute() -> None:
    call = fc.ffi.ffi_call("hosted_echo_attributes", fc.ShapeDtypeStruct((128,), np.uint8))
    value = np.arange(3)
    for _ in range(3):
        assert np.asarray(call(v=value)).tobytes().rstrip(b"\0").decode() == array("v", value)
        value += 1


# ---- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("container", [list, tuple])
def test_results_come_in_the_container_that_was_given(
    host: Host, container: Callable[[Any], Any], jit: bool
) -> None:
    x = np.float32(2)
    result = host.call("hosted_optional", container([F32, F32]), x, jit=jit)
    assert type(result) is container
    assert [float(r) for r in result] == [12, 20]
    result = host.call("hosted_optional", container([F32]), x, jit=jit)
    assert type(result) is container
    assert len(result) == 1
    assert host.call("hosted_variadic", container([]), x, jit=jit) == container([])
    assert host.call("hosted_optional", F32, x, jit=jit).shape == ()


class Described:
    shape = ()
    dtype = np.dtype("float32")


def test_anything_with_shape_and_dtype_describes_a_result(host: Host) -> None:
    for described in (Described(), Described, np.zeros((), np.float32)):
        result = host.ffi.ffi_call("hosted_optional", described)(np.float32(1))
        assert (result.shape, float(result)) == ((), 11)


@pytest.mark.parametrize(
    "bad", [[None], [Described, "f4"], (1,), 3, None, "float32"], ids=lambda bad: type(bad).__name__
)
def test_what_does_not_describe_a_result(host: Host, bad: Any) -> None:
    with pytest.raises((ValueError, TypeError) if bad == "float32" else ValueError) as caught:
        host.ffi.ffi_call("hosted_optional", bad)
    if not host.is_jax and isinstance(bad, (list, tuple)):
        assert f"[{len(bad) - 1}]" in str(caught.value)


# ---- aliases ------------------------------------------------------------------------------------

IN_PLACE = [VECTOR, ((), np.int32)]


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize("aliases", [None, {}, {0: 0}, {np.int64(0): np.int32(0)}], ids=str)
def test_an_alias_shares_memory_and_spares_the_caller(host: Host, aliases: Any, jit: bool) -> None:
    x = host.module.numpy.arange(4, dtype=np.float32)
    options = {"input_output_aliases": aliases}
    y, shared = host.call("hosted_add_one", IN_PLACE, x, jit=jit, options=options)
    assert y.tolist() == [1, 2, 3, 4]
    assert bool(shared) == bool(aliases)
    assert np.asarray(x).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "aliases", [{1: 0}, {0: 2}, {-1: 0}, {0: -1}, {0: 1}, {0: 0, 1: 0}, {7: 7}], ids=str
)
def test_aliases_that_do_not_fit(host: Host, aliases: dict[int, int]) -> None:
    with pytest.raises(ValueError, match="0") as caught:
        host.call(
            "hosted_add_one",
            IN_PLACE,
            np.zeros(4, np.float32),
            options={"input_output_aliases": aliases},
        )
    if not host.is_jax:
        (input_, output), *_ = [pair for pair in aliases.items() if pair != (0, 0)]
        assert f"'{input_}:{output}'" in str(caught.value)
        assert 'ffi_call("hosted_add_one")' in str(caught.value)


def test_an_alias_of_other_layouts(host: Host) -> None:
    options = {"input_output_aliases": {0: 0}, "input_layouts": [(1, 0)]}
    with pytest.raises(ValueError, match=r"'0:0'.*layout"):
        host.call(
            "hosted_add_one",
            [((2, 2), np.float32), ((), np.int32)],
            np.zeros((2, 2), np.float32),
            options=options,
        )


def test_one_result_aliased_twice() -> None:
    """JAX accepts the mapping; farcall names it."""
    x = np.zeros((), np.float32)
    with pytest.raises(ValueError, match="'1:0'"):
        FARCALL.call("hosted_optional", F32, x, x, options={"input_output_aliases": {0: 0, 1: 0}})


# ---- layouts ------------------------------------------------------------------------------------

MATRIX = np.arange(6, dtype=np.int32).reshape(2, 3)
CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize(
    "layout",
    [
        None,
        (0, 1),
        (1, 0),
        [1, 0],
        np.array([1, 0]),
        range(1, -1, -1),
        Layout((1, 0)),
        Layout((0, 1)),
    ],
    ids=str,
)
def test_input_layouts(layout: Any, jit: bool) -> None:
    options = {"input_layouts": [layout]}
    first, second = (
        host.call("hosted_read_memory", ((6,), np.int32), MATRIX, jit=jit, options=options)
        for host in HOSTS
    )
    np.testing.assert_array_equal(first, second)
    order = getattr(layout, "major_to_minor", layout)
    expected = MATRIX if order is None else MATRIX.transpose(order)
    np.testing.assert_array_equal(second, expected.ravel())


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_layouts_of_rank_three(host: Host, order: tuple[int, ...]) -> None:
    read = host.call(
        "hosted_read_memory", ((24,), np.int32), CUBE, options={"input_layouts": [order]}
    )
    np.testing.assert_array_equal(read, CUBE.transpose(order).ravel())
    written = host.call(
        "hosted_write_memory", (CUBE.shape, np.int32), options={"output_layouts": order}
    )
    np.testing.assert_array_equal(written.transpose(order).ravel(), np.arange(24))
    (written,) = host.call(
        "hosted_write_memory", [(CUBE.shape, np.int32)], options={"output_layouts": [order]}
    )
    np.testing.assert_array_equal(written.transpose(order).ravel(), np.arange(24))


BAD_LAYOUTS: dict[str, dict[str, Any]] = {
    "too many": {"input_layouts": [None, None]},
    "too few": {"input_layouts": []},
    "not in a list": {"input_layouts": (1, 0)},
    "rank": {"input_layouts": [(0,)]},
    "twice": {"input_layouts": [(0, 0)]},
    "out of range": {"input_layouts": [(0, 2)]},
    "negative": {"input_layouts": [(-1, -2)]},
    "tiling": {"input_layouts": [Layout((1, 0), ((2,),))]},
    "result rank": {"output_layouts": (0, 1)},
    "result out of range": {"output_layouts": (1,)},
}


@pytest.mark.parametrize("case", BAD_LAYOUTS)
def test_layouts_that_do_not_fit(host: Host, case: str) -> None:
    with pytest.raises(ValueError, match="layout"):
        host.call("hosted_read_memory", ((6,), np.int32), MATRIX, options=BAD_LAYOUTS[case])


def test_too_many_result_layouts(host: Host) -> None:
    with pytest.raises(ValueError, match=r"output.layouts"):
        host.call(
            "hosted_write_memory",
            [((2, 2), np.int32)],
            options={"output_layouts": [None, None]},
        )


# ---- effects, vmap methods, versions ------------------------------------------------------------


def test_a_call_with_effects_runs_though_its_result_is_unused(
    host: Host, library: ctypes.CDLL
) -> None:
    with host.types():
        struct = host.struct((), np.int64)
        with_effect = host.ffi.ffi_call("hosted_effect", struct, has_side_effect=True)
        without = host.ffi.ffi_call("hosted_effect", struct)

        def run(x: Any) -> Any:
            with_effect()
            with_effect()
            without()
            return x + 1

        jitted = host.module.jit(run)
        for _ in range(3):
            before = library.hosted_num_effects()
            assert int(jitted(np.int32(1))) == 2
            host.module.block_until_ready(with_effect())
            assert library.hosted_num_effects() == before + 3


@pytest.mark.parametrize(
    "method",
    [
        None,
        "sequential",
        "sequential_unrolled",
        "expand_dims",
        "broadcast_all",
        "legacy_vectorized",
    ],
)
def test_vmap_methods_are_accepted(host: Host, method: str | None) -> None:
    x = np.ones(4, np.float32)
    options = {"vmap_method": method}
    result = host.call("hosted_axpy", VECTOR, x, x, options=options, a=np.float32(1))
    assert result.tolist() == [2] * 4


@pytest.mark.parametrize("method", ["nope", "", "SEQUENTIAL", 3, True], ids=repr)
def test_other_vmap_methods_are_refused(host: Host, method: Any) -> None:
    wrong_kind = () if isinstance(method, str) else (TypeError,)
    with pytest.raises((ValueError, *wrong_kind), match="vmap_method") as caught:
        host.ffi.ffi_call("hosted_axpy", host.struct((), np.float32), vmap_method=method)
    if isinstance(method, str):
        assert all(name in str(caught.value) for name in ("sequential_unrolled", "broadcast_all"))


def test_a_backend_config_with_version_4(host: Host) -> None:
    struct = host.struct((), np.float32)
    with pytest.raises(ValueError, match=r"legacy_backend_config.*custom_call_api_version"):
        host.ffi.ffi_call("hosted_axpy", struct, legacy_backend_config="x")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_attributes_below_version_4(host: Host, version: int) -> None:
    options = {"custom_call_api_version": version}
    with pytest.raises(ValueError, match=f"attributes.*{version}"):
        host.call("hosted_untyped", F32, np.float32(1), options=options, a=1)


@pytest.mark.parametrize(
    ("target", "options", "expected"),
    [
        ("hosted_untyped", {"custom_call_api_version": 1}, 1.5),
        ("hosted_untyped", {"custom_call_api_version": 2}, 1.5),
        ("hosted_untyped_unified", {"custom_call_api_version": 3}, 1.0),
        (
            "hosted_untyped_unified",
            {"custom_call_api_version": 3, "legacy_backend_config": "2.25"},
            3.25,
        ),
    ],
)
def test_untyped_targets(host: Host, target: str, options: dict[str, Any], expected: float) -> None:
    assert host.call(target, F32, np.float32(1), options=options) == expected


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
@pytest.mark.parametrize(
    ("target", "version"), [("hosted_axpyy", 4), ("hosted_untyped", 4), ("hosted_axpy", 1)]
)
def test_targets_that_are_not_registered(host: Host, target: str, version: int, jit: bool) -> None:
    x = np.zeros(4, np.float32)
    options = {"custom_call_api_version": version}
    code, text = host.failure(lambda: host.call(target, VECTOR, x, x, jit=jit, options=options))
    assert code == "NOT_FOUND"
    assert target in text
    if not host.is_jax and target == "hosted_axpyy":
        assert '"hosted_axpy"' in text


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
def test_errors_of_handlers_are_runtime_errors(host: Host, jit: bool) -> None:
    for _ in range(2):
        with pytest.raises(RuntimeError, match="OUT_OF_RANGE: it is gone"):
            host.call("hosted_fail", F32, jit=jit, code=np.int32(11), message="it is gone")


@pytest.mark.parametrize(
    "operand", [None, "text", object(), {"a": 1}, np.array(["a"])], ids=lambda v: type(v).__name__
)
def test_operands_that_are_no_arrays(host: Host, operand: Any) -> None:
    with pytest.raises(TypeError):
        host.call("hosted_optional", F32, operand, jit=False)


def test_python_numbers_as_operands(host: Host) -> None:
    call = host.ffi.ffi_call("hosted_optional", host.struct((), np.float32))
    assert float(call(2.0)) == 12
    assert float(host.module.jit(call)(2.0)) == 12


def test_another_handler_under_a_taken_name(host: Host, library: ctypes.CDLL) -> None:
    same = host.ffi.pycapsule(library.hosted_axpy)
    host.ffi.register_ffi_target("hosted_axpy", same, platform="cpu")
    other = host.ffi.pycapsule(library.hosted_add_one)
    with pytest.raises(RuntimeError, match="hosted_axpy"):
        host.ffi.register_ffi_target("hosted_axpy", other, platform="cpu")
