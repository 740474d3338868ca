from typing import Any

import numpy as np

from farcall import _core

class ScalarType:
    __name__: str
    dtype: np.dtype[Any]
    def __init__(self, dtype: np.dtype[Any]) -> None: ...
    def __call__(self, x: Any = 0) -> _core.Array: ...

def make(name: str) -> ScalarType: ...

__all__ = [
    "bfloat16",
    "bool_",
    "complex64",
    "complex128",
    "float4_e2m1fn",
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float16",
    "float32",
    "float64",
    "int1",
    "int2",
    "int4",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint1",
    "uint2",
    "uint4",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

bool_: ScalarType
int1: ScalarType
int2: ScalarType
int4: ScalarType
int8: ScalarType
int16: ScalarType
int32: ScalarType
int64: ScalarType
uint1: ScalarType
uint2: ScalarType
uint4: ScalarType
uint8: ScalarType
uint16: ScalarType
uint32: ScalarType
uint64: ScalarType
float4_e2m1fn: ScalarType
float8_e3m4: ScalarType
float8_e4m3: ScalarType
float8_e4m3b11fnuz: ScalarType
float8_e4m3fn: ScalarType
float8_e4m3fnuz: ScalarType
float8_e5m2: ScalarType
float8_e5m2fnuz: ScalarType
float8_e8m0fnu: ScalarType
bfloat16: ScalarType
float16: ScalarType
float32: ScalarType
float64: ScalarType
complex64: ScalarType
complex128: ScalarType
