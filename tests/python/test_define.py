"""Definitions of targets: shape rules, default attributes, derivatives and batches, said once."""

from __future__ import annotations

import ctypes
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi
from farcall.ffi import define
from farcall.testing import check_batching, check_derivatives
from handler_library import load

F64 = np.float64
SAME = "[...] -> [...]"
WEIGH = "[..., n], [..., n] -> [..., n], [...]"
# Each test defines targets of its own: definitions live as long as the process.
TARGETS = {
    "batched.cpp": {"weigh": "batched_weigh", "grow": "batched_grow", "memory": "batched_memory"},
    "python_handlers.cpp": {"describe": "describe_attributes", "copy": "copy_all"},
}
X = np.array([0.5, 1.0, 1.5])
W = np.array([2.0, -1.0, 0.5])


@pytest.fixture(scope="module")
def libraries() -> dict[str, ctypes.CDLL]:
    loaded = {source: load(source) for source in TARGETS}
    loaded["batched.cpp"].batched_calls.restype = ctypes.c_int64
    return loaded


@pytest.fixture
def names(libraries: dict[str, ctypes.CDLL], request: pytest.FixtureRequest) -> dict[str, str]:
    """The handlers, registered under names that no other test has."""
    made = {}
    for source, symbols in TARGETS.items():
        for short, symbol in symbols.items():
            made[short] = f"{short} of {request.node.name}"
            ffi.register_ffi_target(made[short], ffi.pycapsule(getattr(libraries[source], symbol)))
    return made


@pytest.fixture
def grow(names: dict[str, str]) -> ffi.Definition:
    """exp(rate * x), without rules."""
    return define(names["grow"], shape=SAME, attributes={"rate": 1.0}, vmap_method="broadcast_all")


@pytest.fixture
def weigh(names: dict[str, str]) -> ffi.Definition:
    """factor * x * w and its sum, without rules."""
    return define(
        names["weigh"], shape=WEIGH, attributes={"factor": 2.0}, vmap_method="expand_dims"
    )


def grow_jvp(call: Any, primals: Any, tangents: Any) -> Any:
    y = call(*primals)
    return y, call.attributes["rate"] * y * tangents[0]


def grow_forward(call: Any, x: Any) -> Any:
    y = call(x)
    return y, y


def grow_backward(call: Any, residuals: Any, cotangents: Any) -> Any:
    return call.attributes["rate"] * residuals[0] * cotangents[0]


def weigh_transpose(call: Any, cotangents: Any, x: Any, w: Any) -> Any:
    """Of the call in either operand, the other being known."""
    ct_y, ct_sum = cotangents
    total = call.attributes["factor"] * (ct_y + fnp.expand_dims(ct_sum, -1))
    return (None, total * x) if w is None else (total * w, None)


# ---- shapes ----


def test_a_definition_is_called_and_described(weigh: ffi.Definition, names: dict[str, str]) -> None:
    y, total = weigh(X, W)
    np.testing.assert_array_equal(y, 2 * X * W)
    np.testing.assert_array_equal(total, (2 * X * W).sum())
    y, total = fc.jit(lambda x, w: weigh(x, w, factor=3))(X, W)
    np.testing.assert_array_equal(y, 3 * X * W)
    assert weigh.target_name == names["weigh"]
    assert repr(weigh) == (
        f"<definition of target {names['weigh']!r}: attributes, shape, vmap_method>"
    )
    # More than one row at once.
    y, total = weigh(np.stack([X, W]), np.stack([W, W]))
    assert (y.shape, total.shape) == ((2, 3), (2,))


def test_a_shape_rule_may_be_a_function(names: dict[str, str]) -> None:
    copy = define(names["copy"])
    seen = []

    @copy.shape
    def _(x: Any, *, twice: Any = None) -> Any:
        seen.append((x.shape, np.dtype(x.dtype)))
        return fc.ShapeDtypeStruct(x.shape[::-1], x.dtype)

    x = np.arange(6, dtype=np.int16).reshape(2, 3)
    result = copy(x)
    assert (result.shape, result.dtype) == ((3, 2), np.int16)
    assert seen == [((2, 3), np.dtype(np.int16))]
    copy.shape(lambda *xs: list(xs))
    results = copy(x, X)
    assert isinstance(results, tuple)
    np.testing.assert_array_equal(results[0], x)
    np.testing.assert_array_equal(results[1], X)


