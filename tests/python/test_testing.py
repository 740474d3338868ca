"""farcall.testing: what passes, and what the reports of wrong rules say."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax, random
from farcall.custom_batching import custom_vmap
from farcall.testing import check_batching, check_derivatives

pytestmark = pytest.mark.usefixtures("x64")

X = np.array([1.0, 2.0, 3.0])


def product(x: Any, y: Any) -> Any:
    return x * fnp.sum(y), {"sum": fnp.sum(x)}


def with_jvp(function: Any, slope: Any) -> Any:
    wrapped = fc.custom_jvp(function)
    wrapped.defjvp(lambda primals, tangents: (function(*primals), slope(*primals) * tangents[0]))
    return wrapped


# ---- derivatives ----


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_derivatives_pass(dtype: str, order: int) -> None:
    x = np.array([[0.5, 1.0, 1.5]]).astype(dtype)
    y = np.asarray(0.7).astype(dtype)
    check_derivatives(lambda a, b: fnp.sin(a) * b * b, (x, y), order=order)


def test_functions_of_complex_numbers_that_are_not_holomorphic() -> None:
    z = np.array([1 + 2j, -0.5 + 0.3j])
    check_derivatives(lambda a: (fnp.abs(a), lax.conj(a) * a * a, lax.real(a)), (z,), order=2)


def test_arguments_are_pytrees_and_ints_are_left_alone() -> None:
    check_derivatives(
        lambda tree, n: {"power": tree["x"] ** n, "n": n, "pair": (tree["y"][0] * tree["x"],)},
        ({"x": X, "y": [np.float64(2.0), np.arange(3)]}, 3),
        order=2,
    )


def test_arrays_without_elements() -> None:
    check_derivatives(fnp.sin, (np.zeros((0, 3)),))
    check_derivatives(lambda x: fnp.sum(x), (np.zeros(0),))


def test_the_step_and_the_tolerance_can_be_given() -> None:
    slightly = with_jvp(lambda x: x * x, lambda x: 2.001 * x)
    check_derivatives(slightly, (X,), rtol=1e-2)
    check_derivatives(slightly, (X,), atol=1.0)
    with pytest.raises(AssertionError):
        check_derivatives(slightly, (X,))
    with pytest.raises(AssertionError, match=r"step 1\.0e-02"):
        check_derivatives(lambda x: fnp.exp(x), (X,), eps=1e-2)


def test_half_precision_has_tolerance_enough() -> None:
    check_derivatives(lambda x: x * x, (np.array([0.5, 1.0], np.float16),))
    check_derivatives(lambda x: x * x, (X.astype(fc.dtypes.bfloat16),))


@pytest.mark.parametrize("mode", ["fwd", "rev"])
def test_the_report_names_argument_and_element(mode: str) -> None:
    wrong = with_jvp(lambda x: x * x, lambda x: 2 * x * np.array([1.0, 1.0, 1.5]))

    def function(unused: Any, x: Any) -> Any:
        return unused, wrong(x)

    with pytest.raises(AssertionError) as caught:
        check_derivatives(function, (np.float64(1), X), modes=mode)
    text = str(caught.value)
    assert text.startswith(
        f"check_derivatives(function): derivative: {mode} mode: the derivative of result 1[2] by "
        "argument 1[2] should be 6.0"
    )
    assert "by differences, and is 9.0 (atol=1.5e-07, rtol=1.5e-07, step 6.1e-06)" in text


def test_the_report_names_leaves_and_parts_of_complex_numbers() -> None:
    wrong = with_jvp(lambda z: z * z, lambda z: 2 * z + 1j)
    with pytest.raises(AssertionError) as caught:
        check_derivatives(lambda pair: wrong(pair[1]), ((X, np.complex128(1)),), modes="fwd")
    assert (
        "the derivative of real part of result 0 by imaginary part of argument 0, leaf 1 should be"
    ) in str(caught.value)


def test_the_report_names_leaves_of_dicts_by_their_path() -> None:
    wrong = with_jvp(lambda x: x * x, lambda x: 3 * x)
    tree = {"weights": {"first": X, "second": X[:2]}, "shift": np.float64(1)}
    with pytest.raises(AssertionError, match=r"by argument 0\['weights'\]\['second'\]\[1\] should"):
        check_derivatives(lambda t: wrong(t["weights"]["second"]), (tree,))


def test_a_rule_that_changes_the_result_is_found() -> None:
    wrong = fc.custom_jvp(lambda x: x * x)
    wrong.defjvp(lambda primals, tangents: (primals[0], 2 * primals[0] * tangents[0]))
    with pytest.raises(AssertionError, match=r"fwd mode changes the result 0\[2\]: it should be 9"):
        check_derivatives(wrong, (X,))


def test_a_wrong_second_derivative_is_found() -> None:
    slope = with_jvp(lambda x: 2 * x, lambda x: 3.0)
    wrong = with_jvp(lambda x: x * x, slope)
    check_derivatives(wrong, (X,))
    with pytest.raises(AssertionError, match=r"derivative of fwd mode: fwd mode: the derivative"):
        check_derivatives(wrong, (X,), order=2)


def test_derivatives_that_are_not_numbers_are_found() -> None:
    with pytest.raises(AssertionError, match="and is nan"):
        check_derivatives(with_jvp(lambda x: x, lambda x: np.nan), (X,))


@pytest.mark.parametrize("dtype", ["float8_e5m2", "float8_e4m3fn", "float8_e3m4"])
def test_floats_of_eight_bits_have_tolerance_enough(dtype: str) -> None:
    x = np.array([0.5, 1.0], getattr(fc.dtypes, dtype))
    check_derivatives(lambda a: a * a, (x,))
    with pytest.raises(AssertionError, match="the derivative of result 0"):
        check_derivatives(with_jvp(lambda a: a, lambda a: 14 + 0 * a), (x,))


def test_random_keys_are_not_differentiated() -> None:
    key = random.key(3)
    check_derivatives(lambda k, x: (random.normal(k, x.shape, x.dtype) * x, k), (key, X))
    with pytest.raises(ValueError, match="no argument is a float or a complex number"):
        check_derivatives(lambda k: random.normal(k), (key,))


def test_functions_are_called_with_arrays_and_keyword_arguments() -> None:
    seen = set()

    def function(x: Any, n: Any, *, power: Any) -> Any:
        seen.update([type(x), type(n), type(power)])
        return x**power + n, 2.0

    check_derivatives(function, (X, 1), power=2)
    check_batching(function, (X, 1), power=2)
    assert seen == {fc.Array, int}


def test_what_cannot_be_checked_is_refused() -> None:
    with pytest.raises(ValueError, match='modes must be "fwd", "rev" or both'):
        check_derivatives(fnp.sin, (X,), modes="forward")
    with pytest.raises(ValueError, match="order must be at least 1, got 0"):
        check_derivatives(fnp.sin, (X,), order=0)
    with pytest.raises(ValueError, match="no argument is a float or a complex number"):
        check_derivatives(fnp.abs, (3,))


@pytest.mark.parametrize("args", [X, 3.0, "x"], ids=["array", "number", "text"])
def test_arguments_that_are_no_tuple_are_refused_with_the_way_out(args: Any) -> None:
    for check in (check_derivatives, check_batching):
        text = rf"{check.__name__}: args must be a tuple .*, \(x,\) for a single one, got "
        with pytest.raises(TypeError, match=text + type(args).__name__):
            check(fnp.sin, args)


def test_a_custom_vjp_is_checked_in_reverse_mode() -> None:
    @fc.custom_vjp
    def doubled(x: Any) -> Any:
        return x * 2

    doubled.defvjp(lambda x: (x * 2, None), lambda _, g: (g * 2,))
    with pytest.raises(TypeError, match='in check_derivatives: modes="rev"'):
        check_derivatives(doubled, (X,))
    check_derivatives(doubled, (X,), modes="rev")


# ---- batches ----


def test_right_batches_pass() -> None:
    check_batching(product, (X, np.ones((2, 3), np.float32)))
    check_batching(product, (X, 3.0), in_axes=(0, None))
    check_batching(lambda tree, n: (tree["a"] + tree["b"], n), ({"a": X, "b": 1}, 2))
    check_batching(lambda x, y, z: x * y - z, (X, X, np.float64(1)), sizes=(1, 2))
    check_batching(lambda x, *, shift: x + shift, (X,), shift=2)


def test_all_in_axes_are_tried() -> None:
    tried = []

    @custom_vmap
    def function(x: Any, y: Any) -> Any:
        return x * y

    @function.def_vmap
    def _(size: int, batched: Any, x: Any, y: Any) -> Any:
        tried.append((size, tuple(batched)))
        x, y = (a if mapped else a[None] for a, mapped in zip((x, y), batched, strict=True))
        return x * y, True

    check_batching(function, (X, X))
    assert {size for size, _ in tried} == {1, 2, 3}
    assert {batched for _, batched in tried} == {(True, True), (True, False), (False, True)}


def test_a_wrong_batch_is_reported() -> None:
    @custom_vmap
    def function(x: Any, y: Any) -> Any:
        return x * y

    @function.def_vmap
    def _(size: int, batched: Any, x: Any, y: Any) -> Any:
        return (x if batched[0] else x[None]) * (y if batched[1] else y[None] + 1), True

    with pytest.raises(AssertionError) as caught:
        check_batching(function, (X, X))
    assert str(caught.value) == (
        "check_batching(function): vmap: with in_axes=(0, None): result 0[0, 2] should be 9.0, as "
        "one call for each element gives, and is 12.0"
    )
    check_batching(function, (X, X), in_axes=(0, 0))
    check_batching(function, (X, X), in_axes=(None, 0))
    check_batching(function, (X, X), in_axes=(0, None), atol=4.0)


def test_a_rule_that_is_wrong_for_one_element_is_reported() -> None:
    doubled = custom_vmap(lambda x: 2 * x)

    @doubled.def_vmap
    def rule(axis_size: int, in_batched: Any, x: Any) -> Any:
        return (3 if axis_size == 1 else 2) * x, True

    with pytest.raises(AssertionError, match=r"vmap: of one element with in_axes=\(0,\): result 0"):
        check_batching(doubled, (X,))


def test_batches_of_other_types_and_errors_are_reported() -> None:
    def with_rule(rule: Any) -> Any:
        made = custom_vmap(lambda x: x)
        made.def_vmap(rule)
        return made

    def refuses(size: int, batched: Any, x: Any) -> Any:
        raise LookupError("no such batch")

    with pytest.raises(AssertionError, match="raised LookupError: no such batch") as caught:
        check_batching(with_rule(refuses), (X,))
    assert isinstance(caught.value.__cause__, LookupError)

    narrower = with_rule(lambda size, batched, x: (x.astype(np.float32), True))
    with pytest.raises(AssertionError, match=r"result 0 should be float64\[3, 3\], got float32"):
        check_batching(narrower, (X,))


def test_another_structure_under_vmap_is_reported() -> None:
    def function(x: Any) -> Any:
        return (x, x) if isinstance(x, fc.core.Tracer) else {"alone": x}

    with pytest.raises(AssertionError) as caught:
        check_batching(function, (X,))
    assert str(caught.value) == (
        "check_batching(function): vmap: with in_axes=(0,): the structure should be {'alone': *}, "
        "got (*, *)"
    )


def test_flags_that_check_results_do_not_concern_the_batches() -> None:
    with fc.debug_nans():
        check_batching(lambda unused, x: x, (X * np.nan, X))


def test_an_interrupt_under_vmap_is_not_a_finding() -> None:
    interrupted = custom_vmap(lambda x: x)

    @interrupted.def_vmap
    def _(size: int, batched: Any, x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        check_batching(interrupted, (X,))


def test_random_keys_are_batched_and_compared_bit_by_bit() -> None:
    key = random.key(3)
    check_batching(lambda k, x: random.normal(k, x.shape, x.dtype) * x, (key, X))
    check_batching(random.split, (key,))
    wrong = custom_vmap(lambda k: k)
    wrong.def_vmap(lambda size, batched, k: (random.split(k[0], size), True))
    with pytest.raises(AssertionError, match=r"result 0\[0\] should be 3, as one call for each"):
        check_batching(wrong, (key,), sizes=(1, 1))


def test_arguments_without_arrays_are_not_mapped() -> None:
    check_batching(lambda nothing, x: x, (None, X))
    check_batching(lambda nothing, x: x, ({}, X), in_axes=(0, 0))


def test_ints_are_compared_exactly() -> None:
    big = 2**53

    @custom_vmap
    def function(x: Any) -> Any:
        return fnp.full((), big, np.int64) + x

    function.def_vmap(lambda size, batched, x: (fnp.full((size,), big + 1, np.int64) + x, True))
    with pytest.raises(AssertionError, match=f"should be {big}, as one call .* is {big + 1}"):
        check_batching(function, (np.int64(0),))


def test_in_axes_that_do_not_fit_are_refused() -> None:
    for in_axes in [(0,), (None, None), (0, 0, 0)]:
        with pytest.raises(ValueError, match="in_axes must have an entry for each of the 2 arg"):
            check_batching(product, (X, X), in_axes=in_axes)
    with pytest.raises(ValueError, match="no argument to map over"):
        check_batching(lambda: X, ())
    with pytest.raises(ValueError, match=r"sizes must be at least 1, got \(3, 0\)"):
        check_batching(product, (X, X), sizes=(3, 0))
    one: Any = (3,)
    with pytest.raises(TypeError, match=r"sizes must be a sequence of two ints, got \(3,\)"):
        check_batching(product, (X, X), sizes=one)
    named: Any = (0, "last")
    with pytest.raises(TypeError, match="in_axes must be a sequence with an int or None for each"):
        check_batching(product, (X, X), in_axes=named)
    with pytest.raises(ValueError, match=r"in_axes=\(0, 3\): axis 3 is out of range for a batch"):
        check_batching(product, (X, X), in_axes=(0, 3))
