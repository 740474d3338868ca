"""Errors of arguments name the function, the argument, what was wanted and what came."""

from __future__ import annotations

import io
import itertools
import operator
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import _core

X = np.ones(3, np.float32)

CASES = {
    "a float for an int": (
        lambda: fc.lax.cumsum(X, 1.5),
        TypeError,
        "cumsum: argument axis must be an integer, got 1.5 of type float",
    ),
    "an int of 70 bits": (
        lambda: fc.lax.cumsum(X, axis=2**70),
        OverflowError,
        "cumsum: argument axis must fit into 64 bits, got 1180591620717411303424 of type int",
    ),
    "a number for a bool": (
        lambda: fc.lax.cumsum(X, reverse=2),
        TypeError,
        "cumsum: argument reverse must be True or False, got 2 of type int",
    ),
    "a name that is none": (
        lambda: fc.lax.cumsum(X, dimension=1),
        TypeError,
        "cumsum has no argument 'dimension'; its arguments are operand, axis, reverse",
    ),
    "nothing": (lambda: fnp.exp(), TypeError, "exp: argument x is missing"),
    "too many": (
        lambda: fnp.exp(X, X),
        TypeError,
        "exp takes 1 argument by position, got 2",
    ),
    "one twice": (
        lambda: fc.lax.cumsum(X, operand=X),
        TypeError,
        "cumsum got argument operand twice, by position and by name",
    ),
    "a method's": (
        lambda: fc.make_program(fnp.sin)(1.0).to_svg("a"),
        TypeError,
        "to_svg: argument max_equations must be an integer, got 'a' of type str",
    ),
    "a method without its object": (
        lambda: fc.tree_util.PyTreeDef.children(3),
        TypeError,
        "PyTreeDef.children is a method of PyTreeDef and needs an instance of it",
    ),
    "a constructor's": (
        lambda: fc.ShapeDtypeStruct((2,)),
        TypeError,
        "ShapeDtypeStruct: argument dtype is missing",
    ),
    "text without UTF-8": (
        lambda: fc.parse_program("\ud800"),
        ValueError,
        "parse_program: the first argument must be text that UTF-8 can encode, "
        r"got '\ud800' of type str",
    ),
    "a public function's, not a private one's": (
        lambda: fc.lax.sort((X,), dimension="a"),
        TypeError,
        "sort: argument dimension must be an integer, got 'a' of type str",
    ),
    "elements of a sequence": (
        lambda: fc.lax.reduce_window(X, 0.0, fc.lax.add, (1.5,), (1,), "VALID"),
        TypeError,
        None,
    ),
}


@pytest.mark.parametrize(("call", "kind", "text"), CASES.values(), ids=CASES)
def test_errors_name_the_argument(call: Any, kind: type[Exception], text: str | None) -> None:
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    if text is not None:
        assert str(caught.value) == text


def test_every_bound_function_has_a_signature_that_is_understood() -> None:
    """So that none falls back to the general sentence."""
    from farcall._argument_errors import _parse, _type_of

    seen = 0
    scopes = [_core, *(m for m in vars(_core).values() if type(m).__name__ == "module")]
    scopes += [t for scope in scopes for t in vars(scope).values() if isinstance(t, type)]
    for function in itertools.chain.from_iterable(vars(scope).values() for scope in scopes):
        bound = getattr(function, "_core_function", function)  # under its docstring
        signatures = getattr(bound, "__nb_signature__", None)
        if not isinstance(signatures, tuple):
            continue
        assert len(signatures) == 1, function
        seen += 1
        for parameter in _parse(signatures[0][0]).parameters:
            words, _, fits = _type_of(parameter.type)
            assert words
            assert fits(object()) in (True, False)
    assert seen > 700