def test_a_shape_rule_gets_attributes_with_defaults(names: dict[str, str]) -> None:
    rule_saw = {}

    def rule(**attributes: Any) -> Any:
        rule_saw.update(attributes)
        return fc.ShapeDtypeStruct((attributes["size"],), np.uint8)

    text = define(names["describe"], shape=rule, attributes={"size": 40, "mode": "fast"})
    assert bytes(np.asarray(text(size=25))) == b"mode=str:fast size=s64:25"
    assert rule_saw == {"size": 25, "mode": "fast"}


@pytest.mark.parametrize(
    ("signature", "shapes", "wanted"),
    [
        ("[] -> []", [()], [()]),
        ("[n] -> [n], [n]", [(3,)], [(3,), (3,)]),
        ("[m, n], [n, k] -> [m, k]", [(2, 3), (3, 4)], [(2, 4)]),
        ("[..., n], [n] -> [..., n], [...]", [(5, 2, 3), (3,)], [(5, 2, 3), (5, 2)]),
        ("[...], [...] -> [...]", [(2, 3), (2, 3)], [(2, 3)]),
        ("[n], [n+1] -> [2*n+1], [n-1]", [(3,), (4,)], [(7,), (2,)]),
        ("[n, 2] -> [n*n*2]", [(3, 2)], [(18,)]),
        ("[..., n] -> [..., 2]", [(4,)], [(2,)]),
        ("[n]->[n]", [(0,)], [(0,)]),
        ("-> [3]", [], [(3,)]),
    ],
)
def test_signatures(names: dict[str, str], signature: str, shapes: Any, wanted: Any) -> None:
    target = define(names["copy"], shape=signature)
    results = fc.eval_shape(target, *(fc.ShapeDtypeStruct(shape, F64) for shape in shapes))
    results = results if isinstance(results, tuple) else (results,)
    assert [result.shape for result in results] == wanted
    dtype = F64 if shapes else np.float32
    assert all(result.dtype == dtype for result in results)


def test_dtypes_in_signatures(names: dict[str, str]) -> None:
    target = define(names["copy"], shape="f32[n], i32[] -> bf16[n], [n], u8[2]")
    x = fc.ShapeDtypeStruct((3,), np.float32)
    results = fc.eval_shape(target, x, fc.ShapeDtypeStruct((), np.int32))
    assert [str(result.dtype) for result in results] == ["bfloat16", "float32", "uint8"]
    with pytest.raises(ValueError, match=r"operand 1 should be i32, got f32\[3\]"):
        target(np.ones(3, np.float32), np.ones(3, np.float32))


@pytest.mark.parametrize(
    ("signature", "text"),
    [
        ("", 'expected "[" at column 1'),
        ("[n]", 'expected "->" at column 4'),
        ("[n] ->", 'expected "[" at column 7'),
        ("[n -> [n]", 'expected "]" at column 4'),
        ("[n] -> [n] x", "expected the end at column 12"),
        ("[n,] -> [n]", "expected the name of a dimension or a number at column 4"),
        ("[n+] -> [n]", "expected the name of a dimension or a number at column 4"),
        ("[n, ...] -> [n]", "expected the name of a dimension or a number at column 5"),
        ("[... n] -> [n]", 'expected "," at column 6'),
        ("real[n] -> [n]", '"real" is no dtype at column 5'),
    ],
)
def test_signatures_that_cannot_be_read(names: dict[str, str], signature: str, text: str) -> None:
    with pytest.raises(ValueError, match="shape signature") as caught:
        define(names["copy"], shape=signature)
    assert str(caught.value) == (
        f'shape signature "{signature}": {text}; write for instance "[..., n], [n] -> [..., n]"'
    )


