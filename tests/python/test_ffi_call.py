"""ffi_call: options, operands, attributes, aliases, layouts, tokens, state, untyped targets."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np
import pytest
from farcall import ffi

pytestmark = pytest.mark.usefixtures("handlers")
V = fc.ShapeDtypeStruct((3,), "float32")
ONE = np.float32(1)


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([1.0, 2.0, 3.0])


def number(dtype: str = "int64") -> fc.ShapeDtypeStruct:
    return fc.ShapeDtypeStruct((), dtype)


# ---- calls ----


def test_a_call_runs_eagerly_and_under_jit(x):
    call = ffi.ffi_call("scale", V)
    for run in (call, fc.jit(lambda a, factor: call(a, factor=factor), static_argnames="factor")):
        for factor in (2, 3, 2):
            np.testing.assert_array_equal(run(x, factor=np.float32(factor)), x * factor)
    program = fc.make_jaxpr(lambda a: call(call(a, factor=ONE), factor=ONE))(x)
    assert program.primitives == ["ffi_call", "ffi_call"]


@pytest.mark.parametrize("kind", [list, tuple])
def test_results_come_in_the_form_that_was_asked_for(x, kind):
    results = ffi.ffi_call("sum_and_difference", kind([V, V]))(x, 2 * x)
    assert type(results) is kind
    np.testing.assert_array_equal(results[0], x * 3)
    np.testing.assert_array_equal(results[1], -x)
    assert type(ffi.ffi_call("scale", kind([V]))(x, factor=ONE)) is kind
    assert ffi.ffi_call("copy_all", kind([]))() == kind()
    under_jit = fc.jit(ffi.ffi_call("sum_and_difference", kind([V, V])))(x, x)
    assert type(under_jit) is kind


@pytest.mark.parametrize("count", [1, 8, 9, 30])
def test_any_number_of_operands(count):
    arrays = [fnp.full((i % 3,), float(i)) for i in range(count)]
    call = ffi.ffi_call("copy_all", [a.aval for a in arrays])
    for run in (call, call, fc.jit(call)):
        for got, expected in zip(run(*arrays), arrays, strict=True):
            np.testing.assert_array_equal(got, expected)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", fc.dtypes.names)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1,) * 16])
def test_every_dtype_reaches_the_handler(name, shape):
    dtype = getattr(fc.dtypes, "bool_" if name == "bool" else name)
    value = np.resize(np.array([1, 0, 1]), shape).astype(dtype)
    (result,) = ffi.ffi_call("copy_all", [fc.ShapeDtypeStruct(shape, dtype)])(value)
    assert result.dtype == dtype
    if name == "int1":  # its 1 is -1, which has all bits set here
        assert np.array_equal(np.asarray(result), value)
    else:
        assert np.asarray(result).tobytes() == value.tobytes()


def test_numbers_and_numpy_arrays_are_operands():
    for value, dtype in [(2, "int32"), (2.5, "float32"), (True, "bool"), (np.int8(2), "int8")]:
        result = ffi.ffi_call("copy_all", number(dtype))(value)
        assert (result.dtype, result.item(), result.weak_type) == (np.dtype(dtype), value, False)
    strided = np.arange(12, dtype=np.float32).reshape(3, 4).T
    described = fc.ShapeDtypeStruct(strided.shape, strided.dtype)
    np.testing.assert_array_equal(ffi.ffi_call("copy_all", described)(strided), strided)


def test_anything_with_shape_and_dtype_describes_a_result(x):
    @dataclasses.dataclass
    class Description:
        shape: tuple
        dtype: object

    for described in (
        x,
        np.zeros(3, np.float32),
        Description((3,), np.float32),
        Description([3], "f4"),
    ):
        np.testing.assert_array_equal(ffi.ffi_call("scale", described)(x, factor=ONE), x)


# ---- the callable ----


def test_a_call_can_be_inspected_and_changed(x):
    call = ffi.ffi_call("scale", V, vmap_method="sequential", input_output_aliases={0: 0})
    assert repr(call) == '<ffi_call "scale">'
    assert (call.target_name, call.result_shape_dtypes) == ("scale", V)
    assert (call.has_side_effect, call.vmap_method, call.custom_call_api_version) == (
        False,
        "sequential",
        4,
    )
    assert call.input_output_aliases == {0: 0}
    assert (call.input_layouts, call.output_layouts, call.legacy_backend_config) == (
        None,
        None,
        None,
    )
    changed = call.replace(has_side_effect=True, target_name="copy_all", input_output_aliases=None)
    assert (changed.has_side_effect, changed.target_name, changed.vmap_method) == (
        True,
        "copy_all",
        "sequential",
    )
    assert call.has_side_effect is False
    np.testing.assert_array_equal(changed(x), x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'side_effect'"):
        call.replace(side_effect=True)


def test_calls_are_copied_and_pickled(x):
    layouts = {"input_layouts": [(0,)], "output_layouts": (0,), "input_output_aliases": {0: 0}}
    call = ffi.ffi_call("scale", V, vmap_method="sequential", **layouts)
    for other in (copy.copy(call), copy.deepcopy(call), pickle.loads(pickle.dumps(call))):
        for name in ("target_name", "result_shape_dtypes", "vmap_method", *layouts):
            assert getattr(other, name) == getattr(call, name)
        np.testing.assert_array_equal(other(x, factor=ONE), x)


def test_a_program_shows_every_parameter(x):
    call = ffi.ffi_call("scale", V, vmap_method="expand_dims")
    text = str(fc.make_jaxpr(lambda a: call(a, factor=ONE))(x))
    for parameter in (
        "attributes={factor=1.0:f32}",
        "batched_operands=()",
        "custom_call_api_version=4",
        "has_side_effect=False",
        "input_layouts=(None,)",
        "input_output_aliases=()",
        "legacy_backend_config=None",
        "output_layouts=(None,)",
        "result_types=(f32[3],)",
        "target_name=scale",
        "vmap_method=expand_dims",
    ):
        assert parameter in text


def test_vectorized_is_deprecated():
    with pytest.warns(DeprecationWarning, match="vectorized is deprecated"):
        assert ffi.ffi_call("scale", V, vectorized=True).vmap_method == "legacy_vectorized"
    with pytest.warns(DeprecationWarning, match="vectorized"):
        assert ffi.ffi_call("scale", V, vectorized=False).vmap_method == "sequential"
    refused = pytest.raises(ValueError, match="cannot both be given")
    with pytest.warns(DeprecationWarning, match="vectorized"), refused:
        ffi.ffi_call("scale", V, vectorized=True, vmap_method="sequential")


# ---- attributes ----


def described(**attributes) -> str:
    text = ffi.ffi_call("describe_attributes", fc.ShapeDtypeStruct((300,), "uint8"))(**attributes)
    return bytes(np.asarray(text)).decode().strip()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "pred:1"),
        (2, "s64:2"),
        (-(2**63), "s64:-9223372036854775808"),
        (2**64 - 1, "u64:18446744073709551615"),
        (2.0, "f64:2.000000"),
        (1j, "c128:0.000000,1.000000"),
        ("text", "str:text"),
        (b"bytes", "str:bytes"),
        ("", "str:"),
        (np.int8(-2), "s8:-2"),
        (np.int16(2), "s16:2"),
        (np.int32(2), "s32:2"),
        (np.int64(2), "s64:2"),
        (np.uint8(2), "u8:2"),
        (np.uint16(2), "u16:2"),
        (np.uint32(2), "u32:2"),
        (np.uint64(2**64 - 1), "u64:18446744073709551615"),
        (np.float32(0.5), "f32:0.500000"),
        (np.float64(0.5), "f64:0.500000"),
        (np.complex64(1 + 2j), "c64:1.000000,2.000000"),
        (np.bool_(False), "pred:0"),
        (np.array(3, np.int32), "s32:3"),
        (np.arange(3, dtype=np.int16), "s16[3]:0,1,2,"),
        (np.array([[1.5, 2.5]], np.float32), "f32[2]:1.500000,2.500000,"),
        (np.arange(4)[::2], "s64[2]:0,2,"),
        ([1, 2], "s64[2]:1,2,"),
        ((1, 2.5), "f64[2]:1.000000,2.500000,"),
        ([True, False], "pred[2]:1,0,"),
        ([np.float32(1), np.float32(2)], "f32[2]:1.000000,2.000000,"),
        ([], "s64[0]:"),
        ({"b": 1, "a": {"c": "d"}}, "{a={c=str:d } b=s64:1 }"),
        ({}, "{}"),
    ],
    ids=repr,
)
def test_an_attribute_of_every_type_arrives(value, text):
    assert described(name=value) == f"name={text}"


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2, ml_dtypes.int4]
)
def test_narrow_numbers_are_attributes(dtype):
    program = fc.make_jaxpr(lambda: ffi.ffi_call("t", number())(a=dtype(1), b=np.ones(2, dtype)))()
    assert fc.parse_program(program.to_text()) == program
    assert described(name=dtype(1)).startswith("name=")


def test_attributes_are_sorted_by_name():
    assert described(b=1, a=2, c=3) == described(c=3, a=2, b=1) == "a=s64:2 b=s64:1 c=s64:3"


def test_equal_numbers_of_different_types_make_different_programs():
    values = (
        2,
        2.0,
        True,
        np.int32(2),
        np.float32(2),
        np.uint64(2),
        2 + 0j,
        1,
        "2",
        [2],
        -0.0,
        0.0,
    )
    call = ffi.ffi_call("describe_attributes", fc.ShapeDtypeStruct((40,), "uint8"))
    programs = [fc.make_jaxpr(lambda v=v: call(value=v))() for v in values]
    for i, a in enumerate(programs):
        assert [j for j, b in enumerate(programs) if a == b] == [i]
    texts = [described(value=v) for v in values]
    assert [described(value=v) for v in values] == texts  # from the cache, the same
    assert len(set(texts)) == len(values)
    jitted = fc.jit(lambda value: call(value=value), static_argnames="value")
    seen = [bytes(np.asarray(jitted(value=v))) for v in (2, 2.0, np.int32(2), np.float32(2))]
    assert len(set(seen)) == 4


def test_more_attributes_than_are_kept(x):
    call = ffi.ffi_call("scale", V)
    for _ in range(2):
        for i in range(150):
            np.testing.assert_array_equal(call(x, factor=np.float32(i)), x * i)


# ---- aliases ----


def test_an_alias_gives_the_operands_memory_and_never_changes_the_callers_array(x):
    call = ffi.ffi_call("add_one_in_place", V, input_output_aliases={0: 0})
    for run in (call, fc.jit(call)):
        for _ in range(3):
            np.testing.assert_array_equal(run(x), [2, 3, 4])
            np.testing.assert_array_equal(x, [1, 2, 3])


def test_an_alias_never_changes_numpys_memory_or_a_constant():
    memory = np.zeros(64, np.uint8)
    value = memory[-memory.ctypes.data % 64 :][:12].view(np.float32)
    call = ffi.ffi_call("add_one_in_place", V, input_output_aliases={0: 0})
    np.testing.assert_array_equal(call(value), [1, 1, 1])
    closed = fc.jit(lambda: call(value))
    for _ in range(3):
        np.testing.assert_array_equal(closed(), [1, 1, 1])
    np.testing.assert_array_equal(value, [0, 0, 0])


def test_aliases_inside_a_program_keep_values_that_are_read_later(x):
    call = ffi.ffi_call("add_one_in_place", V, input_output_aliases={0: 0})

    def function(a):
        b = a * 2
        c = call(b)
        return b, c, call(c), call(a), a

    for run in (function, fc.jit(function), fc.jit(function)):
        for got, expected in zip(run(x), [x * 2, x * 2 + 1, x * 2 + 2, x + 1, x], strict=True):
            np.testing.assert_array_equal(got, expected)


# ---- layouts ----


@dataclasses.dataclass
class Layout:
    """As JAX's layouts."""

    major_to_minor: tuple
    tiling: object = None


