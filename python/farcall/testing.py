"""Checks of rules: derivatives against finite differences, batches against single calls.

``check_handler`` checks handlers, like the command ``farcall check``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from farcall import _core, tree
from farcall._check_handler import check_handler
from farcall._derivatives import jvp, vjp
from farcall._functions import name_of
from farcall._vmap import vmap
from farcall.numpy import asarray

__all__ = [
    "check_batching",
    "check_derivatives",
    "check_handler",
]

_MODES = ("fwd", "rev")


def check_derivatives(
    f: Callable[..., Any] | str,
    args: Sequence[Any],
    *,
    order: int = 1,
    modes: str | Sequence[str] = _MODES,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    **attributes: Any,
) -> None:
    """Compares the derivatives of ``f`` with central differences, element by element.

    ``f`` is called several times for each element of the arguments and results, so use small
    arrays. Differences are computed in float64, but ``f`` computes in the dtypes of its arguments:
    pass float64 arrays if it accepts them. A complex number counts as a pair of real numbers.

    Args:
      f: a function, a definition, or the name of a target with a shape rule.
      args: its arguments, pytrees. Ints and bools are not differentiated.
      order: the number of orders to check; each higher order is checked along one direction.
      modes: ``"fwd"``, ``"rev"`` or both.
      atol, rtol: the tolerance; the default depends on the narrowest float dtype among arguments
        and results.
      eps: the step, relative for numbers greater than 1; the default depends on that dtype.
      attributes: keyword arguments of ``f``.

    Raises:
      AssertionError: for the element with the largest error, and if a rule changes the results.
      ValueError: for an unknown mode, an order below 1, and if no argument can be differentiated.
    """
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    if not modes or not set(modes) <= set(_MODES):
        raise ValueError(f'check_derivatives: modes must be "fwd", "rev" or both, got {modes}')
    if order < 1:
        raise ValueError(f"check_derivatives: order must be at least 1, got {order}")
    function, name = _named(f)
    leaves, structure = tree.flatten(tuple(args))
    leaves = [asarray(leaf) for leaf in leaves]
    varying = [i for i, leaf in enumerate(leaves) if _has_derivative(leaf)]
    if not varying:
        raise ValueError(f"check_derivatives({name}): no argument is a float or a complex number")

    def flat(*values: Any) -> list[Any]:
        whole = list(leaves)
        for i, value in zip(varying, values, strict=True):
            whole[i] = _exact(value)
        results = tree.leaves(function(*structure.unflatten(whole), **attributes))
        return [result for result in results if _has_derivative(result)]

    labels = _labels(args)
    check = _Derivatives(name, [labels[i] for i in varying], modes, atol, rtol, eps)
    check.run(flat, [leaves[i] for i in varying], order)


def check_batching(
    f: Callable[..., Any] | str,
    args: Sequence[Any],
    *,
    in_axes: Sequence[int | None] | None = None,
    sizes: tuple[int, int] = (3, 2),
    atol: float | None = None,
    rtol: float | None = None,
    **attributes: Any,
) -> None:
    """Compares ``vmap`` of ``f``, and nested ``vmap``, with one call for each element.

    Args:
      f: a function, a definition, or the name of a target with a shape rule.
      args: its arguments for one element, pytrees. Batches are built from them: floats and complex
        numbers times factors between 1/2 and 1, other values unchanged.
      in_axes: the batch dimension of each argument, or None. By default every combination of None,
        the first and the last dimension is checked, for one vmap and for two nested ones.
      sizes: the batch sizes, outer and inner for nested vmaps.
      atol, rtol: the tolerance; the default allows for a different order of additions.
      attributes: keyword arguments of ``f``.

    Raises:
      AssertionError: if an element differs (the text has the in_axes and the element), if the
        structure, shape or dtype of a result differs, and for an error that occurs only under vmap.
      ValueError: if the number of in_axes is not the number of arguments, or all are None.
    """
    function, name = _named(f)
    args = tuple(args)
    if in_axes is not None:
        if len(in_axes) != len(args) or all(axis is None for axis in in_axes):
            raise ValueError(
                f"check_batching({name}): in_axes must have an entry for each of the {len(args)} "
                f"arguments, not all of them None, got {tuple(in_axes)}"
            )
    elif not args:
        raise ValueError(f"check_batching({name}): no argument to map over")

    def called(*values: Any) -> Any:
        return function(*values, **attributes)

    check = _Batches(name, called, args, atol, rtol)
    if in_axes is not None:
        once = inner = outer = [tuple(in_axes)]
    else:
        once = _choices((None, 0, -1), len(args))
        inner, outer = _choices((None, -1), len(args)), _choices((None, 0), len(args))
    for axes in once:
        check.run([axes], sizes[:1])
    for around, within in itertools.product(outer, inner):
        check.run([around, within], sizes)


def _named(f: Callable[..., Any] | str) -> tuple[Callable[..., Any], str]:
    """The function, and its name in reports."""
    if isinstance(f, str):
        target = f
        return lambda *args, **attributes: _core.ffi.call_defined(target, *args, **attributes), f
    return f, getattr(f, "target_name", None) or name_of(f)


def _exact(value: Any) -> Any:
    """An array with the value's own dtype, including 64-bit dtypes; tokens stay unchanged."""
    return asarray(value, value.dtype) if isinstance(value, np.ndarray) else value