@pytest.mark.parametrize(
    ("signature", "shapes", "text"),
    [
        ("[n] -> [n]", [(3,), (3,)], "expected 1 operands, got 2"),
        ("[n] -> [n]", [(3, 2)], "operand 0 should have 1 dimensions, got f64[3,2]"),
        ("[..., m, n] -> [n]", [(3,)], "operand 0 should have at least 2 dimensions, got f64[3]"),
        ("[n], [n] -> [n]", [(3,), (4,)], "dimension 0 of operand 1, f64[4], should be 3"),
        ("[n, n] -> [n]", [(3, 4)], "dimension 1 of operand 0, f64[3,4], should be 3"),
        ("[n], [2*n] -> [n]", [(3,), (4,)], "dimension 0 of operand 1, f64[4], should be 6"),
        ("[2] -> [2]", [(3,)], "dimension 0 of operand 0, f64[3], should be 2"),
        ("[n] -> [m]", [(3,)], "dimension m stands in no operand"),
        ("[2*n] -> [n]", [(4,)], "dimension n stands in no operand"),
        ("[n] -> [n-4]", [(3,)], "a dimension would have the size -1"),
        ("[n] -> [...]", [(3,)], '"..." of a result stands in no operand'),
        (
            "[..., n], [..., n] -> [n]",
            [(2, 3), (3,)],
            "the leading dimensions of operand 1 are [], those of operands before are [2]",
        ),
    ],
)
def test_operands_that_do_not_fit_a_signature(
    names: dict[str, str], signature: str, shapes: Any, text: str
) -> None:
    target = define(names["copy"], shape=signature)
    with pytest.raises(ValueError, match="shapes do not fit") as caught:
        target(*(np.zeros(shape) for shape in shapes))
    assert str(caught.value) == f'shapes do not fit "{signature}": {text}'


def test_shape_rules_that_are_wrong_or_missing(names: dict[str, str]) -> None:
    copy = define(names["copy"])
    with pytest.raises(RuntimeError, match="has no shape rule; give it one"):
        copy(X)
    copy.shape(lambda x: 3)
    with pytest.raises(ValueError, match="shape rule: result 0 must have attributes shape and"):
        copy(X)

    def divides(x: Any) -> Any:
        return 1 // 0

    copy.shape(divides)
    with pytest.raises(ZeroDivisionError):
        copy(X)


# ---- attributes ----


def described(names: dict[str, str], default: Any, **given: Any) -> str:
    target = define(names["describe"], shape="-> u8[60]", attributes={"name": default})
    return bytes(np.asarray(target(**given))).decode().strip()


@pytest.mark.parametrize(
    ("default", "value", "text"),
    [
        (np.int8(1), -128, "s8:-128"),
        (np.uint8(1), 255, "u8:255"),
        (np.int32(1), 2**31 - 1, "s32:2147483647"),
        (np.uint32(1), 2**32 - 1, "u32:4294967295"),
        (np.float32(1), 2, "f32:2.000000"),
        (np.float32(1), 0.5, "f32:0.500000"),
        (np.float64(1), 3, "f64:3.000000"),
        (1.0, 3, "f64:3.000000"),
        (np.int32(1), np.int16(5), "s16:5"),  # typed values stay what they are
        ("text", 5, "s64:5"),
    ],
    ids=repr,
)
def test_numbers_take_the_dtype_of_the_default(
    names: dict[str, str], default: Any, value: Any, text: str
) -> None:
    assert described(names, default, name=value) == f"name={text}"


@pytest.mark.parametrize(
    ("default", "value", "dtype", "shown"),
    [
        (np.int8(1), 128, "int8", "128:i64"),
        (np.int8(1), -129, "int8", "-129:i64"),
        (np.uint8(1), -1, "uint8", "-1:i64"),
        (np.int32(1), 2**31, "int32", "2147483648:i64"),
        (np.int32(1), 2.5, "int32", "2.5:f64"),
        (np.float32(1), 1e300, "float32", "1e+300:f64"),
    ],
    ids=repr,
)
def test_numbers_out_of_range(
    names: dict[str, str], default: Any, value: Any, dtype: str, shown: str
) -> None:
    target = names["describe"]
    with pytest.raises(ValueError, match="is declared") as caught:
        described(names, default, name=value)
    assert str(caught.value) == (
        f'ffi_call("{target}"): attribute name is declared {dtype}, and {shown} is no value of it'
    )


def test_defaults_hold_for_every_call_of_the_target(names: dict[str, str]) -> None:
    assert described(names, np.int16(7)) == "name=s16:7"
    call = ffi.ffi_call(names["describe"], fc.ShapeDtypeStruct((60,), np.uint8))
    assert bytes(np.asarray(call())).decode().strip() == "name=s16:7"
    assert bytes(np.asarray(call(name=8, other=True))).decode().strip() == (
        "name=s16:8 other=pred:1"
    )


# ---- derivatives ----