@pytest.mark.parametrize("layout", [(1, 0), [1, 0], Layout((1, 0)), np.array([1, 0])], ids=str)
def test_operands_lie_as_the_layout_says(layout):
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    call = ffi.ffi_call(
        "memory_order", fc.ShapeDtypeStruct((6,), "float32"), input_layouts=[layout]
    )
    for run in (call, fc.jit(call)):
        np.testing.assert_array_equal(run(value), value.T.ravel())


@pytest.mark.parametrize("layout", [(1, 0), [(1, 0)], Layout((1, 0)), [Layout((1, 0))]], ids=str)
def test_results_are_read_as_the_layout_says(layout):
    spec = fc.ShapeDtypeStruct((2, 3), "float32")
    call = ffi.ffi_call("fill_in_memory_order", spec, output_layouts=layout)
    for run in (call, fc.jit(call)):
        np.testing.assert_array_equal(run(), [[0, 2, 4], [1, 3, 5]])


def test_layouts_of_three_dimensions():
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for order in [(0, 1, 2), (0, 2, 1), (1, 2, 0), (2, 1, 0)]:
        spec = fc.ShapeDtypeStruct((24,), "float32")
        got = ffi.ffi_call("memory_order", spec, input_layouts=(order,))(value)
        np.testing.assert_array_equal(got, value.transpose(order).ravel())


