"""Loops and branches: what they refuse, and the messages."""

from __future__ import annotations

import farcall as fc
import jax
import numpy as np
import pytest
from control_flow import F32, X


def message(f, error):
    with pytest.raises(error) as info:
        f()
    return str(info.value)


def same(c, x):
    return c, x


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (
            lambda lax: lax.scan(3, 0.0, X),
            TypeError,
            "scan: f must be a function, got 3 of type int",
        ),
        (lambda lax: lax.scan(lambda c, x: c, 0.0, X), TypeError, "scan: f must return a pair"),
        (lambda lax: lax.scan(same, "a", X), TypeError, "scan: init must be an array or a number"),
        (
            lambda lax: lax.scan(lambda c, x: (c, "a"), 0.0, X),
            TypeError,
            "scan: the y that f returns",
        ),
        (lambda lax: lax.scan(same, 0.0), ValueError, "scan: the number of iterations is unknown"),
        (
            lambda lax: lax.scan(same, 0.0, 1.0),
            ValueError,
            "scan: xs must have a dimension to scan over",
        ),
        (
            lambda lax: lax.scan(same, 0.0, {"a": X, "b": X[:2]}),
            ValueError,
            "one leading dimension:\n  xs['a'] is f32[3]\n  xs['b'] is f32[2]",
        ),
        (lambda lax: lax.scan(same, 0.0, X, length=2), ValueError, "length is 2, but the leading"),
        (
            lambda lax: lax.scan(lambda c, x: ((c["a"],), x), {"a": 1.0}, X),
            TypeError,
            "input:\n  PyTreeDef({'a': *})\noutput:\n  PyTreeDef((*,))",
        ),
        (
            lambda lax: lax.scan(
                lambda c, x: ({"a": x, "b": c["b"][:2]}, x), {"a": F32(1), "b": X}, X
            ),
            TypeError,
            "\n  carry['b'] is f32[3] as input, f32[2] as output\n",
        ),
        (
            lambda lax: lax.while_loop(3, same, 0),
            TypeError,
            "while_loop: cond_fun must be a function",
        ),
        (
            lambda lax: lax.while_loop(lambda c: c, lambda c: c, 0),
            TypeError,
            "scalar of dtype bool",
        ),
        (
            lambda lax: lax.while_loop(lambda c: (c < 1,), lambda c: c, 0),
            TypeError,
            "PyTreeDef((*,))",
        ),
        (lambda lax: lax.while_loop(lambda c: c < X, lambda c: c, 0), TypeError, "(bool[3])"),
        (
            lambda lax: lax.while_loop(lambda c: c[0] < 1, lambda c: [c[0]], (0, 1)),
            TypeError,
            "while_loop: the body must return a carry of the structure that it gets",
        ),
        (
            lambda lax: lax.fori_loop(0.0, 3, same, 0),
            TypeError,
            "lower must be a scalar of an integer",
        ),
        (
            lambda lax: lax.fori_loop(0, X, same, 0),
            TypeError,
            "upper must be a scalar of an integer",
        ),
        (
            lambda lax: lax.fori_loop(np.int8(0), np.int16(3), same, 0),
            TypeError,
            "lower and upper must have the same type, got i8[] and i16[]",
        ),
        (
            lambda lax: lax.cond(X, lambda: 1, lambda: 2),
            TypeError,
            "the predicate must be a scalar",
        ),
        (
            lambda lax: lax.cond(None, lambda: 1, lambda: 2),
            TypeError,
            "cond: pred must be an array",
        ),
        (lambda lax: lax.cond(1j, lambda: 1, lambda: 2), TypeError, "must be a bool or a number"),
        (lambda lax: lax.cond(True, 3, lambda: 2), TypeError, "cond: true_fun must be a function"),
        (
            lambda lax: lax.cond(True, lambda: (1,), lambda: 2),
            TypeError,
            "false_fun returns\n  PyTreeDef(*)\ntrue_fun returns\n  PyTreeDef((*,))",
        ),
        (
            lambda lax: lax.cond(True, lambda: {"a": X}, lambda: {"a": X[:2]}),
            TypeError,
            "result['a'] is f32[2] from false_fun, f32[3] from true_fun",
        ),
        (lambda lax: lax.switch(0, []), ValueError, "switch: expected at least one branch"),
        (lambda lax: lax.switch(0, 3), TypeError, "switch: branches must be a sequence"),
        (
            lambda lax: lax.switch(0.5, [lambda: 1]),
            TypeError,
            "index must be a scalar of an integer",
        ),
        (lambda lax: lax.switch(X, [lambda: 1]), TypeError, "switch: the index must be a scalar"),
        (
            lambda lax: lax.associative_scan(3, X),
            TypeError,
            "associative_scan: fn must be a function",
        ),
        (lambda lax: lax.associative_scan(lambda a, b: a, (X, X[:2])), ValueError, "along axis 0"),
        (lambda lax: lax.associative_scan(lambda a, b: a, X, axis=3), ValueError, "axis 3"),
    ],
)
def test_errors(f, error, text):
    assert text in message(lambda: f(fc.lax), error)
    with pytest.raises(error):
        f(jax.lax)


def test_length_is_an_integer():
    text = message(lambda: fc.lax.scan(same, 0.0, X, length=2.5), TypeError)
    assert text == "scan: length must be an integer, got 2.5 of type float"


def test_unroll_needs_known_bounds():
    f = fc.jit(lambda n: fc.lax.fori_loop(0, n, lambda i, c: c, 0, unroll=2))
    assert "unroll needs bounds that are known" in message(lambda: f(3), ValueError)


def test_reverse_mode_of_while_is_refused():
    for f in (
        lambda x: fc.lax.while_loop(lambda c: c < 3, lambda c: c * 2, x),
        fc.jit(lambda x: fc.lax.fori_loop(0, (x * 2).astype("int32"), lambda i, c: c * 2, x)),
    ):
        text = message(lambda f=f: fc.grad(f)(1.0), ValueError)
        assert "reverse-mode differentiation does not work for while_loop" in text


def test_an_error_in_a_body_reaches_the_caller():
    def step(c, x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fc.lax.scan(step, 0.0, X)
