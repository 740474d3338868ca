"""The parts of farcall.nn, farcall.ops and farcall.flatten_util that compute."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from farcall._core import Array, ShapeDtypeStruct
from numpy.typing import ArrayLike as _NumpyArrayLike
from numpy.typing import DTypeLike

ArrayLike: TypeAlias = Array | _NumpyArrayLike

def celu(x: ArrayLike, alpha: ArrayLike) -> Array: ...
def elu(x: ArrayLike, alpha: ArrayLike) -> Array: ...
def gelu(x: ArrayLike, approximate: bool) -> Array: ...
def log1mexp(x: ArrayLike) -> Array: ...
def mish(x: ArrayLike) -> Array: ...
def selu(x: ArrayLike) -> Array: ...
def silu(x: ArrayLike) -> Array: ...
def soft_sign(x: ArrayLike) -> Array: ...
def squareplus(x: ArrayLike, b: ArrayLike) -> Array: ...
def segment_sum(
    data: Any,
    segment_ids: Any,
    num_segments: int | None,
    indices_are_sorted: bool,
    unique_indices: bool,
    bucket_size: int | None,
    mode: str | None,
    /,
) -> Array: ...

segment_prod = segment_sum
segment_max = segment_sum
segment_min = segment_sum

def attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any,
    mask: Any,
    scale: float | None,
    is_causal: bool,
    query_seq_lengths: Any,
    key_value_seq_lengths: Any,
    local_window_size: tuple[int, int] | None,
) -> tuple[Array, Array]: ...
def ravel_arrays(arrays: Sequence[Any], /) -> Array: ...
def unravel_array(
    vector: Any, types: Sequence[ShapeDtypeStruct], dtype: DTypeLike | np.dtype[Any], /
) -> list[Array]: ...
def optimization_barrier(operands: Sequence[Any], /) -> list[Array]: ...
def delete_array(array: Array, /) -> None: ...
