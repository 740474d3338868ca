"""Definitions of targets: what every call of a target needs, said once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farcall import _core
from farcall._functions import check_callable

_functions = _core.ffi
_RULES = ("shape", "jvp", "forward", "backward", "transpose", "batch", "workspace")


class Definition:
    """What is known of a target. Calling it calls the target.

    The rules belong to the target: every ``ffi_call`` of it has them, also one made inside another
    rule. Each method that is named like a part of ``define`` sets that part and can be used as a
    decorator.
    """

    def __init__(self, target_name: str, parts: dict[str, Any]) -> None:
        self.target_name = target_name
        self._parts: dict[str, Any] = {}
        self._set(**parts)

    def __call__(self, /, *args: Any, **attributes: Any) -> Any:
        """The results of the target, one array or a tuple; needs a shape rule.

        Raises:
          RuntimeError: without a shape rule.
          ValueError: for operands that the shape rule refuses, or attributes out of range.
        """
        return _functions.call_defined(self.target_name, *args, **attributes)

    def _set(self, **parts: Any) -> None:
        for name in _RULES:
            rule = parts.get(name)
            if rule is not None and not (name == "shape" and isinstance(rule, str)):
                check_callable(rule, f"define({self.target_name!r}): {name}")
        changed = {**self._parts, **parts}
        _functions.define(self.target_name, changed)
        self._parts = changed

    def shape(self, rule: Callable[..., Any] | str) -> Any:
        """Sets the shape rule: ``rule(*shape_dtypes, **attributes)``, or a signature."""
        self._set(shape=rule)
        return rule

    def jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets forward mode: ``rule(call, primals, tangents) -> (results, their tangents)``."""
        self._set(jvp=rule)
        return rule

    def vjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets reverse mode.

        Args:
          forward: ``forward(call, *operands) -> (results, residuals)``, both arrays or tuples.
          backward: ``backward(call, residuals, cotangents)`` returns one cotangent for each
            operand, None for zero.
        """
        self._set(forward=forward, backward=backward)

    def transpose(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets ``rule(call, cotangents, *operands)``, operands that vary being None.

        It returns a cotangent for each operand, None where there is none.
        """
        self._set(transpose=rule)
        return rule

    def batch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets ``rule(call, axis_size, axes, *operands) -> (results, axes of results)``."""
        self._set(batch=rule)
        return rule

    def workspace(self, rule: Callable[..., int]) -> Callable[..., int]:
        """Sets the bytes of scratch memory: ``rule(*shape_dtypes, **attributes)``.

        It is asked when a call is compiled, for the operands as the handler gets them, under vmap
        too. What the handler's scratch allocator hands out then comes from memory that is planned
        with everything else; what goes beyond comes from the heap. A block takes a multiple of 64
        bytes.
        """
        self._set(workspace=rule)
        return rule

    @property
    def sharding(self) -> str | None:
        """How dimensions may be divided, as given."""
        return self._parts.get("sharding")

    def __repr__(self) -> str:
        given = ", ".join(sorted(name for name, part in self._parts.items() if part is not None))
        return f"<definition of target {self.target_name!r}: {given or 'nothing'}>"


def define(
    target_name: str,
    *,
    shape: Callable[..., Any] | str | None = None,
    attributes: Mapping[str, Any] | None = None,
    jvp: Callable[..., Any] | None = None,
    vjp: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    transpose: Callable[..., Any] | None = None,
    linear_in: int | Sequence[Any] | None = None,
    batch: Callable[..., Any] | None = None,
    vmap_method: str | None = None,
    sharding: str | None = None,
    workspace: Callable[..., int] | None = None,
) -> Definition:
    """Says what every call of a target needs. Each part is optional, and may be given later.

    Args:
      target_name: as given to ``register_ffi_target``, which may happen later.
      shape: types of the results: a function of the operands' ShapeDtypeStructs and the attributes,
        or a signature such as ``"[..., n], [n] -> [..., n], [...]"``.
      attributes: values for calls that do not give them, and the types of those that are given:
        Python's numbers, lists and numpy arrays are converted to the type of the default, exactly
        or, from float to float, rounded; numpy scalars and other values must be of that type. What
        the target's handlers declare of themselves goes before, and Python numbers that are
        defaults take that type too.
      jvp, vjp, transpose, batch, workspace: rules; see the methods of ``Definition``. ``vjp`` is
        the pair ``(forward, backward)``. Both jvp and vjp may be given: each mode then uses its
        own.
      linear_in: the operands in which the results are linear, the others held fixed; a tuple inside
        stands for operands in which they are linear together. Calls that compute tangents and
        cotangents have no side effect, whatever the call itself has.
      vmap_method: for calls that give none.
      sharding: how dimensions may be divided among devices, as ``"... n, n -> ... n"``: names for
        the dimensions of each operand and result. Those of one name are divided together and have
        one size; ``...`` in front stands for any leading ones. Calls are checked against it.

    Raises:
      ValueError: for parts that make no sense together, an unknown vmap_method, and a shape
        signature or sharding that cannot be read.
      TypeError: for rules that cannot be called, a vjp that is no pair, attributes that are no
        dict.
    """
    if not isinstance(target_name, str):
        raise TypeError(f"define: target_name must be a string, got {target_name!r}")
    if not (attributes is None or isinstance(attributes, Mapping)):
        raise TypeError(f"define({target_name!r}): attributes must be a dict, got {attributes!r}")
    if vjp is not None and not (isinstance(vjp, (tuple, list)) and len(vjp) == 2):
        raise TypeError(
            f"define({target_name!r}): vjp must be a pair (forward, backward), got {vjp!r}"
        )
    forward, backward = vjp if vjp is not None else (None, None)
    parts = {
        "shape": shape,
        "attributes": None if attributes is None else dict(attributes),
        "jvp": jvp,
        "forward": forward,
        "backward": backward,
        "transpose": transpose,
        "linear_in": linear_in,
        "batch": batch,
        "vmap_method": vmap_method,
        "sharding": sharding,
        "workspace": workspace,
    }
    return Definition(target_name, parts)
