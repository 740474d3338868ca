"""Functions with custom rules: custom_jvp, custom_vjp and custom_vmap."""

from __future__ import annotations

import dataclasses
import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, Generic

from farcall import _control_flow, _core, tree
from farcall._functions import (
    P,
    R,
    check_callable,
    name_of,
    parameters_of,
    positional_names,
)

_transforms = _core.transforms


class CustomFunction(Generic[P, R]):
    """A function with positional arguments only, some of which are not differentiable."""

    _kind: str = ""

    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        check_callable(fun, self._kind)
        _core.update_wrapper(self, fun)
        self.fun: Callable[P, R] = fun
        self._name = name_of(fun)
        self._positional = positional_names(parameters_of(fun))
        numbers = {operator.index(number) for number in nondiff_argnums}
        for name in nondiff_argnames:
            if name not in self._positional:
                raise ValueError(
                    f"{self._kind}({self._name}): nondiff_argnames has {name!r}, but the "
                    f"function's arguments are {', '.join(self._positional)}"
                )
            numbers.add(self._positional.index(name))
        self.nondiff_argnums: tuple[int, ...] = tuple(sorted(numbers))

    def _resolve(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """All arguments as positional ones, including defaults."""
        if not kwargs and len(args) == len(self._positional):
            return args
        try:
            signature = inspect.signature(self.fun)
        except (TypeError, ValueError):
            if kwargs:
                raise
            return args
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{self._kind}({self._name}): {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"{self._kind}({self._name}): the keyword arguments {', '.join(bound.kwargs)} "
                "cannot be given by position, as rules need them"
            )
        return bound.args

    def _dynamic(self, args: tuple[Any, ...]) -> list[int]:
        excluded = self.nondiff_argnums
        return [i for i in range(len(args)) if i not in excluded]

    def __repr__(self) -> str:
        return f"<{self._kind} {self._name}>"


class custom_jvp(CustomFunction[P, R]):  # noqa: N801
    """A function with a custom forward-mode rule, from which reverse mode is derived.

    Args:
      fun: takes and returns pytrees of arrays.
      nondiff_argnums, nondiff_argnames: arguments that are never differentiated; they may be any
        objects. The rule gets them first.

    Raises:
      AttributeError: at a call, if no rule was set.
      TypeError: under differentiation, if the rule does not return a pair of results and tangents
        with the structure, shapes and dtypes of the results.
    """

    _kind: str = "custom_jvp"

    jvp: Callable[..., Any] | None = None
    symbolic_zeros: bool = False

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Sets the rule and returns it; can be used as a decorator.

        Args:
          jvp: ``jvp(*nondiff, primals, tangents)``, where ``primals`` and ``tangents`` are tuples
            of the differentiable arguments and their tangents; returns ``(results, tangents of the
            results)``.
          symbolic_zeros: whether zero tangents are passed as SymbolicZero objects.
        """
        check_callable(jvp, "defjvp")
        self.jvp = jvp
        self.symbolic_zeros = symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets the rule from one function for each argument; None for a zero derivative.

        Each is ``jvp(tangent, result, *primals)`` and returns its term of the result's tangent.

        Raises:
          TypeError: if nondiff_argnums is set.
          ValueError: under differentiation, if there is not one function for each argument.
        """
        if self.nondiff_argnums:
            raise TypeError(
                f"custom_jvp({self._name}): defjvps cannot be used with nondiff_argnums; use defjvp"
            )

        call: Any = self

        def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
            if len(jvps) != len(primals):
                raise ValueError(
                    f"custom_jvp({self._name}): defjvps got {len(jvps)} functions for "
                    f"{len(primals)} arguments; give one for each, None for a zero derivative"
                )
            result = call(*primals)
            total = tree.map(_transforms.zero_from_primal, result)
            for tangent, part in zip(tangents, jvps, strict=True):
                if part is not None:
                    total = tree.map(_add, total, part(tangent, result, *primals))
            return result, total

        self.defjvp(rule)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.jvp is None:
            raise AttributeError(
                f"custom_jvp({self._name}): it has no rule; define one with {self._name}.defjvp"
            )
        resolved = self._resolve(args, kwargs)
        return _transforms.custom_jvp(
            self.fun,
            self.jvp,
            self._name,
            name_of(self.jvp),
            self._dynamic(resolved),
            self.symbolic_zeros,
            resolved,
        )


def _add(x: Any, y: Any) -> Any:
    return x if getattr(x, "dtype", None) == _transforms.float0 else x + y


class custom_vjp(CustomFunction[P, R]):  # noqa: N801
    """A function with a custom reverse-mode rule.

    Args:
      fun: takes and returns pytrees of arrays.
      nondiff_argnums, nondiff_argnames: arguments that are never differentiated; they may be any
        objects except traced arrays.

    Raises:
      AttributeError: at a call, if no rule was set.
      TypeError: under differentiation, if a rule returns the wrong structure.
      ValueError: if a cotangent's shape or dtype differs from that of its argument.
    """

    _kind: str = "custom_vjp"

    fwd: Callable[..., Any] | None = None
    bwd: Callable[..., Any] | None = None
    symbolic_zeros: bool = False

    def defvjp(
        self,
        fwd: Callable[..., Any],
        bwd: Callable[..., Any],
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Sets the rule.

        Args:
          fwd: ``fwd(*args)`` takes the arguments of ``fun`` and returns ``(results, residuals)``;
            residuals are any pytree of arrays.
          bwd: ``bwd(*nondiff, residuals, cotangents of the results)`` returns a tuple with a
            cotangent for each differentiable argument; None stands for zeros.
          symbolic_zeros: whether ``fwd`` gets CustomVJPPrimal records instead of arrays, and
            ``bwd`` gets SymbolicZero objects for zero cotangents.
          optimize_remat: accepted for compatibility with JAX; ignored.
        """
        check_callable(fwd, "defvjp")
        check_callable(bwd, "defvjp")
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"custom_vjp({self._name}): it has no rule; define one with {self._name}.defvjp"
            )
        resolved = self._resolve(args, kwargs)
        return _transforms.custom_vjp(
            self.fun,
            self.fwd,
            self.bwd,
            self._name,
            name_of(self.fwd),
            name_of(self.bwd),
            self._dynamic(resolved),
            self.symbolic_zeros,
            resolved,
        )


class custom_vmap(CustomFunction[P, R]):  # noqa: N801
    """A function with a custom rule for vmap.

    Args:
      fun: takes and returns pytrees of arrays.

    Raises:
      AttributeError: at a call, if no rule was set.
      TypeError, ValueError: under vmap, if the rule returns the wrong structure or type.
    """

    _kind: str = "custom_vmap"

    vmap_rule: Callable[..., Any] | None = None

    def __init__(self, fun: Callable[P, R]) -> None:
        super().__init__(fun)

    def def_vmap(self, vmap_rule: Callable[..., Any]) -> Callable[..., Any]:
        """Sets the rule and returns it; can be used as a decorator.

        Args:
          vmap_rule: ``vmap_rule(axis_size, in_batched, *args)`` returns ``(results, out_batched)``.
            Batched arguments have the batch dimension first. ``in_batched`` is a list of pytrees of
            bools with the arguments' structures; ``out_batched`` has bools in the structure of the
            results.
        """
        check_callable(vmap_rule, "def_vmap")
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if self.vmap_rule is None:
            raise AttributeError(
                f"custom_vmap({self._name}): it has no rule; define one with {self._name}.def_vmap"
            )
        resolved = self._resolve(args, kwargs)
        return _transforms.custom_vmap(
            self.fun, self.vmap_rule, self._name, name_of(self.vmap_rule), resolved
        )


def sequential_vmap(fun: Callable[P, R]) -> custom_vmap[P, R]:
    """``fun`` with a vmap rule that loops over the batch."""
    mapped = custom_vmap(fun)

    @mapped.def_vmap
    def rule(axis_size: int, in_batched: list[Any], *args: Any) -> tuple[Any, Any]:
        del axis_size
        leaves, structure = tree.flatten(args)
        flags = tree.leaves(tuple(in_batched))
        batched = [leaf for leaf, flag in zip(leaves, flags, strict=True) if flag]

        def one(items: list[Any]) -> Any:
            rest = iter(items)
            chosen = [
                next(rest) if flag else leaf for leaf, flag in zip(leaves, flags, strict=True)
            ]
            call: Any = mapped
            return call(*structure.unflatten(chosen))

        results = _control_flow.map(one, batched)
        return results, tree.map(lambda _: True, results)

    return mapped


@dataclasses.dataclass(slots=True)
class CustomVJPPrimal:
    """What a fwd rule with symbolic_zeros=True gets instead of an array.

    ``perturbed`` is False if no derivative is taken with respect to it.
    """

    value: Any
    perturbed: bool


def custom_vjp_primal_tree_values(primals: Any) -> Any:
    """Replaces CustomVJPPrimal records by their values; raises TypeError for other leaves."""

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"expected CustomVJPPrimal leaves, got {leaf!r}")
        return leaf.value

    return tree.map(value, primals)
