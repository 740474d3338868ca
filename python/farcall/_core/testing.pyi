"""The core of farcall.testing; `where` is the called check, for error messages."""

from collections.abc import Callable, Sequence
from typing import Any

def check_derivatives(
    function: Callable[..., Any],
    where: str,
    args: tuple[Any, ...],
    attributes: dict[str, Any],
    order: int,
    modes: str | Sequence[str],
    atol: float | None,
    rtol: float | None,
    eps: float | None,
) -> None: ...
def check_batching(
    function: Callable[..., Any],
    where: str,
    args: tuple[Any, ...],
    attributes: dict[str, Any],
    in_axes: Sequence[int | None] | None,
    sizes: Sequence[int],
    atol: float | None,
    rtol: float | None,
) -> None: ...