def _has_derivative(value: Any) -> bool:
    return _narrowest([value]) is not None


def _narrowest(values: Sequence[Any]) -> Any:
    """The finfo of the least precise float dtype; None without floats."""
    found = None
    for value in values:
        try:
            info = ml_dtypes.finfo(np.dtype(value.dtype))
        except (TypeError, ValueError):
            continue  # ints, bools and tokens
        if found is None or info.eps > found.eps:
            found = info
    return found


def _wide(value: Any) -> np.ndarray:
    """Converts to a dtype that represents all values exactly."""
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        return array.astype(np.longdouble)
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def _worst(got: np.ndarray, wanted: np.ndarray, atol: float, rtol: float) -> tuple[int, ...] | None:
    """The index of the element that exceeds the tolerance most. Two NaN are equal."""
    with np.errstate(all="ignore"):
        same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
        excess = np.where(same, -1.0, np.abs(got - wanted) - (atol + rtol * np.abs(wanted)))
    excess = np.where(np.isnan(excess), np.inf, excess)
    if excess.size == 0 or excess.max() <= 0:
        return None
    return tuple(int(i) for i in np.unravel_index(excess.argmax(), excess.shape))


def _labels(args: Sequence[Any]) -> list[str]:
    """A name for each leaf: its argument, and its index there unless it is the only leaf."""
    labels = []
    for i, arg in enumerate(args):
        count = len(tree.leaves(arg))
        labels += [f"argument {i}" + (f", leaf {k}" if count > 1 else "") for k in range(count)]
    return labels


# ---- derivatives ----


def _reals(values: Sequence[Any]) -> np.ndarray:
    """All elements in one vector; of complex arrays first the real, then the imaginary parts."""
    rows = [np.zeros(0)]
    for value in map(_wide, values):
        rows += [np.real(value).ravel()] + (
            [np.imag(value).ravel()] if value.dtype.kind == "c" else []
        )
    return np.concatenate(rows)


def _directions(values: Sequence[Any], imaginary: complex) -> Iterator[list[np.ndarray]]:
    """A unit vector for each entry of ``_reals``."""
    zeros = [np.zeros(value.shape, value.dtype) for value in values]
    for i, zero in enumerate(zeros):
        for unit in (1, imaginary) if zero.dtype.kind == "c" else (1,):
            for index in np.ndindex(zero.shape):
                one = zero.copy()
                one[index] = unit
                yield [one if k == i else other for k, other in enumerate(zeros)]


def _places(values: Sequence[Any], labels: Sequence[str]) -> list[str]:
    """A name for each entry of ``_reals``."""
    places = []
    for value, label in zip(values, labels, strict=True):
        is_complex = np.dtype(value.dtype).kind == "c"
        for part in ("real part of ", "imaginary part of ") if is_complex else ("",):
            for index in np.ndindex(value.shape):
                places.append(f"{part}{label}" + (f"[{', '.join(map(str, index))}]" * bool(index)))
    return places