def test_without_rules_the_error_names_the_remedies(grow: ffi.Definition) -> None:
    undefined = ffi.ffi_call("batched_unheard_of", fc.ShapeDtypeStruct((3,), F64))
    for function, name in [
        (grow, grow.target_name),
        (lambda x: undefined(x, rate=1.0), "batched_unheard_of"),
    ]:
        message = (
            f'ffi_call("{name}"): cannot be differentiated. Wrap the call in custom_jvp or '
            "custom_vjp, or give the target its derivative with define"
        )
        for derive in (
            lambda f: fc.jvp(f, (X,), (X,)),
            lambda f: fc.vjp(f, X),
            lambda f: fc.grad(lambda x: f(x).sum())(X),
        ):
            with pytest.raises(ValueError, match="cannot be differentiated") as caught:
                derive(function)
            assert str(caught.value).split("\n")[0] == message


def test_a_jvp_rule_gives_both_modes(grow: ffi.Definition) -> None:
    assert grow.jvp(grow_jvp) is grow_jvp
    check_derivatives(grow, (X,), rate=0.5, order=2)
    check_batching(grow, (X,))
    got = fc.grad(lambda x: grow(x, rate=0.5).sum())(X)
    np.testing.assert_allclose(got, 0.5 * np.exp(0.5 * X), rtol=1e-14)


def test_a_vjp_rule_gives_reverse_mode(grow: ffi.Definition) -> None:
    grow.vjp(grow_forward, grow_backward)
    check_derivatives(grow, (X,), modes="rev", rate=0.5)
    got = fc.jit(fc.grad(lambda x: grow(x).sum()))(X)
    np.testing.assert_allclose(got, np.exp(X), rtol=1e-14)


def test_forward_mode_from_a_vjp_rule_of_ordinary_operations(grow: ffi.Definition) -> None:
    grow.vjp(grow_forward, grow_backward)
    check_derivatives(grow, (X,), rate=0.5)
    check_derivatives(grow, (X,), rate=0.5, order=2)


def test_forward_mode_is_refused_where_the_backward_half_is_foreign(names: dict[str, str]) -> None:
    memory = define(names["memory"], shape=SAME)
    memory.vjp(lambda call, x: (call(x), ()), lambda call, residuals, cts: call(cts[0]))
    np.testing.assert_array_equal(fc.vjp(memory, X)[1](W), (W,))
    with pytest.raises((TypeError, ValueError)):
        fc.jvp(memory, (X,), (W,))


def test_jvp_and_vjp_together_serve_one_mode_each(grow: ffi.Definition) -> None:
    used = []

    def forward(call: Any, x: Any) -> Any:
        used.append("forward")
        return grow_forward(call, x)

    def backward(call: Any, residuals: Any, cotangents: Any) -> Any:
        used.append("backward")
        return grow_backward(call, residuals, cotangents)

    def jvp(call: Any, primals: Any, tangents: Any) -> Any:
        used.append("jvp")
        return grow_jvp(call, primals, tangents)

    grow.jvp(jvp)
    grow.vjp(forward, backward)
    check_derivatives(grow, (X,), rate=0.5, order=2)
    used.clear()
    fc.jvp(grow, (X,), (W,))
    assert "backward" not in used
    fc.vjp(grow, X)[1](W)
    assert used[-1] == "backward"


def test_rules_of_several_operands_and_results(weigh: ffi.Definition) -> None:
    def forward(call: Any, x: Any, w: Any) -> Any:
        return call(x, w), (x, w)

    def backward(call: Any, residuals: Any, cotangents: Any) -> Any:
        x, w = residuals
        ct_y, ct_sum = cotangents
        total = call.attributes["factor"] * (ct_y + fnp.expand_dims(ct_sum, -1))
        return total * w, total * x

    weigh.vjp(forward, backward)
    check_derivatives(weigh, (X, W), order=2)
    check_derivatives(weigh, (X, W), modes="rev", factor=-1)
    # One operand alone, and one result alone.
    np.testing.assert_allclose(fc.grad(lambda x: weigh(x, W)[1])(X), 2 * W)
    np.testing.assert_allclose(fc.grad(lambda w: weigh(X, w)[0].sum())(W), 2 * X)


def test_none_is_a_cotangent_of_zero(weigh: ffi.Definition) -> None:
    weigh.vjp(
        lambda call, x, w: (call(x, w), w),
        lambda call, residuals, cts: (call.attributes["factor"] * cts[0] * residuals[0], None),
    )
    by_x, by_w = fc.grad(lambda x, w: weigh(x, w)[0].sum(), (0, 1))(X, W)
    np.testing.assert_allclose(by_x, 2 * W)
    np.testing.assert_array_equal(by_w, np.zeros(3))


