"""Definitions of targets: rules and defaults that all calls of a target share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from farcall import _core
from farcall._functions import check_callable
from farcall._sharding_rule import SdyShardingRule, rule_in_core

_functions = _core.ffi
_RULES = ("shape", "jvp", "forward", "backward", "transpose", "batch", "workspace")


class Definition:
    """The definition of a target. Calling it calls the target.

    The rules belong to the target: they apply to every ``ffi_call`` of it, including calls inside
    other rules, and all Definitions of a target are the same one. Each method named like a
    parameter of ``define`` sets or replaces that part; it can be used as a decorator.
    """

    def __init__(self, target_name: str) -> None:
        self.target_name = target_name

    def __call__(self, /, *args: Any, **attributes: Any) -> Any:
        """Calls the target; returns one array or a tuple. Needs a shape rule.

        Raises:
          RuntimeError: without a shape rule.
          ValueError: for operands that the shape rule rejects, and attributes out of range.
        """
        return _functions.call_defined(self.target_name, *args, **attributes)

    def _set(self, **parts: Any) -> None:
        for name in _RULES:
            rule = parts.get(name)
            if rule is not None and not (name == "shape" and isinstance(rule, str)):
                check_callable(rule, f"define({self.target_name!r}): {name}")
        sharding_rule = parts.get("sharding_rule")
        if isinstance(sharding_rule, SdyShardingRule):
            where = f"define({self.target_name!r}): sharding_rule"
            parts["sharding_rule"] = rule_in_core(sharding_rule, where)
        _functions.define(self.target_name, parts)

    def shape(self, rule: Callable[..., Any] | str) -> Any:
        """Sets the shape rule: ``rule(*shape_dtypes, **attributes)``, or a signature."""
        self._set(shape=rule)
        return rule

    def jvp(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the forward-mode rule: ``rule(call, primals, tangents) -> (results, tangents)``."""
        self._set(jvp=rule)
        return rule

    def vjp(self, forward: Callable[..., Any], backward: Callable[..., Any]) -> None:
        """Sets the reverse-mode rules.

        Args:
          forward: ``forward(call, *operands) -> (results, residuals)``, both arrays or tuples.
          backward: ``backward(call, residuals, cotangents)`` returns a tuple with a cotangent for
            each operand, None for zero. That of a single operand may stand alone.
        """
        self._set(forward=forward, backward=backward)

    def transpose(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets ``rule(call, cotangents, *operands)``; operands to transpose are passed as None.

        It returns a tuple with a cotangent for each of these operands, and None for the others.
        That of a single operand may stand alone.
        """
        self._set(transpose=rule)
        return rule

    def batch(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets ``rule(call, axis_size, axes, *operands) -> (results, axes of results)``."""
        self._set(batch=rule)
        return rule

    def workspace(self, rule: Callable[..., int]) -> Callable[..., int]:
        """Sets the size of scratch memory in bytes: ``rule(*shape_dtypes, **attributes)``.

        The rule runs when a call is compiled, with the operands that the handler gets, including
        batch dimensions. The handler's scratch allocator then takes blocks from memory planned with
        the program; blocks beyond the size come from the heap. A block takes a multiple of 64
        bytes.
        """
        self._set(workspace=rule)
        return rule

    @property
    def sharding_rule(self) -> str | None:
        """The ``sharding_rule`` given to ``define``, as text."""
        return _functions.sharding_rule_of(self.target_name)

    def __repr__(self) -> str:
        given = ", ".join(_functions.defined_parts(self.target_name))
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
    sharding_rule: str | SdyShardingRule | None = None,
    workspace: Callable[..., int] | None = None,
) -> Definition:
    """Defines rules and defaults for all calls of a target. Each may also be set later.

    A second definition of a target adds its parts: those that are given replace those of the same
    name, the others stay. ``batch`` and ``vmap_method`` replace each other. Jitted functions follow
    a change; gradients and compiled programs that were made before keep the earlier rules.

    Args:
      target_name: the name given to ``register_ffi_target``; the target may be registered later.
      shape: the types of the results: a function of the operands' ShapeDtypeStructs and the
        attributes, or a signature such as ``"[..., n], [n] -> [..., n], [...]"``.
      attributes: defaults of attributes; they also fix the types. Python numbers, lists and numpy
        arrays in a call are converted to the type of the default: exactly, or rounded from float to
        float. Numpy scalars and other values must already have that type. Attribute types that the
        target's handlers declare take precedence; Python numbers as defaults take the declared type
        too.
      jvp, vjp, transpose, batch, workspace: rules; see the methods of ``Definition``. ``vjp`` is
        the pair ``(forward, backward)``. With both jvp and vjp, each mode uses its own rule.
      linear_in: the indices of operands in which the results are linear with the others fixed; a
        nested tuple lists operands in which they are jointly linear. The calls that compute
        tangents and cotangents have no side effect, even if the call itself has one.
      vmap_method: the default for calls without one.
      sharding_rule: how dimensions may be split over devices, such as ``"... n, n -> ... n"``:
        names for the dimensions of each operand and result. Dimensions with the same name have
        equal size and are split together; a leading ``...`` stands for any leading dimensions.
        An SdyShardingRule also says which dimensions are not split. Calls are checked against it.

    Raises:
      ValueError: for contradictory parts, an unknown vmap_method, and a shape signature or sharding
        that cannot be parsed.
      TypeError: if a rule is not callable, ``vjp`` is not a pair, or ``attributes`` is not a dict.
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
        "sharding_rule": sharding_rule,
        "workspace": workspace,
    }
    definition = Definition(target_name)
    definition._set(**parts)
    return definition
