"""checkpoint and named calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core
from farcall._functions import arguments_by_both, check_callable, name_of


def checkpoint(
    fun: Callable[..., Any],
    *,
    prevent_cse: bool = True,
    policy: Callable[..., bool] | None = None,
    static_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """``fun``, but reverse mode runs it again in place of keeping what it computed on the way.

    Args:
      fun: takes and returns pytrees of arrays.
      prevent_cse: whether the second run is kept apart from the first one when the program is
        compiled.
      policy: what may be kept nevertheless. None: nothing but the arguments.
      static_argnums: positional arguments that stay the objects that they are.

    Raises:
      NotImplementedError: for a policy.
      TypeError: at a call, for an argument that is no array.
    """
    check_callable(fun, "checkpoint")
    name = name_of(fun)
    where = f"checkpoint({name})"
    if policy is not None:
        raise NotImplementedError(
            f"{where}: policy must be None: nothing but the arguments is kept. Leave what should "
            "be kept outside the checkpoint"
        )
    numbers, _ = arguments_by_both(fun, where, "static", static_argnums, None)

    @functools.wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        return _core.transforms.checkpoint(fun, where, name, numbers, prevent_cse, args, kwargs)

    return checkpointed


remat = checkpoint


def named_call(fun: Callable[..., Any], *, name: str | None = None) -> Callable[..., Any]:
    """``fun``, which is one operation of this name in programs that call it.

    Args:
      fun: takes and returns pytrees of arrays.
      name: its own name by default.
    """
    check_callable(fun, "named_call")
    name = name_of(fun) if name is None else name
    where = f"named_call({name})"

    @functools.wraps(fun)
    def named(*args: Any, **kwargs: Any) -> Any:
        return _core.transforms.named_call(fun, where, name, args, kwargs)

    return named