# ---- linearity ----


@pytest.mark.parametrize("with_transpose", [True, False])
def test_linear_in_each_operand(weigh: ffi.Definition, with_transpose: bool) -> None:
    weigh._set(linear_in=(0, 1))
    if with_transpose:
        assert weigh.transpose(weigh_transpose) is weigh_transpose
    check_derivatives(weigh, (X, W), order=2)
    check_derivatives(lambda x: weigh(x, x), (X,), order=2)
    transposed = fc.linear_transpose(lambda x: weigh(x, W)[0], X)
    np.testing.assert_allclose(transposed(X)[0], 2 * W * X)


def test_linear_in_one_operand_alone(weigh: ffi.Definition) -> None:
    weigh._set(linear_in=1)
    check_derivatives(lambda w: weigh(X, w), (W,))
    with pytest.raises(ValueError, match="cannot be differentiated with respect to operand 0"):
        fc.jvp(weigh, (X, W), (X, W))


def test_operands_that_are_linear_together(names: dict[str, str]) -> None:
    copy = define(names["copy"], shape=lambda a, b: (a, b), linear_in=[(0, 1)])
    calls = []
    copy.transpose(lambda call, cts, *operands: (calls.append(operands), cts)[1])
    check_derivatives(copy, (X, W))
    assert set(calls) == {(None, None)}


def test_transposes_of_matrices(names: dict[str, str]) -> None:
    memory = define(names["memory"], shape="[m, n] -> [n, m]", linear_in=0)
    check_derivatives(memory, (np.arange(6.0).reshape(2, 3),), order=2)
    copy = define(names["copy"], shape="[n] -> [n]", linear_in=0)
    check_derivatives(copy, (np.array([1 + 2j, 3.0]),))
    check_derivatives(copy, (np.zeros(0),))


# ---- batches ----


def test_a_batch_rule(weigh: ffi.Definition) -> None:
    weigh._set(vmap_method=None)
    seen = []

    @weigh.batch
    def _(call: Any, size: int, axes: Any, x: Any, w: Any) -> Any:
        seen.append((size, axes, call.attributes))
        x, w = (
            fnp.broadcast_to(a, (size, *a.shape)) if axis is None else fnp.moveaxis(a, axis, 0)
            for a, axis in zip((x, w), axes, strict=True)
        )
        return weigh(x, w, **call.attributes), 0

    check_batching(weigh, (X, W))
    seen.clear()
    fc.vmap(lambda x, w: weigh(x, w, factor=5), (1, None))(np.ones((3, 4)), W)
    assert seen == [(4, (1, None), {"factor": 5.0})]


def test_a_batch_rule_places_its_results(grow: ffi.Definition) -> None:
    grow._set(vmap_method=None)
    grow.batch(lambda call, size, axes, x: (fnp.exp(x), axes[0]))
    check_batching(grow, (X,))
    grow.batch(lambda call, size, axes, x: (fnp.ones(3, F64), None))
    np.testing.assert_array_equal(fc.vmap(grow)(np.zeros((2, 3))), np.ones((2, 3)))


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims"])
def test_a_vmap_method_for_calls_that_give_none(weigh: ffi.Definition, method: str) -> None:
    weigh._set(vmap_method=method)
    check_batching(weigh, (X, W))
    types = (fc.ShapeDtypeStruct((3,), F64), fc.ShapeDtypeStruct((), F64))
    check_batching(ffi.ffi_call(weigh.target_name, types), (X, W), factor=3.0)


def test_the_method_of_a_call_goes_before_the_definition(
    grow: ffi.Definition, libraries: dict[str, ctypes.CDLL]
) -> None:
    grow._set(vmap_method="sequential")
    counter = libraries["batched.cpp"].batched_calls
    spec = fc.ShapeDtypeStruct((), F64)
    for method, count in [(None, 3), ("broadcast_all", 1)]:
        call = ffi.ffi_call(grow.target_name, spec, vmap_method=method)
        before = counter()
        np.testing.assert_allclose(fc.vmap(call)(X), np.exp(X))
        assert counter() - before == count


# ---- everything together ----


