"""Definitions of targets: what every call of a target needs, said once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farcall import _core

_functions = _core.ffi


class Definition:
    """What is known of a target. Calling it calls the target.

    The rules belong to the target: every ``ffi_call`` of it has them, also one made inside another
    rule. Each method that is named like a part of ``define`` sets that part and can be used as a
    decorator.
    """

    def __init__(self, target_name: str, parts: dict[str, Any]) -> None:
        self.target_name = target_name
        self._parts = parts
        _functions.define(target_name, parts)

    def __call__(self, *args: Any, **attributes: Any) -> Any:
        """The results of the target, one array or a tuple; needs a shape rule.

        Raises:
          RuntimeError: without a shape rule.
          ValueError: for operands that the shape rule refuses, or attributes out of range.
        """
        return _functions.call_defined(self.target_name, *args, **attributes)

    def _set(self, **parts: Any) -> None:
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
        """Sets the bytes of scratch memory: ``rule(*shape_dtypes, **attributes)``."""
        self._set(workspace=rule)
        return rule

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
      attributes: values for calls that do not give them. A plain number given for one of these
        takes its dtype and is range-checked.
      jvp, vjp, transpose, batch, workspace: rules; see the methods of ``Definition``. ``vjp`` is
        the pair ``(forward, backward)``. Both jvp and vjp may be given: each mode then uses its
        own.
      linear_in: the operands in which the results are linear, the others held fixed; a tuple inside
        stands for operands in which they are linear together.
      vmap_method: for calls that give none.
      sharding: how dimensions may be divided, an einsum-like text.

    Raises:
      ValueError: for parts that make no sense together, and an unknown vmap_method.
    """
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
