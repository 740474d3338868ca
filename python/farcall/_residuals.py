"""Residuals: the values that reverse mode keeps between the forward and the backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from farcall import _core, tree
from farcall._derivatives import vjp
from farcall._functions import check_callable, name_of
from farcall._jit import make_jaxpr
from farcall._tree_paths import keystr
from farcall._types import ShapedArray, typeof


def saved_residuals(
    fun: Callable[..., Any], *args: Any, **kwargs: Any
) -> list[tuple[ShapedArray, str]]:
    """The values that ``vjp`` of ``fun`` keeps for the backward pass: type and origin of each.

    Args:
      fun: takes and returns pytrees of arrays.
      *args: the arguments; only their types matter.
      **kwargs: the same, by name.
    """
    check_callable(fun, "saved_residuals")
    paths, structure = tree.flatten_with_path((args, kwargs))

    def run(*leaves: Any) -> list[Any]:
        args, kwargs = structure.unflatten(leaves)
        _, pullback = vjp(lambda *primals: fun(*primals, **kwargs), *args)
        return tree.leaves(pullback)

    run.__name__ = name_of(fun)
    program = make_jaxpr(run)(*(leaf for _, leaf in paths))
    names = [_argument(path) for path, _ in paths]
    return [_described(program, names, var) for var in program.outvars]


def _argument(path: Any) -> str:
    is_keyword = path[0].idx == 1
    rest = keystr(path[2:])
    return f"{path[1].key if is_keyword else f'argument {path[1].idx}'}{rest}"


def _described(program: _core.Program, names: list[str], var: Any) -> tuple[ShapedArray, str]:
    aval = typeof(var.aval)
    if isinstance(var, _core.Literal):
        return aval, "from a constant"
    for name, argument in zip(names, program.invars, strict=True):
        if var == argument:
            return aval, f"from {name}" if name.startswith("argument") else f"from argument {name}"
    for equation in program.eqns:
        if var in equation.outvars:
            where = equation.location
            text = f"output of {equation.primitive.name}"
            name = equation.params.get("name")
            if equation.primitive.name == "name" and name is not None:
                text = f"named {name!r}"
            return (
                aval,
                text if where is None else f"{text} from {where[0]}:{where[1]} ({where[2]})",
            )
    return aval, "from a constant"


def print_saved_residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints a line for each value that ``vjp`` of ``fun`` keeps; see saved_residuals."""
    for aval, source in saved_residuals(fun, *args, **kwargs):
        print(f"{aval.str_short(short_dtypes=True)} {source}")