@pytest.mark.parametrize("rules", ["jvp", "vjp"])
def test_vmap_of_grad_of_vmap(grow: ffi.Definition, rules: str) -> None:
    if rules == "jvp":
        grow.jvp(grow_jvp)
    else:
        grow.vjp(grow_forward, grow_backward)
    x = np.stack([X, W, X + W, X - W])

    def total(row: Any) -> Any:
        return fc.vmap(grow)(row).sum()

    for run in (lambda f: f, fc.jit):
        got = run(fc.vmap(fc.grad(total)))(x)
        np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)
        got = run(fc.vmap(fc.grad(lambda row: fc.grad(total)(row).sum())))(x)
        np.testing.assert_allclose(got, np.exp(x), rtol=1e-14)
    check_batching(fc.grad(lambda v: grow(v).sum()), (X,))


def test_rules_hold_inside_rules_of_others(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)

    @fc.custom_jvp
    def product(x: Any, y: Any) -> Any:
        return grow(x) * y

    @product.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, y = primals
        return product(x, y), product(x, y) * tangents[0] + grow(x) * tangents[1]

    check_derivatives(product, (X, W), order=3)
    check_batching(product, (X, W))


def test_every_call_of_the_target_has_its_rules(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)
    call = ffi.ffi_call(grow.target_name, fc.ShapeDtypeStruct((3,), F64))
    check_derivatives(call, (X,), rate=0.25)
    check_derivatives(grow.target_name, (X,), rate=0.25)
    check_batching(call, (X,))


def test_derivatives_inside_loops(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)

    def looped(x: Any) -> Any:
        return fc.lax.scan(lambda c, _: (grow(c, rate=0.3), None), x, None, length=3)[0]

    check_derivatives(looped, (X,))
    check_derivatives(lambda x: fc.lax.cond(x[0] > 0, grow, lambda a: a, x), (X,))


def test_what_a_rule_is_told_of_the_call(grow: ffi.Definition) -> None:
    seen = []

    @grow.jvp
    def _(call: Any, primals: Any, tangents: Any) -> Any:
        seen.append((call.target_name, call.attributes, call.result_shape_dtypes))
        return grow_jvp(call, primals, tangents)

    fc.jvp(lambda x: grow(x, rate=2), (X,), (W,))
    ((name, attributes, types),) = seen
    assert (name, attributes) == (grow.target_name, {"rate": 2.0})
    assert [(t.shape, t.dtype) for t in types] == [((3,), F64)]


# ---- mistakes ----


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"transpose": lambda call, cts, x: cts}, "a transpose needs linear_in"),
        ({"linear_in": -1}, "linear_in names operand -1; count from 0"),
        ({"vmap_method": "sideways"}, "vmap_method must be one of"),
        (
            {"vmap_method": "sequential", "batch": lambda call, *rest: rest},
            "give a batching rule or a vmap_method, not both",
        ),
    ],
    ids=["transpose", "linear_in", "unknown", "both"],
)
def test_parts_that_make_no_sense(parts: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        define("never registered", **parts)


@pytest.mark.parametrize("part", ["shape", "jvp", "transpose", "batch", "workspace"])
def test_rules_are_functions(part: str) -> None:
    with pytest.raises(TypeError) as caught:
        define("never registered", **{part: 3})
    assert str(caught.value) == (
        f"define('never registered'): {part}: expected a function, got 3 of type int"
    )


def test_vjp_is_a_pair_of_functions() -> None:
    with pytest.raises(TypeError, match=r"vjp must be a pair \(forward, backward\), got 3"):
        define("never registered", vjp=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="forward: expected a function, got 1"):
        define("never registered", vjp=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="reverse mode needs both halves"):
        define("never registered", vjp=(grow_forward, None))  # type: ignore[arg-type]


def test_attributes_may_have_any_name(names: dict[str, str]) -> None:
    text = define(names["describe"], shape="-> u8[20]")
    assert bytes(np.asarray(text(self=2))).strip() == b"self=s64:2"


def test_a_part_that_is_refused_changes_nothing(grow: ffi.Definition) -> None:
    grow.jvp(grow_jvp)
    with pytest.raises(ValueError, match="not both"):
        grow.batch(lambda call, size, axes, x: (x, 0))
    check_derivatives(grow, (X,))
    check_batching(grow, (X,))
    with pytest.raises(ValueError, match="target_name is empty"):
        define("")


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda call, p, t: 3, "must return a pair, got 3 of type int"),
        (lambda call, p, t: ((p[0], p[0]), t), "results: expected 1 arrays, got 2"),
        (lambda call, p, t: (p[0], (t[0], t[0])), "tangents of results: expected 1 arrays, got 2"),
        (lambda call, p, t: (p[0], t[0][:1]), "tangent of result 0 should have the shape [3]"),
    ],
    ids=["no pair", "results", "tangents", "shape"],
)
def test_jvp_rules_that_return_something_else(grow: ffi.Definition, rule: Any, text: str) -> None:
    grow.jvp(rule)
    with pytest.raises(TypeError) as caught:
        fc.jvp(grow, (X,), (X,))
    assert str(caught.value).startswith(f'the jvp rule of target "{grow.target_name}"')
    assert text in str(caught.value)