class Raises:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __index__(self) -> int:
        raise self.error

    __len__ = __bool__ = __iter__ = __index__

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    "call",
    [
        lambda x: fc.lax.cumsum(X, x),
        lambda x: fnp.zeros(x),
        lambda x: fnp.zeros((2, x)),
        lambda x: fnp.sin(x),
        lambda x: fnp.reshape(X, x),
        lambda x: fc.jit(fnp.sin)(x),
        lambda x: fc.tree.leaves([1, 2], is_leaf=lambda _: x),
        lambda x: fc.ShapeDtypeStruct(x, "float32"),
    ],
)
@pytest.mark.parametrize("error", [KeyboardInterrupt("a"), KeyError("b"), OSError("c")])
def test_what_an_argument_raises_is_raised(call: Any, error: BaseException) -> None:
    with pytest.raises(type(error)) as caught:
        call(Raises(error))
    assert caught.value is error


class FailsToDescribeItself:
    def __repr__(self) -> str:
        raise KeyError("no")


class Surrogate:
    def __repr__(self) -> str:
        return "<\ud800>"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (FailsToDescribeItself(), "FailsToDescribeItself object"),
        (Surrogate(), r"<\ud800>"),
        ("x" * 10**6, "…"),
    ],
)
def test_objects_that_cannot_be_described_are_named(value: Any, text: str) -> None:
    for call in (fnp.sin, fnp.zeros, fc.jit(fnp.sin), fc.grad(fnp.sin), fc.ffi.ffi_call):
        with pytest.raises((TypeError, ValueError)) as caught:
            call(value) if call is not fc.ffi.ffi_call else call("name", value)
        assert text in str(caught.value)
        assert len(str(caught.value)) < 4000


def test_surrogates_in_names_and_keys() -> None:
    name = "\ud800"
    with pytest.raises(
        ValueError, match=r"the name of an argument must be text that UTF-8 can encode"
    ):
        fc.jit(lambda **kwargs: 1.0)(**{name: 1.0})
    with pytest.raises(ValueError, match=r'attribute "a" must be text that UTF-8 can encode'):
        fc.ffi.ffi_call("target", fc.ShapeDtypeStruct((), "float32"))(a=name)
    with pytest.raises(ValueError, match=r"the name of an attribute must be text"):
        fc.ffi.ffi_call("target", fc.ShapeDtypeStruct((), "float32"))(**{name: 1})
    with pytest.raises(ValueError, match=r"ffi_call: target_name must be text that UTF-8 can"):
        fc.ffi.ffi_call(name, fc.ShapeDtypeStruct((), "float32"))
    with pytest.raises(ValueError, match=r"take: mode must be text that UTF-8 can encode"):
        fnp.take(X, 0, mode=name)
    with pytest.raises(ValueError, match=r"must be text that UTF-8 can encode"):
        fc.lax.psum(X, name)
    leaves, structure = fc.tree.flatten({name: 1})
    assert repr(structure) == r"PyTreeDef({'\ud800': *})"
    assert fc.tree.unflatten(structure, leaves) == {name: 1}
    named = fc.jit(type("Callable", (), {"__call__": lambda self, x: x, "__name__": name})())
    np.testing.assert_array_equal(named(X), X)


def test_text_with_nul_is_kept_whole() -> None:
    call = fc.ffi.ffi_call("a\0b", fc.ShapeDtypeStruct((), "float32"))
    assert call.target_name == "a\0b"
    assert repr(call) == '<ffi_call "a\0b">'


