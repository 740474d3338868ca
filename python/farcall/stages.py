"""The stages from a function to an executable: jit, trace, lower, compile."""

from __future__ import annotations

from typing import Any

from farcall import _core
from farcall._jit import lowered_for
from farcall._program import ArgInfo as ArgInfo

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

Wrapped = _core.JitFunction
Lowered = _core.Lowered
Compiled = _core.Compiled
CompilerOptions = dict[str, str | bool]


class Traced:
    """A function recorded for given argument types: ``jit(f).trace(...)``."""

    def __init__(self, lowered: Lowered, fun_name: str) -> None:
        self._lowered = lowered
        self.fun_name = fun_name

    @property
    def jaxpr(self) -> _core.Program:
        """The program."""
        return self._lowered.program

    program = jaxpr

    @property
    def args_info(self) -> Any:
        """An ArgInfo for each argument, in the structure (positional, keyword)."""
        return self._lowered.args_info

    @property
    def out_info(self) -> Any:
        """The types of the results, in their structure."""
        return self._lowered.out_info

    @property
    def in_avals(self) -> Any:
        """The types of the arguments, in the structure (positional, keyword)."""
        return self._lowered.in_avals

    @property
    def out_avals(self) -> Any:
        """The types of the results, in their structure."""
        return self._lowered.out_avals

    @property
    def in_tree(self) -> Any:
        """The structure of the arguments (positional, keyword)."""
        return self._lowered.in_tree

    @property
    def out_tree(self) -> Any:
        """The structure of the result."""
        return self._lowered.out_tree

    @property
    def effects(self) -> frozenset[str]:
        """The effects of the program."""
        return self._lowered.program.effects

    def lower(self, *, lowering_platforms: tuple[str, ...] | None = None) -> Lowered:
        """The program, ready to compile.

        Args:
          lowering_platforms: must be None or ``("cpu",)``.

        Raises:
          ValueError: for other platforms.
        """
        if lowering_platforms is not None and tuple(lowering_platforms) != ("cpu",):
            raise ValueError(
                f"lower: lowering_platforms must be ('cpu',), got {lowering_platforms!r}"
            )
        return self._lowered

    def __repr__(self) -> str:
        return f"Traced({self.fun_name})\n{self.jaxpr}"


def _trace(self: Wrapped, *args: Any, **kwargs: Any) -> Traced:
    """Records the function for arguments of these types: arrays or ShapeDtypeStructs."""
    return Traced(lowered_for(self, args, kwargs), getattr(self, "__name__", "function"))


_trace.__name__ = "trace"
setattr(Wrapped, "trace", _trace)  # noqa: B010
