"""The core of farcall.vmap and so on; `where` is the called function, for error messages."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from farcall._core import Array, Program, PyTreeDef, ShapeDtypeStruct

float0: np.dtype[Any]

class SymbolicZero:
    """A tangent or cotangent known to be zero."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def aval(self) -> ShapeDtypeStruct: ...

class LinearFunction:
    """The derivative of a function at a point, from linearize."""

    def __call__(self, *tangents: Any) -> Any: ...
    def _flatten(self) -> tuple[list[Any], Any]: ...
    @staticmethod
    def _unflatten(structure: Any, values: Iterable[Any], /) -> LinearFunction: ...

class PullbackFunction:
    """The derivative of a function at a point, from vjp."""

    def __call__(self, cotangent: Any) -> tuple[Any, ...]: ...
    def _flatten(self) -> tuple[list[Any], Any]: ...
    @staticmethod
    def _unflatten(structure: Any, values: Iterable[Any], /) -> PullbackFunction: ...

class TransposedFunction:
    """The transpose of a linear function."""

    def __call__(self, cotangent: Any) -> tuple[Any, ...]: ...

def zero_from_primal(
    val: Any, symbolic_zeros: bool = False
) -> Array | SymbolicZero | np.ndarray[Any, Any]: ...
def vmap(
    function: Callable[..., Any],
    where: str,
    in_axes: Any,
    out_axes: Any,
    axis_name: str,
    axis_size: int | None,
    spmd_axis_names: list[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any: ...
def jvp(
    function: Callable[..., Any], where: str, primals: Any, tangents: Any, has_aux: bool
) -> Any: ...
def vjp(
    function: Callable[..., Any], where: str, primals: tuple[Any, ...], has_aux: bool, /
) -> Any: ...
def linearize(
    function: Callable[..., Any], where: str, primals: tuple[Any, ...], has_aux: bool, /
) -> Any: ...
def linear_transpose(
    function: Callable[..., Any], where: str, primals: tuple[Any, ...], /
) -> TransposedFunction: ...
def value_and_grad(
    function: Callable[..., Any],
    where: str,
    argnums: Sequence[int],
    is_single: bool,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    /,
) -> tuple[Any, ...]: ...
def jacobian(
    is_forward: bool,
    function: Callable[..., Any],
    where: str,
    argnums: Sequence[int],
    is_single: bool,
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    /,
) -> Any: ...
def checkpoint(
    function: Callable[..., Any],
    where: str,
    name: str,
    static_argnums: Sequence[int],
    prevent_cse: bool,
    policy: str,
    names: Sequence[str],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    /,
) -> Any: ...
def save_from_both(
    first: tuple[str, Sequence[str]], second: tuple[str, Sequence[str]], /
) -> tuple[str, list[str]]: ...
def checkpoint_name(x: Any, name: str, /) -> Any: ...
def named_call(
    function: Callable[..., Any],
    where: str,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    /,
) -> Any: ...
def custom_jvp(
    function: Callable[..., Any],
    rule: Callable[..., Any],
    name: str,
    rule_name: str,
    dynamic: Sequence[int],
    symbolic_zeros: bool,
    args: tuple[Any, ...],
    /,
) -> Any: ...
def custom_vjp(
    function: Callable[..., Any],
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    name: str,
    forward_name: str,
    backward_name: str,
    dynamic: Sequence[int],
    symbolic_zeros: bool,
    args: tuple[Any, ...],
    /,
) -> Any: ...
def custom_vmap(
    function: Callable[..., Any],
    rule: Callable[..., Any],
    name: str,
    rule_name: str,
    args: tuple[Any, ...],
    /,
) -> Any: ...
def trace_closure(
    function: Callable[..., Any], where: str, name: str, args: tuple[Any, ...], /
) -> tuple[Program, PyTreeDef, list[Array]]: ...
def enter_compile_time_eval() -> None: ...
def leave_compile_time_eval() -> None: ...