class _Derivatives:
    """One check of derivatives: of the function, then of its derivatives."""

    def __init__(
        self,
        name: str,
        labels: Sequence[str],
        modes: Sequence[str],
        atol: float | None,
        rtol: float | None,
        eps: float | None,
    ) -> None:
        self.name = name
        self.labels = labels
        self.modes = modes
        self.atol, self.rtol, self.eps = atol, rtol, eps

    def run(self, flat: Callable[..., Any], values: list[Any], order: int, what: str = "") -> None:
        where = f"check_derivatives({self.name}): {what}"
        expected = flat(*values)
        precision = _narrowest([*values, *expected])
        tolerance = 10 * float(precision.eps) ** 0.5
        atol = tolerance if self.atol is None else self.atol
        rtol = tolerance if self.rtol is None else self.rtol
        step = float(precision.eps) ** (1 / 3) if self.eps is None else self.eps

        results = [f"result {i}" for i in range(len(expected))]
        rows, columns = _places(expected, results), _places(values, self.labels)
        wanted = self._differences(flat, values, step, len(rows))
        for mode in self.modes:
            got, found = (_forward if mode == "fwd" else _reverse)(flat, values, expected)
            worst = _worst(_reals(found), _reals(expected), atol, rtol)
            if worst is not None:
                (i,) = worst
                raise AssertionError(
                    f"{where}{mode} mode changes the {rows[i]}: it should be "
                    f"{_reals(expected)[i]}, and is {_reals(found)[i]}"
                )
            worst = _worst(got, wanted, atol, rtol)
            if worst is not None:
                i, k = worst
                raise AssertionError(
                    f"{where}{mode} mode: the derivative of {rows[i]} by {columns[k]} should be "
                    f"{wanted[worst]} by differences, and is {got[worst]} (atol={atol:.1e}, "
                    f"rtol={rtol:.1e}, step {step:.1e})"
                )
        if order > 1:
            for mode in self.modes:
                next_what = f"{what}derivative of {mode} mode: "
                self.run(_along(mode, flat, values, expected), values, order - 1, next_what)

    def _differences(
        self, flat: Callable[..., Any], values: list[Any], step: float, rows: int
    ) -> np.ndarray:
        columns = []
        for direction in _directions(values, 1j):
            ends, distance = [], 0.0
            for sign in (1, -1):
                moved = []
                for value, along in zip(values, direction, strict=True):
                    size = step * np.maximum(1.0, np.abs(_wide(value)))
                    moved.append((_wide(value) + sign * size * _wide(along)).astype(along.dtype))
                    # The step after rounding.
                    distance += float(np.abs(_wide(moved[-1]) - _wide(value)).sum())
                ends.append(_reals(flat(*moved)))
            columns.append((ends[0] - ends[1]) / distance)
        return np.stack(columns, 1) if columns else np.zeros((rows, 0))


def _forward(
    flat: Callable[..., Any], values: list[Any], expected: list[Any]
) -> tuple[np.ndarray, list[Any]]:
    """The Jacobian by forward mode, and the results of the function."""
    results, columns = expected, []
    for direction in _directions(values, 1j):
        results, tangents = jvp(flat, values, direction)
        columns.append(_reals(tangents))
    return np.stack(columns, 1) if columns else np.zeros((len(_reals(expected)), 0)), results


def _reverse(
    flat: Callable[..., Any], values: list[Any], expected: list[Any]
) -> tuple[np.ndarray, list[Any]]:
    """The Jacobian by reverse mode, and the results of the function.

    Products are not conjugated: the real part of (cotangent * tangent of the result) equals that of
    (cotangent of the argument * tangent).
    """
    results, pullback = vjp(flat, *values)
    rows = []
    for direction in _directions(expected, -1j):
        cotangents = [_wide(cotangent).conj() for cotangent in pullback(direction)]
        rows.append(_reals(cotangents))
    return np.stack(rows) if rows else np.zeros((0, len(_reals(values)))), results


def _along(
    mode: str, flat: Callable[..., Any], values: list[Any], expected: list[Any]
) -> Callable[..., list[Any]]:
    """The derivative along one direction, the same for every argument, as a function."""
    random = np.random.default_rng(0)

    def direction(likes: list[Any]) -> list[np.ndarray]:
        return [np.asarray(random.uniform(0.5, 1, x.shape)).astype(x.dtype) for x in likes]

    if mode == "fwd":
        tangents = direction(values)
        return lambda *xs: jvp(flat, list(xs), tangents)[1]
    cotangents = direction(expected)
    return lambda *xs: list(vjp(flat, *xs)[1](cotangents))


# ---- batches ----