def test_tiled_layouts_are_refused():
    with pytest.raises(ValueError, match="tiled layouts are not supported"):
        ffi.ffi_call("memory_order", V, input_layouts=[Layout((1, 0), ((8, 128),))])


# ---- tokens ----


def test_tokens_go_in_and_out(x):
    token = fc.lax.create_token()
    assert (repr(token), token.dtype, token.shape) == ("Array(token)", "token", ())
    np.testing.assert_array_equal(ffi.ffi_call("token_in", V)(token, x), x)
    results = ffi.ffi_call("copy_all", (ffi.abstract_token, V))(token, x)
    assert repr(results[0]) == "Array(token)"

    @fc.jit
    def chain(t, a):
        t, a = ffi.ffi_call("copy_all", (ffi.abstract_token, V))(t, a)
        return ffi.ffi_call("copy_all", (ffi.abstract_token, V))(t, a)

    token, result = chain(token, x)
    np.testing.assert_array_equal(result, x)
    with pytest.raises(ValueError, match="a token has no elements to compute with"):
        token + 1


@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_tokens_go_through_branches_and_loops(x, run):
    call = ffi.ffi_call("copy_all", (ffi.abstract_token, V))
    token = fc.lax.create_token()

    def chosen(index, t, a):
        return fc.lax.switch(index, [call, lambda t, a: (t, a + 1)], t, a)

    for index in (0, 1):
        t, a = run(chosen)(index, token, x)
        assert repr(t) == "Array(token)"
        np.testing.assert_array_equal(a, x + index)
    looped = run(lambda t, a: fc.lax.fori_loop(0, 2, lambda i, c: chosen(i, *c), (t, a)))
    np.testing.assert_array_equal(looped(token, x)[1], x + 1)


