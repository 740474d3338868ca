from typing import Any, Literal, overload

import numpy as np

names: tuple[str, ...]

bool_: np.dtype[Any]
float0: np.dtype[Any]
int1: np.dtype[Any]
int2: np.dtype[Any]
int4: np.dtype[Any]
int8: np.dtype[Any]
int16: np.dtype[Any]
int32: np.dtype[Any]
int64: np.dtype[Any]
uint1: np.dtype[Any]
uint2: np.dtype[Any]
uint4: np.dtype[Any]
uint8: np.dtype[Any]
uint16: np.dtype[Any]
uint32: np.dtype[Any]
uint64: np.dtype[Any]
float4_e2m1fn: np.dtype[Any]
float8_e3m4: np.dtype[Any]
float8_e4m3: np.dtype[Any]
float8_e4m3b11fnuz: np.dtype[Any]
float8_e4m3fn: np.dtype[Any]
float8_e4m3fnuz: np.dtype[Any]
float8_e5m2: np.dtype[Any]
float8_e5m2fnuz: np.dtype[Any]
float8_e8m0fnu: np.dtype[Any]
bfloat16: np.dtype[Any]
float16: np.dtype[Any]
float32: np.dtype[Any]
float64: np.dtype[Any]
complex64: np.dtype[Any]
complex128: np.dtype[Any]

class extended(np.generic): ...  # noqa: N801
class prng_key(extended): ...  # noqa: N801

def issubdtype(arg1: Any, arg2: Any) -> bool: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[False] = False) -> np.dtype[Any]: ...
@overload
def result_type(*args: Any, return_weak_type_flag: Literal[True]) -> tuple[np.dtype[Any], bool]: ...
def canonicalize_dtype(dtype: Any, allow_extended_dtype: bool = False) -> Any: ...
def scalar_type_of(x: Any) -> type: ...
def itemsize_bits(dtype: Any) -> int: ...

class TypePromotionError(ValueError): ...

finfo: Any
iinfo: Any