def test_endless_iterables_are_refused() -> None:
    for call in (fnp.zeros, lambda x: fnp.reshape(X, x), lambda x: fc.lax.reduce_sum(X, x)):
        with pytest.raises((OverflowError, MemoryError)):
            call(range(2**70))
        with pytest.raises((ValueError, TypeError, MemoryError)):
            call(range(2**60))


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: fnp.tril_indices(2**31), ValueError, "tril_indices: .* is too large"),
        (lambda: fnp.triu_indices(2**62, 3, 2**62), ValueError, "triu_indices: .* is too large"),
        (lambda: fc.lax.split(X, range(2**70)), OverflowError, "too large"),
        (lambda: fnp.ravel_multi_index(range(2**70), (2, 3)), ValueError, "more indices for 2"),
        (lambda: fc.scipy.special.multigammaln(X, 2**62), ValueError, "2\\^63 bytes or more"),
        (
            lambda: fc.scipy.special.multigammaln(X, -1),
            ValueError,
            "d must not be negative, got -1",
        ),
        (
            lambda: fnp.savez(io.BytesIO(), lambda: None),
            TypeError,
            "savez: an object cannot be pick",
        ),
        (lambda: fc.tree_util.keystr((X,), simple=True), TypeError, "is not a path key"),
    ],
)
def test_what_would_never_end_is_refused(call: Any, kind: type, message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("axis", [7, -3, 2**40, np.array(7)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"])
def test_axes_are_checked_before_rules_use_them(name: str, axis: Any) -> None:
    x = np.ones((3, 3), np.float32)

    def total(v: Any) -> Any:
        return getattr(fc.lax, name)(v, axis).sum()

    calls = [total, fc.grad(total), fc.vmap(fc.grad(total)), fc.jit(fc.hessian(total))]
    for call, operand in zip(calls, (x, x, x[None], x), strict=True):
        with pytest.raises(ValueError, match=f"{name}: axis {axis} does not lie in"):
            call(operand)


@pytest.mark.parametrize("columns", [None, 0, 2, 7])
@pytest.mark.parametrize("k", [-(2**62), -9, -2, 0, 1, 9, 2**62])
@pytest.mark.parametrize("rows", [0, 1, 4])
def test_places_in_triangles_are_those_of_numpy(rows: int, k: int, columns: int | None) -> None:
    near = max(min(k, 99), -99)
    for name in ("tril_indices", "triu_indices"):
        got = getattr(fnp, name)(rows, k, columns)
        np.testing.assert_array_equal(got, getattr(np, name)(rows, near, columns))


def test_subclasses_of_python_types_are_taken() -> None:
    class Int(int):
        pass

    class Text(str):
        __slots__ = ()

    class Tuple(tuple):
        __slots__ = ()

    assert fnp.zeros(Tuple((Int(2), True)), Text("float32")).shape == (2, 1)
    assert fc.lax.cumsum(X, axis=Int(0)).shape == (3,)
    assert operator.index(fnp.asarray(Int(4))) == 4


@pytest.mark.parametrize(("shift", "axis"), [(1, ()), ((), 0), ((), ()), ([], [0]), ((), None)])
def test_roll_without_shifts_or_axes_moves_nothing(shift: Any, axis: Any) -> None:
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    shift = np.array(shift, np.int32)
    np.testing.assert_array_equal(fnp.roll(x, shift, axis), x)


class Endless:
    """Items without end, whatever its length says."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> int:
        return 0


@pytest.mark.parametrize(
    "call",
    [
        lambda items: fnp.concatenate(items),
        lambda items: fnp.column_stack(items),
        lambda items: fnp.stack(items),
        lambda items: fc.lax.concatenate(items, 0),
        lambda items: X.squeeze(items),
        lambda items: X.item(items),
        lambda items: fnp.std(X, items),
        lambda items: fc.lax.conv_general_dilated_patches(fnp.ones((1, 1, 4)), items, (1,), "SAME"),
        lambda items: fnp.linalg.multi_dot(items),
        lambda items: fc.lax.reduce(X, 0.0, fc.lax.add, items),
        lambda items: fc.lax.reduce_window(X, 0.0, fc.lax.add, items, (1,), "SAME"),
        lambda items: fc.lax.conv(fnp.ones((1, 1, 4)), fnp.ones((1, 1, 2)), items, "SAME"),
    ],
)
def test_sequences_without_end_are_refused(call: Any) -> None:
    too_many = range(2**70), np.broadcast_to(X, (2**40, 3))
    for items in (Endless(1), Endless(-1), Endless(2**40), *too_many):
        with pytest.raises((ValueError, OverflowError, TypeError, IndexError)):
            call(items)


def test_one_whole_number_is_asked_for_where_a_list_came() -> None:
    for wrong in ([], (), [1, 2], ""):
        with pytest.raises(TypeError, match="ball: d must be"):
            fc.random.ball(fc.random.key(0), wrong, shape=1)
    assert fnp.hanning(-(2**63)).shape == (0,)
    with pytest.raises(ValueError, match="trim must be of 'f' and 'b', got 5"):
        fnp.trim_zeros(X, 5)  # type: ignore[arg-type]