# ---- effects and state ----


def test_a_call_with_a_side_effect_runs_once_per_execution(handlers, x):
    def function(a, effect):
        ffi.ffi_call("count_calls", number(), has_side_effect=effect)()
        return a + 1

    jitted = fc.jit(function, static_argnums=1)
    calls = handlers.library.num_calls()
    for i in range(3):
        jitted(x, True)
        assert handlers.library.num_calls() == calls + i + 1
    jitted(x, False)
    jitted(x, False)
    assert handlers.library.num_calls() == calls + 3


def test_equal_calls_with_side_effects_are_not_merged(handlers):
    call = ffi.ffi_call("count_calls", number(), has_side_effect=True)
    calls = handlers.library.num_calls()
    a, b = fc.jit(lambda: (call(), call()))()
    assert (int(a), int(b)) == (calls + 1, calls + 2)


def test_state_is_made_once_per_executable(handlers):
    library = handlers.library
    call = ffi.ffi_call("counter", number(), has_side_effect=True)
    made = library.num_states_made()
    assert [int(call(start=5)) for _ in range(3)] == [5, 6, 7]
    assert library.num_states_made() == made + 1
    jitted = fc.jit(lambda: (call(start=50), call(start=50)))
    assert [[int(n) for n in jitted()] for _ in range(2)] == [[50, 50], [51, 51]]
    assert library.num_states_made() == made + 3
    alive = library.num_states_alive()
    jitted.clear_cache()
    assert library.num_states_alive() == alive - 2


# ---- untyped targets ----


@pytest.mark.parametrize("version", [0, 1])
def test_untyped_targets_take_pointers(version):
    call = ffi.ffi_call("untyped_add", number("float32"), custom_call_api_version=version)
    for run in (call, fc.jit(call)):
        assert float(run(np.float32(2), np.float32(3))) == 5


def test_untyped_targets_report_through_a_status():
    call = ffi.ffi_call("untyped_invert", number("float32"), custom_call_api_version=2)
    assert float(call(np.float32(4))) == 0.25
    with pytest.raises(fc.FfiError, match="division by zero"):
        call(np.float32(0))
    assert float(call(np.float32(4))) == 0.25


def test_untyped_targets_take_an_opaque_string():
    call = ffi.ffi_call(
        "untyped_length",
        number("float32"),
        custom_call_api_version=3,
        legacy_backend_config="seven..",
    )
    assert float(call()) == 7
    assert float(call.replace(legacy_backend_config=None)()) == 0
    with pytest.raises(
        ValueError, match=r"attributes \(a\) cannot be passed with custom_call_api_version 3"
    ):
        call(a=1)
    with pytest.raises(fc.FfiError, match="It is registered as an untyped target"):
        ffi.ffi_call("untyped_length", number("float32"))()


def test_attributes_of_another_byte_order_and_layout_are_understood():
    def call(value):
        return fc.make_jaxpr(lambda a: ffi.ffi_call("t", V)(a, v=value))(np.ones(3, np.float32))

    assert call(np.array([1, 2], ">i4")) == call(np.array([1, 2], "<i4"))
    turned = np.arange(6, dtype=">f8").reshape(2, 3).T
    assert call(turned) == call(np.array([0.0, 3, 1, 4, 2, 5]))