@pytest.mark.parametrize("part", ["jvp", "forward", "backward", "transpose", "batch"])
def test_errors_of_rules_reach_the_caller(grow: ffi.Definition, part: str) -> None:
    def fails(*args: Any) -> Any:
        raise LookupError("where is it?")

    if part == "jvp":
        grow.jvp(fails)
    elif part == "forward":
        grow.vjp(fails, grow_backward)
    elif part == "backward":
        grow.vjp(grow_forward, fails)
    elif part == "transpose":
        grow._set(linear_in=0, transpose=fails)
    else:
        grow._set(vmap_method=None, batch=fails)
    run = {
        "jvp": lambda: fc.jvp(grow, (X,), (X,)),
        "batch": lambda: fc.vmap(grow)(np.ones((2, 3))),
    }.get(part, lambda: fc.vjp(grow, X)[1](X))
    with pytest.raises(LookupError, match="where is it"):
        run()
    np.testing.assert_allclose(grow(X), np.exp(X))


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"jvp": lambda c, p, t: (None, t[0])}, "result 0 must be an array"),
        ({"jvp": lambda c, p, t: (p[0][:1], t[0])}, "result 0 should be f64[3], got f64[1]"),
        ({"vjp": (lambda c, x: (None, ()), grow_backward)}, "result 0 must be an array"),
        (
            {"vjp": (lambda c, x: (x[:1], x), grow_backward)},
            "result 0 should be f64[3], got f64[1]",
        ),
        ({"vjp": (grow_forward, lambda c, r, ct: (ct[0], ct[0]))}, "expected 1 cotangents, got 2"),
        (
            {"vjp": (grow_forward, lambda c, r, ct: ct[0][:1])},
            "cotangent 0 should be f64[3], got f64[1]",
        ),
        ({"linear_in": 0, "transpose": lambda c, ct, x: ct[0][:1]}, "cotangent 0 should be f64[3]"),
    ],
)
def test_derivatives_of_other_types_are_refused(
    grow: ffi.Definition, parts: Any, text: str
) -> None:
    if "vjp" in parts:
        grow.vjp(*parts["vjp"])
    else:
        grow._set(**parts)
    with pytest.raises((TypeError, ValueError)) as caught:
        fc.vjp(grow, X)[1](X)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (lambda c, n, axes, x: (None, 0), "result 0 must be an array"),
        (lambda c, n, axes, x: ((x, x), 0), "expected 1 results and axes, got 2 and 2"),
        (lambda c, n, axes, x: (x, 5), "axis 5 of result 0 is none of its dimensions"),
        (lambda c, n, axes, x: (x[:1], 0), "result 0 should be f64[2,3], got f64[1,3]"),
    ],
)
def test_batches_of_other_types_are_refused(grow: ffi.Definition, rule: Any, text: str) -> None:
    grow._set(vmap_method=None, batch=rule)
    with pytest.raises((TypeError, ValueError)) as caught:
        fc.vmap(grow)(np.ones((2, 3)))
    assert text in str(caught.value)


def test_negative_axes_of_results_count_from_the_end(grow: ffi.Definition) -> None:
    grow._set(vmap_method=None, batch=lambda c, n, axes, x: (fnp.moveaxis(x, axes[0], -1), -1))
    np.testing.assert_array_equal(fc.vmap(grow)(np.eye(3)[:2]), np.eye(3)[:2])


def test_float0_is_a_cotangent_of_ints(names: dict[str, str]) -> None:
    copy = define(names["copy"], shape=lambda a, b: (a, b))
    copy.vjp(lambda call, a, b: (call(a, b), None), lambda call, residuals, cotangents: cotangents)
    check_derivatives(copy, (X, np.int32(3)), modes="rev")
