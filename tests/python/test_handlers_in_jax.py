"""One binary in two runtimes: handlers written with farcall's header give JAX and farcall the same
results and the same errors."""

from __future__ import annotations

import ctypes
import gc
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import farcall as fc
import jax
import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("jax")
from hosted import BYTES, F32, RICH, S64, SCALARS, failure_in_both, in_both, registered, text_of
from hosts import FARCALL, HOSTS, JAX, Host


@pytest.fixture(scope="module", autouse=True)
def library() -> ctypes.CDLL:
    return registered()


@pytest.fixture(params=HOSTS, ids=repr)
def host(request: pytest.FixtureRequest) -> Host:
    return request.param


# ---- dtypes -------------------------------------------------------------------------------------

DTYPES = [
    np.bool_,
    *(np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
    *(np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex64, np.complex128),
    *(ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3, ml_dtypes.float8_e4m3fn),
    *(ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e5m2fnuz, ml_dtypes.float8_e4m3fnuz),
    *(ml_dtypes.float8_e3m4, ml_dtypes.float8_e8m0fnu),
]


@pytest.mark.parametrize("shape", [(), (7,), (2, 3, 4), (0, 3)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = np.asarray(rng.standard_normal(shape) * 4).astype(dtype)
    doubled = in_both("hosted_double", (shape, dtype), x)
    if dtype is np.bool_:
        np.testing.assert_array_equal(doubled, ~x)
    elif np.issubdtype(dtype, np.integer) or np.dtype(dtype).itemsize > 1:
        np.testing.assert_array_equal(doubled, x + x)
    else:
        expected = (2 * x.astype(np.float32)).astype(dtype)
        np.testing.assert_array_equal(doubled.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffers_arrive_with_dtype_dimensions_and_alignment(dtype: Any) -> None:
    text = text_of(in_both("hosted_describe", BYTES, np.zeros((2, 3, 5), dtype)))
    assert text.endswith(" 2 3 5 aligned")


@pytest.mark.parametrize("jit", [True, False], ids=["jit", "eager"])
def test_typed_buffers_and_an_attribute(jit: bool) -> None:
    x = np.arange(1000, dtype=np.float32)
    y = in_both("hosted_axpy", ((1000,), np.float32), x, x, jit=jit, a=np.float32(0.1))
    np.testing.assert_array_equal(y, np.float32(0.1) * x + x)


def test_unaligned_memory_reaches_the_handler_aligned(host: Host) -> None:
    memory = np.zeros(4 * 8 + 1, np.uint8)
    unaligned = memory[1:].view(np.float32)
    assert text_of(host.call("hosted_describe", BYTES, unaligned)).endswith(" 8 aligned")


# ---- attributes ---------------------------------------------------------------------------------


def test_scalar_attributes_of_every_type() -> None:
    result = in_both("hosted_scalars", BYTES, **SCALARS)
    expected = b"".join(np.asarray(value).tobytes() for value in SCALARS.values())
    assert result.tobytes() == expected.ljust(256, b"\0")


def test_scalar_attributes_that_jax_cannot_pass() -> None:
    half, brain = np.float16(1.5), ml_dtypes.bfloat16(-2.5)
    result = FARCALL.call("hosted_small_floats", BYTES, f16=half, bf16=brain)
    assert result.tobytes()[:4] == half.tobytes() + brain.tobytes()

    z = 0.5 - 2j
    result = FARCALL.call("hosted_complexes", BYTES, c64=np.complex64(z), c128=z)
    assert result.tobytes()[:24] == np.complex64(z).tobytes() + np.complex128(z).tobytes()

    large = {**SCALARS, "u64": np.uint64(2**64 - 1)}
    assert b"\xff" * 8 in FARCALL.call("hosted_scalars", BYTES, **large).tobytes()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, "sëen||1,-2,||7|3 0.500000 w|xy+x|-1|40|1"),
        ({"maybe": 5, "fallback": 6}, "sëen||1,-2,||7|3 0.500000 w|xy+x|5|6|1"),
        ({"either": 3}, "sëen||1,-2,||7|3 0.500000 w|xy+x|-1|40|0"),
        ({"window": {"size": -1, "name": ""}}, "sëen||1,-2,||7|-1 -1.000000 |xy+x|-1|40|1"),
        ({"mode": np.int32(1), "extra": {}}, "sëen||1,-2,||1|3 0.500000 w|-x|-1|40|1"),
    ],
)
def test_strings_arrays_enums_structs_and_optional_attributes(
    change: dict[str, Any], expected: str
) -> None:
    assert text_of(in_both("hosted_rich", BYTES, **{**RICH, **change})) == expected


def test_a_dictionary_in_a_dictionary() -> None:
    attributes = {**RICH, "extra": {"deep": {"flag": True}}}
    assert "|deep-x+flag|" in text_of(FARCALL.call("hosted_rich", BYTES, **attributes))


# ---- optional, variadic, tokens -----------------------------------------------------------------


def scalars(*values: float) -> list[np.ndarray]:
    return [np.asarray(value, np.float32) for value in values]


@pytest.mark.parametrize(
    ("args", "results", "expected"),
    [((2,), 1, [12]), ((2, 3), 1, [5]), ((2,), 2, [12, 20]), ((2, 3), 2, [5, 6])],
)
def test_optional_arguments_and_results(args: Any, results: int, expected: list[float]) -> None:
    made = in_both("hosted_optional", [F32] * results, *scalars(*args))
    assert [float(m) for m in made] == expected


@pytest.mark.parametrize("results", [1, 2, 5])
def test_remaining_arguments_and_results(results: int) -> None:
    args = [*scalars(1, 2, 3), np.int32(0)]
    made = in_both("hosted_variadic", tuple([F32] * results), *args)
    assert isinstance(made, tuple)
    assert [float(m) for m in made] == [1006 + i for i in range(results)]


def test_a_remaining_result_of_another_dtype() -> None:
    code, text = failure_in_both("hosted_variadic", [F32, S64], *scalars(1))
    assert (code, text) == ("INVALID_ARGUMENT", "remaining result 1: wanted f32[], got s64[]")


def test_tokens_order_calls(host: Host) -> None:
    if host.is_jax:
        from jax._src.core import abstract_token as token_type
        from jax.lax import create_token
    else:
        lax: Any = fc.lax
        token_type, create_token = fc.ffi.abstract_token, lax.create_token
    call = host.ffi.ffi_call("hosted_token", [token_type, host.struct((), np.float32)])

    def twice(x: Any) -> Any:
        token, y = call(create_token(), x)
        return call(token, y)[1]

    assert float(host.module.jit(twice)(np.float32(1))) == 3


# ---- state --------------------------------------------------------------------------------------


def test_state_lives_as_long_as_the_executable(host: Host, library: ctypes.CDLL) -> None:
    first = 10 if host.is_jax else 20
    with host.types():
        call = host.ffi.ffi_call("hosted_plan", host.struct((), np.int64), has_side_effect=True)
        jitted = host.module.jit(lambda: call(first=first))
        before = library.hosted_num_instantiated()
        assert [int(jitted()) for _ in range(3)] == [first, first + 1, first + 2]
    assert library.hosted_num_instantiated() == before + 1


def test_an_executable_that_dies_frees_its_state(library: ctypes.CDLL) -> None:
    alive = library.hosted_num_alive()
    call = fc.ffi.ffi_call("hosted_plan", fc.ShapeDtypeStruct((), np.int64))
    jitted = fc.jit(lambda: call(first=901))
    assert int(jitted()) == 901
    assert library.hosted_num_alive() == alive + 1
    del jitted
    assert library.hosted_num_alive() == alive


def test_clear_caches_frees_the_state_of_eager_calls(library: ctypes.CDLL) -> None:
    jax.clear_caches()  # what earlier tests left would go at any time
    gc.collect()
    alive = library.hosted_num_alive()
    spec = fc.ShapeDtypeStruct((), np.int64)
    for expected in (902, 903, 904):  # made anew, the call finds its program, and state, again
        assert int(fc.ffi.ffi_call("hosted_plan", spec)(first=902)) == expected
    assert library.hosted_num_alive() == alive + 1
    fc.clear_caches()
    assert library.hosted_num_alive() <= alive


@pytest.mark.parametrize(
    ("attributes", "code", "text"),
    [
        ({"first": -1}, "INVALID_ARGUMENT", "first is negative"),
        ({"first": 1001}, "INTERNAL", "hosted_plan_instantiate: first is too large"),
        (
            {},
            "INVALID_ARGUMENT",
            'hosted_plan_instantiate: attribute "first": missing (the call has none)',
        ),
    ],
)
def test_failures_while_state_is_made(attributes: dict[str, Any], code: str, text: str) -> None:
    assert failure_in_both("hosted_plan", S64, **attributes) == (code, text)


def test_the_message_of_an_error_is_the_handlers_own_text() -> None:
    call = fc.ffi.ffi_call("hosted_plan", fc.ShapeDtypeStruct((), np.int64))
    with pytest.raises(fc.FfiError) as caught:
        fc.jit(lambda: call(first=-1))()
    assert caught.value.message == "first is negative"


def test_prepare_and_initialize_have_state_of_their_own(library: ctypes.CDLL) -> None:
    """In farcall alone: JAX's CPU runtime runs neither stage, and crashes when asked for state."""
    FARCALL.register(
        "hosted_stages",
        library,
        {
            "instantiate": "hosted_plan_instantiate",
            "prepare": "hosted_stages_prepare",
            "initialize": "hosted_stages_initialize",
            "execute": "hosted_stages",
        },
    )
    result = FARCALL.call("hosted_stages", ((3,), np.int64), first=5)
    assert result.tolist() == [5, 6, 50]


def test_user_data_whose_type_is_not_registered_then_registered(library: ctypes.CDLL) -> None:
    code, text = failure_in_both("hosted_user_data", S64)
    if "not registered" in text:
        assert text == ("hosted_user_data: user data: its type is not registered with the runtime")
    library.hosted_settings_type_id.restype = ctypes.c_void_p
    type_id = ctypes.c_void_p(library.hosted_settings_type_id())
    fc.ffi.register_ffi_type("hosted_settings", {"type_id": fc.ffi.pycapsule(type_id)})
    code, text = FARCALL.failure(lambda: FARCALL.call("hosted_user_data", S64))
    assert code == "INVALID_ARGUMENT"
    assert text.startswith("hosted_user_data: user data: ")
    assert "not registered" not in text


# ---- threads ------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 5, 10_000])
def test_parallel_for(size: int) -> None:
    x = np.arange(size, dtype=np.int64)
    result = in_both("hosted_parallel", ((size,), np.int64), x, fail_at=-1)
    np.testing.assert_array_equal(result, x * x)


def test_an_exception_in_parallel_for() -> None:
    x = np.arange(1000, dtype=np.int64)
    failed = failure_in_both("hosted_parallel", ((1000,), np.int64), x, fail_at=333)
    assert failed == ("INTERNAL", "hosted_parallel: element 333")


def test_a_pool_has_threads(host: Host) -> None:
    assert host.call("hosted_num_threads", S64) >= 1


@pytest.mark.parametrize("own_thread", [True, False], ids=["own thread", "pool"])
def test_results_that_come_later(own_thread: bool) -> None:
    result = in_both("hosted_future", ((20,), np.int64), own_thread=own_thread, failure="")
    assert result.tolist() == list(range(100, 120))
    failed = failure_in_both(
        "hosted_future", ((20,), np.int64), own_thread=own_thread, failure="lost"
    )
    assert failed == ("DATA_LOSS", "lost")


def test_calls_from_many_threads(host: Host) -> None:
    x = np.arange(100, dtype=np.int64)

    def run(_: int) -> None:
        result = host.call("hosted_parallel", ((100,), np.int64), x, jit=False, fail_at=-1)
        np.testing.assert_array_equal(result, x * x)
        later = host.call("hosted_future", ((3,), np.int64), own_thread=False, failure="")
        assert later.tolist() == [100, 101, 102]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(12)))


# ---- the execution ------------------------------------------------------------------------------


def test_run_id_device_and_stage(host: Host) -> None:
    first, second = (host.call("hosted_ids", ((3,), np.int64)) for _ in range(2))
    assert first[0] != second[0]
    assert first[1:].tolist() == second[1:].tolist() == [0, 3]


def test_one_execution_has_one_run_id(host: Host) -> None:
    with host.types():
        call = host.ffi.ffi_call("hosted_ids", host.struct((3,), np.int64), has_side_effect=True)
        first, second = host.module.jit(lambda: (call(), call()))()
        assert np.asarray(first).tolist() == np.asarray(second).tolist()


def test_scratch_memory_is_there_in_farcall() -> None:
    assert FARCALL.call("hosted_scratch", S64, size=1000) == 0
    code, text = JAX.failure(lambda: JAX.call("hosted_scratch", S64, size=1000))
    assert (code, text) == ("INTERNAL", "XLA FFI GPU context is not available")


def test_there_is_no_stream_on_the_cpu(host: Host) -> None:
    code, text = host.failure(lambda: host.call("hosted_stream", S64))
    assert code == "INVALID_ARGUMENT"
    assert text.startswith("hosted_stream: stream: ")
    assert "GPU context is not available" in text