def _choices(options: Sequence[int | None], count: int) -> list[tuple[int | None, ...]]:
    """Every combination of axes for ``count`` arguments, except the one that maps nothing."""
    return [
        axes
        for axes in itertools.product(options, repeat=count)
        if any(axis is not None for axis in axes)
    ]


def _numpy(value: Any) -> Any:
    """The tree with numpy arrays instead of farcall's; tokens stay unchanged."""

    def convert(leaf: Any) -> Any:
        return leaf if getattr(leaf, "dtype", None) == "token" else np.asarray(leaf)

    return tree.map(convert, value)


def _stacked(
    make: Callable[[tuple[int, ...]], Any],
    levels: Sequence[tuple[int | None, int]],
    index: tuple[int, ...] = (),
) -> Any:
    """Stacks ``make(index)`` over all indices, level by level, outermost first."""
    if not levels:
        return make(index)
    (axis, size), *inner = levels
    if axis is None:
        return _stacked(make, inner, (*index, 0))
    parts = [_stacked(make, inner, (*index, k)) for k in range(size)]

    def stack(*leaves: Any) -> Any:
        return np.stack(leaves, axis) if isinstance(leaves[0], np.ndarray) else leaves[-1]

    return tree.map(stack, *parts)


def _element(arg: Any, index: tuple[int, ...], sizes: tuple[int, ...]) -> Any:
    """The argument for an element of the batch; the first element's is ``arg``."""
    part = float(np.ravel_multi_index(index, sizes)) / math.prod(sizes)

    def scaled(leaf: np.ndarray) -> np.ndarray:
        if not _has_derivative(leaf):
            return leaf
        return np.asarray(_wide(leaf) * (1 - part / 2)).astype(leaf.dtype)

    return tree.map(scaled, arg)


class _Batches:
    """One check of batching."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        atol: float | None,
        rtol: float | None,
    ) -> None:
        self.name = name
        self.function = function
        self.args = _numpy(tree.map(asarray, args))
        self.atol, self.rtol = atol, rtol

    def run(self, nested: Sequence[tuple[int | None, ...]], sizes: tuple[int, ...]) -> None:
        """Checks one vmap for each entry of ``nested``, the outermost first."""
        mapped = self.function
        for axes in reversed(nested):
            mapped = vmap(mapped, in_axes=axes)

        def argument(i: int, index: tuple[int, ...]) -> Any:
            own = tuple(0 if axes[i] is None else k for axes, k in zip(nested, index, strict=True))
            return _element(self.args[i], own, sizes)

        def result(index: tuple[int, ...]) -> Any:
            own = [tree.map(_exact, argument(i, index)) for i in range(len(self.args))]
            return _numpy(self.function(*own))

        arguments = [
            _stacked(
                functools.partial(argument, i),
                [(axes[i], size) for axes, size in zip(nested, sizes, strict=True)],
            )
            for i in range(len(self.args))
        ]
        wanted = _stacked(result, [(0, size) for size in sizes])
        where = f"check_batching({self.name}): " + " of ".join(
            f"vmap with in_axes={axes}" for axes in nested
        )
        try:
            got = _numpy(mapped(*tree.map(_exact, arguments)))
        except Exception as error:
            raise AssertionError(f"{where} raised {type(error).__name__}: {error}") from error
        self._compare(where, got, wanted)

    def _compare(self, where: str, got: Any, wanted: Any) -> None:
        found, structure = tree.flatten(got)
        leaves, like = tree.flatten(wanted)
        if structure != like:
            raise AssertionError(f"{where}: the structure should be {like}, got {structure}")
        for i, (a, b) in enumerate(zip(found, leaves, strict=True)):
            if not isinstance(b, np.ndarray):
                continue  # a token
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                raise AssertionError(
                    f"{where}: result {i} should be {b.dtype}{list(b.shape)}, got "
                    f"{a.dtype}{list(a.shape)}"
                )
            precision = _narrowest([b])
            tolerance = 0.0 if precision is None else 100 * float(precision.eps)
            atol = tolerance if self.atol is None else self.atol
            rtol = tolerance if self.rtol is None else self.rtol
            worst = _worst(_wide(a), _wide(b), atol, rtol)
            if worst is not None:
                raise AssertionError(
                    f"{where}: result {i}{list(worst)} should be {b[worst]}, as one call for each "
                    f"element gives, and is {a[worst]}"
                )
