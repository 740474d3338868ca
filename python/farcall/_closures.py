"""closure_convert and custom_gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._custom_rules import custom_vjp
from farcall._functions import check_callable, name_of, wraps
from farcall.tree_util import Partial

_transforms = _core.transforms


class _Converted:
    """A recorded function whose closed-over arrays have become arguments."""

    def __init__(self, program: Any, in_tree: Any, out_tree: Any, kept: list[Any]) -> None:
        self._program, self._in_tree, self._out_tree = program, in_tree, out_tree
        self._kept = kept  # in the order of the program's inputs; None for hoisted arrays

    def __call__(self, *args_and_consts: Any) -> Any:
        count = sum(array is None for array in self._kept)
        if len(args_and_consts) < count:
            raise TypeError(
                f"closure_convert: expected {count} hoisted arrays behind the arguments"
            )
        split = len(args_and_consts) - count
        leaves, structure = tree.flatten(args_and_consts[:split])
        if structure != self._in_tree:
            raise TypeError(
                "closure_convert: the function was recorded for arguments of structure "
                f"{self._in_tree}, got {structure}"
            )
        hoisted = iter(args_and_consts[split:])
        closed_over = [next(hoisted) if array is None else array for array in self._kept]
        return self._out_tree.unflatten(self._program(*closed_over, *leaves))


def closure_convert(fun: Callable[..., Any], *example_args: Any) -> tuple[Any, list[Any]]:
    """Turns the traced arrays that ``fun`` closes over into explicit arguments.

    Custom rules need this: they define derivatives only for explicit arguments.

    Args:
      fun: takes and returns pytrees of arrays.
      example_args: arguments of the types for which ``fun`` is recorded.

    Returns:
      ``(converted, consts)``: ``converted(*args, *consts)`` is ``fun(*args)``. Traced floats and
      complex numbers are hoisted; other arrays stay in the closure.

    Raises:
      TypeError: if ``converted`` is called with arguments of another structure.
    """
    check_callable(fun, "closure_convert")
    name = name_of(fun)
    where = f"closure_convert({name})"
    program, out_tree, captured = _transforms.trace_closure(fun, where, name, example_args)
    has_derivative = [array.dtype.kind in "fcV" for array in captured]
    consts = [array for array, is_float in zip(captured, has_derivative, strict=True) if is_float]
    kept = [
        None if is_float else array
        for array, is_float in zip(captured, has_derivative, strict=True)
    ]
    return _Converted(program, tree.structure(example_args), out_tree, kept), consts


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Decorates a function that returns its own reverse-mode derivative with each result.

    Args:
      fun: takes pytrees of arrays, returns ``(result, vjp)``. ``vjp(cotangent of the result)``
        returns the tuple of cotangents of the arguments; for a single argument it may return the
        cotangent itself.

    Returns:
      A function that returns only the result. It has no forward mode.

    Raises:
      TypeError: at a call, if ``fun`` does not return a pair; under differentiation, if the
        cotangents do not have the structure of the arguments.
    """
    check_callable(fun, "custom_gradient")
    name = name_of(fun)

    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        pair = fun(*args, **kwargs)
        if not (isinstance(pair, tuple) and len(pair) == 2 and callable(pair[1])):
            raise TypeError(
                f"custom_gradient({name}): it must return a pair of the result and a function from "
                f"its cotangent to those of the arguments, got {pair!r}"
            )
        return pair

    def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return call(args, kwargs)[0]

    def fwd(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        result, rule = call(args, kwargs)
        converted, consts = closure_convert(rule, result)
        structure = tree.structure((args, kwargs))
        return result, Partial(lambda *given: cotangents(converted, structure, given), *consts)

    def cotangents(converted: Any, structure: Any, consts_and_cotangent: Any) -> Any:
        *consts, cotangent = consts_and_cotangent
        found = converted(cotangent, *consts)
        leaves = tree.leaves(
            found if isinstance(found, tuple) else (found,), lambda leaf: leaf is None
        )
        if len(leaves) != structure.num_leaves:
            raise TypeError(
                f"custom_gradient({name}): the rule must return a cotangent for each of the "
                f"{structure.num_leaves} arrays among the arguments, got {len(leaves)}"
            )
        return structure.unflatten(leaves)

    def bwd(rule: Any, cotangent: Any) -> Any:
        return rule(cotangent)

    run.__name__ = name
    ruled = custom_vjp(run)
    ruled.defvjp(fwd, bwd)

    @wraps(fun)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return ruled(args, kwargs)

    return wrapped
