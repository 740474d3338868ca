"""The functions of the public API, with the names of their parameters."""

from __future__ import annotations

import enum
import inspect
import re
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import farcall as fc

# Not called, and why.
LEFT_OUT = {
    "farcall.ffi.pycapsule": "makes any address a function, as ctypes does",
    "farcall.ffi.register_ffi_target": "takes addresses",
    "farcall.ffi.register_ffi_type": "takes addresses",
    "farcall.as_jax": "changes what the calls after it mean",
    "farcall.config.update": "changes what the calls after it mean",
    "farcall.sharding.AbstractMesh": "goes through its sizes one by one, as many as there are",
    "farcall.stages.Traced": "is made by jit, not by users",
    "farcall.set_mesh": "changes what the calls after it mean",
    "farcall.tree_util.register_pytree_node": "changes what the calls after it mean",
}
# Modules that only name what others have.
_SKIPPED_MODULES = {"farcall._core"}


class Parameter(NamedTuple):
    name: str
    is_required: bool
    can_be_positional: bool


class Function(NamedTuple):
    name: str
    call: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    takes_more: bool  # *args


def _of_python(function: Any) -> tuple[tuple[Parameter, ...], bool]:
    kinds = inspect.Parameter
    parameters, takes_more = [], False
    for p in inspect.signature(function).parameters.values():
        if p.kind is kinds.VAR_POSITIONAL:
            takes_more = True
        elif p.kind is not kinds.VAR_KEYWORD:
            is_required = p.default is kinds.empty
            parameters.append(Parameter(p.name, is_required, p.kind is not kinds.KEYWORD_ONLY))
    return tuple(parameters), takes_more


def _of_binding(signature: str) -> tuple[tuple[Parameter, ...], bool]:
    inside = signature[signature.index("(") + 1 : signature.rindex(")")]
    parameters, is_positional, takes_more = [], True, False
    # Commas of types are inside brackets.
    for part in re.split(r",\s*(?![^\[(]*[\])])", inside):
        name = part.partition(":")[0].partition("=")[0].strip()
        if name in ("", "/", "*") or name.startswith("*"):
            takes_more |= name.startswith("*") and not name.startswith("**") and name != "*"
            is_positional &= not name.startswith("*")
            continue
        parameters.append(Parameter(name, "=" not in part, is_positional))
    return tuple(parameters), takes_more


def describe(name: str, function: Any) -> Function:
    try:
        found = _of_python(function)
    except (TypeError, ValueError):
        signatures = getattr(function, "__nb_signature__", None)
        found = _of_binding(signatures[0][0]) if signatures else ((), True)
    return Function(name, function, *found)


def _members(module: types.ModuleType) -> list[str]:
    listed = getattr(module, "__all__", None)
    return list(listed or [name for name in vars(module) if not name.startswith("_")])


def _walk(module: types.ModuleType, seen: set[int]) -> Iterator[tuple[str, Any]]:
    for name in _members(module):
        value = getattr(module, name, None)
        full = f"{module.__name__}.{name}"
        if isinstance(value, types.ModuleType):
            is_ours = (
                value.__name__.startswith("farcall") and value.__name__ not in _SKIPPED_MODULES
            )
            if is_ours and id(value) not in seen:
                seen.add(id(value))
                yield from _walk(value, seen)
        elif callable(value) and id(value) not in seen:
            owner = getattr(value, "__module__", None) or "farcall"
            is_class = isinstance(value, type)
            if is_class and (not owner.startswith("farcall") or issubclass(value, enum.Enum)):
                continue
            seen.add(id(value))
            yield full, value


class _Method:
    """A method of an object that is made anew for each call."""

    def __init__(self, make: Callable[[], Any], name: str) -> None:
        self._make, self._name = make, name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._make(), self._name)(*args, **kwargs)


def _methods(title: str, make: Callable[[], Any]) -> Iterator[Function]:
    example = make()
    for name in dir(type(example)):
        if name.startswith("_") and name not in _OPERATORS:
            continue
        method = inspect.getattr_static(type(example), name)
        if callable(method):
            described = describe(f"{title}.{name}", getattr(example, name))
            yield described._replace(call=_Method(make, name))


_OPERATORS_IN_WORDS = (
    "add radd sub mul matmul truediv floordiv mod divmod pow lshift and or xor neg abs invert eq "
    "lt getitem iter len bool int float complex index round array format repr str dlpack reduce "
    "copy deepcopy"
)
_OPERATORS = {f"__{name}__" for name in _OPERATORS_IN_WORDS.split()}
_OBJECTS: dict[str, Callable[[], Any]] = {
    "Array": lambda: fc.numpy.ones((2, 3)),
    "Array of int": lambda: fc.numpy.arange(4),
    "Array.at": lambda: fc.numpy.ones((2, 3)).at,
    "Array.at[0]": lambda: fc.numpy.ones((2, 3)).at[0],
    "PyTreeDef": lambda: fc.tree.structure([1, (2, None)]),
    "Program": lambda: fc.make_program(fc.numpy.sin)(1.0),
    "jit(sin)": lambda: fc.jit(fc.numpy.sin),
    "jit(sin).lower": lambda: fc.jit(fc.numpy.sin).lower(1.0),
    "jit(sin).lower.compile": lambda: fc.jit(fc.numpy.sin).lower(1.0).compile(),
    "ShapeDtypeStruct": lambda: fc.ShapeDtypeStruct((2, 3), "float32"),
    "custom_jvp": lambda: fc.custom_jvp(fc.numpy.sin),
    "custom_vjp": lambda: fc.custom_vjp(fc.numpy.sin),
    "ffi_call": lambda: fc.ffi.ffi_call("hostile", fc.ShapeDtypeStruct((2, 3), "float32")),
}


def public_functions() -> list[Function]:
    """All of them, in an order that does not change."""
    found = [describe(name, value) for name, value in _walk(fc, set()) if name not in LEFT_OUT]
    for title, make in _OBJECTS.items():
        found += _methods(title, make)
    return sorted(found, key=lambda function: function.name)
