"""checkpoint and its policies; names of calls and scopes."""

from __future__ import annotations

import contextlib
import dataclasses
import types
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall import tree as _tree
from farcall._functions import P, R, arguments_by_both, check_callable, name_of, wraps


@dataclasses.dataclass(frozen=True)
class SavePolicy:
    """The intermediate values of a checkpoint that reverse mode keeps, besides its arguments."""

    name: str
    names: tuple[str, ...] = ()


def _save_only_these_names(*names: str) -> SavePolicy:
    """Keeps values that checkpoint_name gave one of these names."""
    return SavePolicy("save_only_these_names", names)


def _save_any_names_but_these(*names: str) -> SavePolicy:
    """Keeps values that checkpoint_name gave any other name."""
    return SavePolicy("save_any_names_but_these", names)


def _save_anything_except_these_names(*names: str) -> SavePolicy:
    """Keeps all values except those that checkpoint_name gave one of these names."""
    return SavePolicy("save_anything_except_these_names", names)


def _save_from_both_policies(policy_1: SavePolicy, policy_2: SavePolicy) -> SavePolicy:
    """Keeps what either policy keeps."""
    for name, policy in (("policy_1", policy_1), ("policy_2", policy_2)):
        if not isinstance(policy, SavePolicy):
            raise TypeError(
                f"save_from_both_policies: {name} must be one of farcall.checkpoint_policies, for "
                f"instance checkpoint_policies.dots_saveable; got {policy!r}"
            )
    parts = ((each.name, each.names) for each in (policy_1, policy_2))
    name, names = _core.transforms.save_from_both(*parts)
    return SavePolicy(name, tuple(names))


_dots = SavePolicy("dots_saveable")
_dots_without_batch = SavePolicy("dots_with_no_batch_dims_saveable")

# Policies for checkpoint. They apply to the operations of a function and of jitted functions that
# it calls; loops and branches without effects are always recomputed as a whole.
checkpoint_policies: types.SimpleNamespace = types.SimpleNamespace(
    nothing_saveable=SavePolicy("nothing_saveable"),
    everything_saveable=SavePolicy("everything_saveable"),
    dots_saveable=_dots,
    checkpoint_dots=_dots,
    dots_with_no_batch_dims_saveable=_dots_without_batch,
    checkpoint_dots_with_no_batch_dims=_dots_without_batch,
    save_only_these_names=_save_only_these_names,
    save_any_names_but_these=_save_any_names_but_these,
    save_anything_except_these_names=_save_anything_except_these_names,
    save_from_both_policies=_save_from_both_policies,
)


def checkpoint_name(x: Any, name: str) -> Any:
    """Names the arrays of the pytree ``x`` for policies of checkpoint; returns ``x``."""
    return _tree.map(lambda leaf: _core.transforms.checkpoint_name(leaf, name), x)


def checkpoint(
    fun: Callable[P, R],
    *,
    prevent_cse: bool = True,
    policy: SavePolicy | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[P, R]:
    """``fun``, but reverse mode recomputes its intermediate values instead of keeping them.

    Results of calls with effects are kept, so that no effect happens twice.

    Args:
      fun: takes and returns pytrees of arrays.
      prevent_cse: whether the compiler must keep the recomputation separate from the first run.
      policy: one of ``checkpoint_policies``: which values to keep nevertheless. None: no value.
      static_argnums: positional arguments that are passed as Python objects, not as arrays.

    Raises:
      TypeError: for a policy that is not one of ``checkpoint_policies``; at a call, for an argument
        that is not an array.
    """
    check_callable(fun, "checkpoint")
    name = name_of(fun)
    where = f"checkpoint({name})"
    if policy is None:
        policy = checkpoint_policies.nothing_saveable
    if not isinstance(policy, SavePolicy):
        raise TypeError(
            f"{where}: policy must be None or one of farcall.checkpoint_policies, for instance "
            f"checkpoint_policies.dots_saveable; got {policy!r}"
        )
    numbers, _ = arguments_by_both(fun, where, "static", static_argnums, None)

    options = (where, name, numbers, prevent_cse, policy.name, policy.names)

    @wraps(fun)
    def checkpointed(*args: P.args, **kwargs: P.kwargs) -> R:
        return _core.transforms.checkpoint(fun, *options, args, kwargs)

    return checkpointed


remat = checkpoint


def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """``fun`` as a single operation of this name in programs that call it.

    Args:
      fun: takes and returns pytrees of arrays.
      name: the name; by default that of ``fun``.
    """
    check_callable(fun, "named_call")
    name = name_of(fun) if name is None else name
    where = f"named_call({name})"

    @wraps(fun)
    def named(*args: P.args, **kwargs: P.kwargs) -> R:
        return _core.transforms.named_call(fun, where, name, args, kwargs)

    return named


class named_scope(contextlib.ContextDecorator):  # noqa: N801
    """Prefixes the function names in the locations of a program.

    A context manager or a decorator; scopes nest: ``outer/inner/function``.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"named_scope: the name must be a str, got {name!r}")
        self.name = name

    def __enter__(self) -> None:
        _core.push_scope(self.name)

    def __exit__(self, *_: object) -> None:
        _core.pop_scope()
