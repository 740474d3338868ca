"""Arguments: hostile ones, and ones that would do, by the name of the parameter."""

from __future__ import annotations

import collections
import enum
import functools
import random
import sys
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np


class HostileError(Exception):
    """What hostile objects raise."""


class BadTextError(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise HostileError("no text")

    __repr__ = __str__


def _raise(*_: Any, **__: Any) -> Any:
    raise HostileError("hostile")


def _raising(name: str) -> Any:
    """An object whose method of this name raises."""
    return type(f"Raises{name.strip('_').title()}", (), {name: _raise})()


def _words(text: str) -> list[str]:
    return text.split()


RAISING = _words(
    "__array__ __len__ __index__ __bool__ __float__ __int__ __complex__ __iter__ __getitem__ "
    "__eq__ __hash__ __lt__ __repr__ __str__ __call__ __dlpack__ __jax_array__ __array_interface__ "
    "__fspath__ __contains__ __array_ufunc__ __array_function__"
)


class RaisesEverywhere:
    def __getattribute__(self, name: str) -> Any:
        raise HostileError(name)


class RaisesShape:
    dtype = np.dtype("float32")
    shape = property(_raise)


class RaisesDtype:
    shape = (2,)
    dtype = property(_raise)


class BadText:
    def __repr__(self) -> str:
        return "\ud800"


class TextIsNoText:
    def __repr__(self) -> Any:
        return 3


class RaisesBadText:
    def __index__(self) -> int:
        raise BadTextError

    __len__ = __bool__ = __float__ = __array__ = __iter__ = __index__


class LyingLength(list):
    def __len__(self) -> int:
        return 10**9


class NegativeLength:
    def __len__(self) -> int:
        return -1

    def __getitem__(self, at: int) -> int:
        return at


class HugeLength:
    def __len__(self) -> int:
        return sys.maxsize

    def __getitem__(self, at: int) -> int:
        raise IndexError


class Endless:
    """Claims to be short."""

    def __len__(self) -> int:
        return 2

    def __iter__(self) -> Any:
        return iter(range(1000))


class ShrinksWhileRead(list):
    def __iter__(self) -> Any:
        while self:
            yield self.pop()


class Describes:
    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype, self.ndim = shape, dtype, 2


class ArrayOf:
    """``__array__`` gives this."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array__(self, *_: Any, **__: Any) -> Any:
        return self.value


class Indexes:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __index__(self) -> Any:
        return self.value

    __float__ = __bool__ = __len__ = __index__


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyStr(str):
    __slots__ = ()


class MyTuple(tuple):
    __slots__ = ()


class MyArray(np.ndarray):
    shape = property(lambda self: "shape")
    dtype = property(lambda self: None)


class Colour(enum.IntEnum):
    RED = 1


Point = collections.namedtuple("Point", "x y")


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def _circular() -> Any:
    value: list[Any] = []
    value.append(value)
    return value


def _circular_dict() -> Any:
    value: dict[str, Any] = {}
    value["a"] = value
    return value


def _leaked() -> Any:
    kept = []
    fc.jit(lambda x: kept.append(x) or x)(np.ones(3, np.float32))
    return kept[0]


def _donated() -> Any:
    x = fnp.ones(3) + 1
    fc.jit(lambda x: x + 1, donate_argnums=0)(x)
    return x


def _closed_buffer() -> Any:
    kept = []
    x = np.ones(3, np.float32)
    callback = fc.buffer_callback(lambda _, out, x: kept.append(out), x)
    callback(x)
    return kept[0]


def _byte_offset(dtype: Any) -> Any:
    return np.frombuffer(bytes(33), np.uint8)[1:].view(dtype)


HUGE = (
    2**31 - 1,
    2**31,
    -(2**31),
    2**40,
    -(2**40),
    2**62,
    2**63 - 1,
    -(2**63),
    2**63,
    2**64,
    10**30,
)

# Makers, because many of these are used up.
HOSTILE: dict[str, Callable[[], Any]] = {
    **{repr(n): functools.partial(int, n) for n in (0, 1, 2, 3, 7, -1, -2, -7, 17, 33, *HUGE)},
    **{
        repr(x): functools.partial(float, x)
        for x in (
            0.0,
            -0.0,
            0.5,
            1.0,
            -1.5,
            1e308,
            1e-320,
            float("nan"),
            float("inf"),
            -float("inf"),
        )
    },
    "1j": lambda: 1j,
    "None": lambda: None,
    "True": lambda: True,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "()": tuple,
    "[]": list,
    "{}": dict,
    "set()": set,
    "{1}": lambda: {1},
    "(0,)": lambda: (0,),
    "(-1,)": lambda: (-1,),
    "(0, 0)": lambda: (0, 0),
    "(1, 2)": lambda: (1, 2),
    "(5, -6)": lambda: (5, -6),
    "[1.5]": lambda: [1.5],
    "[None]": lambda: [None],
    "[[1], [2, 3]]": lambda: [[1], [2, 3]],
    "((1, 2), 3)": lambda: ((1, 2), 3),
    "((0, 1), (1, 0))": lambda: ((0, 1), (1, 0)),
    "(2**40, 2**40)": lambda: (2**40, 2**40),
    "(2**62, 0)": lambda: (2**62, 0),
    "(0, 2**63-1)": lambda: (0, 2**63 - 1),
    "(1,)*17": lambda: (1,) * 17,
    "(1,)*65": lambda: (1,) * 65,
    "range(3)": lambda: range(3),
    "range(2**70)": lambda: range(2**70),
    "iter": lambda: iter([1, 2]),
    "generator that raises": lambda: (_raise() for _ in range(2)),
    "slice": lambda: slice(None, None, -1),
    "slice of text": lambda: slice("a", None, 0),
    "''": str,
    "text": lambda: "abc",
    "text of a number": lambda: "3",
    "NUL": lambda: "a\0b",
    "surrogate": lambda: "\ud800",
    "long text": lambda: "x" * 100_000,
    "einsum": lambda: "ij,jk->ik",
    "float32": lambda: "float32",
    "bytes": lambda: b"\xff\0",
    "bytearray": lambda: bytearray(3),
    "memoryview": lambda: memoryview(b"abc"),
    "object": object,
    "class": lambda: int,
    "module": lambda: sys,
    "lambda": lambda: lambda *args, **kwargs: args[0] if args else None,
    "lambda that raises": lambda: _raise,
    "lambda of nothing": lambda: lambda: None,
    "lambda of text": lambda: lambda *_, **__: "text",
    "print": lambda: len,
    "partial": lambda: functools.partial(_raise),
    "numpy function": lambda: np.sin,
    "exception": lambda: BadTextError(),
    "farcall function": lambda: fnp.sin,
    "jitted": lambda: fc.jit(lambda x: x),
    "nan array": lambda: np.array([np.nan, np.inf, -np.inf], np.float32),
    "0-d": lambda: np.array(2.5),
    "0-d int": lambda: np.array(1),
    "empty": lambda: np.zeros(0, np.float32),
    "zero-size": lambda: np.zeros((3, 0, 2)),
    "matrix": lambda: np.arange(6.0).reshape(2, 3),
    "square": lambda: np.arange(9, dtype=np.float32).reshape(3, 3),
    "ints": lambda: np.array([3, -1, 2**31 - 1], np.int32),
    "large ints": lambda: np.array([2**63 - 1, -(2**63), 0]),
    "uint64": lambda: np.array([2**64 - 1], np.uint64),
    "int4": lambda: np.array([1, -8], ml_dtypes.int4),
    "float8": lambda: np.array([1, -8], ml_dtypes.float8_e4m3fn),
    "bfloat16": lambda: np.ones((2, 2), ml_dtypes.bfloat16),
    "bools": lambda: np.array([True, False]),
    "odd bools": lambda: np.array([2, 255, 0], np.uint8).view(bool),
    "complex": lambda: np.array([1j, np.nan], np.complex64),
    "big-endian": lambda: np.arange(3, dtype=">f4"),
    "big-endian ints": lambda: np.arange(3, dtype=">i8"),
    "strided": lambda: np.arange(12.0, dtype=np.float32)[::-3],
    "transposed": lambda: np.arange(6.0).reshape(2, 3).T,
    "broadcast": lambda: np.broadcast_to(np.float32(1), (4, 5)),
    "broadcast, huge": lambda: np.broadcast_to(np.float32(1), (2**40,)),
    "unaligned": lambda: _byte_offset(np.float32),
    "objects": lambda: np.array([object(), None]),
    "strings": lambda: np.array(["a", "bc"]),
    "bytes array": lambda: np.array([b"a", b"bc"]),
    "datetimes": lambda: np.array(["2020-01-01"], "M8[D]"),
    "structured": lambda: np.zeros(2, [("a", "f4"), ("b", "i8")]),
    "void": lambda: np.zeros(2, "V3"),
    "float0": lambda: np.zeros(3, fc.dtypes.float0),
    "longdouble": lambda: np.ones(2, np.longdouble),
    "many dimensions": lambda: np.ones((1,) * 33),
    "masked": lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
    "np.matrix": lambda: np.asmatrix([[1.0, 2.0]]),
    "subclass": lambda: np.zeros((2, 2)).view(MyArray),
    "np.float64": lambda: np.float64(1.5),
    "np.bool": lambda: np.True_,
    "np.str": lambda: np.str_("a"),
    "dtype": lambda: np.dtype("float16"),
    "dtype object": lambda: np.dtype(object),
    "dtype big-endian": lambda: np.dtype(">f4"),
    "unknown dtype": lambda: "float33",
    "Array": lambda: fnp.ones((2, 3)),
    "Array scalar": lambda: fnp.array(1.0),
    "Array int": lambda: fnp.arange(4),
    "Array bool": lambda: fnp.array([True, False, True]),
    "Array empty": lambda: fnp.zeros((0, 3)),
    "Array complex": lambda: fnp.array([1j, 2.0]),
    "Array uint8": lambda: fnp.array([1, 255], "uint8"),
    "Array bfloat16": lambda: fnp.ones((2, 2), "bfloat16"),
    "Array float16": lambda: fnp.ones(3, "float16"),
    "Array float64": lambda: fnp.ones((2, 2), "float64"),
    "token": lambda: fc.lax.create_token(),
    "leaked": _leaked,
    "donated": _donated,
    "closed buffer": _closed_buffer,
    "struct": lambda: fc.ShapeDtypeStruct((2, 3), "float32"),
    "lying struct": lambda: Describes("ab", 3),
    "huge struct": lambda: Describes((2**40, 2**40), "float32"),
    "negative struct": lambda: Describes((-1,), "float32"),
    "array of text": lambda: ArrayOf("text"),
    "array of objects": lambda: ArrayOf(np.array([None])),
    "array of itself": lambda: ArrayOf(ArrayOf(3)),
    "index of text": lambda: Indexes("text"),
    "index of huge": lambda: Indexes(2**70),
    "index": lambda: Indexes(1),
    "circular list": _circular,
    "circular dict": _circular_dict,
    "nested 2000": lambda: _nested(2000),
    "nested 100000": lambda: _nested(100_000),
    "mixed keys": lambda: {1: 0.0, "a": 1.0},
    "surrogate key": lambda: {"\ud800": 1.0},
    "tree": lambda: {"a": np.ones(2, np.float32), "b": [1.0, (2, None)]},
    "namedtuple": lambda: Point(1.0, 2.0),
    "int subclass": lambda: MyInt(1),
    "float subclass": lambda: MyFloat(1.5),
    "str subclass": lambda: MyStr("sum"),
    "tuple subclass": lambda: MyTuple((1, 2)),
    "enum": lambda: Colour.RED,
    "treedef": lambda: fc.tree.structure([1, (2,)]),
    "program": lambda: fc.make_program(fnp.sin)(1.0),
    "RaisesEverywhere": RaisesEverywhere,
    "RaisesShape": RaisesShape,
    "RaisesDtype": RaisesDtype,
    "RaisesBadText": RaisesBadText,
    "BadText": BadText,
    "TextIsNoText": TextIsNoText,
    "LyingLength": lambda: LyingLength([1]),
    "NegativeLength": NegativeLength,
    "HugeLength": HugeLength,
    "Endless": Endless,
    "ShrinksWhileRead": lambda: ShrinksWhileRead([1, 2, 3, 4]),
    **{f"raises in {name}": functools.partial(_raising, name) for name in RAISING},
}

# Stands for a traced array where a call runs inside a transformation.
TRACED = "traced"

_ARRAYS = [
    "Array", "Array scalar", "Array int", "Array bool", "square", "matrix", "ints", "1", "0.5",
    "Array complex", "Array bfloat16", "zero-size", "bools", TRACED,
]  # fmt: skip
_FUNCTIONS: dict[str, Callable[[], Any]] = {
    "sum of sin": lambda: lambda *args: fnp.sum(fnp.sin(args[0])),
    "first": lambda: lambda *args: args[0],
    "add": lambda: lambda *args: args[0] + args[-1],
    "pair": lambda: lambda *args: (args[0], args[-1]),
}
FITTING: dict[str, Callable[[], Any]] = {
    **_FUNCTIONS,
    "'sum'": lambda: "sum",
    "'constant'": lambda: "constant",
    "'a name'": lambda: "a name",
    "'int32'": lambda: "int32",
    "'complex64'": lambda: "complex64",
    "(2, 3)": lambda: (2, 3),
    "(3, 3)": lambda: (3, 3),
    "[Array, Array]": lambda: [fnp.ones((2, 3)), fnp.ones((2, 3))],
    "key": lambda: fc.random.key(0) if hasattr(fc, "random") else np.zeros(2, np.uint32),
    **{name: HOSTILE[name] for name in (
        "0", "1", "2", "-1", "None", "True", "(0,)", "(1, 2)", "float32", "dtype", "einsum",
        "[]", "tree", "treedef", "struct", "lambda", "((0, 1), (1, 0))",
    )},
}  # fmt: skip

_SIZES = ["(2, 3)", "(3, 3)", "1", "2", "(0,)"]
_INTEGERS = ["0", "1", "2", "-1"]
# The values that would do, by the names of parameters.
_BY_NAMES: list[tuple[str, list[str]]] = [
    (
        "axis axes axis1 axis2 dimension dimensions dim source destination start_axis",
        ["0", "1", "-1", "None", "(0,)"],
    ),
    ("shape newshape new_sizes sizes s reps window_dimensions", _SIZES),
    (
        "dtype new_dtype index_dtype preferred_element_type",
        ["float32", "'int32'", "None", "dtype", "'complex64'"],
    ),
    ("f fun func function body_fun cond_fun callback fn pyfunc", list(_FUNCTIONS)),
    ("n N M k num repeats order length size shift offset ord deg p", _INTEGERS),
    (
        "mode method kind side vmap_method name padding",
        ["'sum'", "'constant'", "'a name'", "None"],
    ),
    ("subscripts", ["einsum"]),
    ("key", ["key"]),
    ("seed", ["0", "1"]),
    ("tree", ["tree"]),
    ("treedef", ["treedef"]),
    ("operands arrays", ["[Array, Array]"]),
    ("pad_width", ["1", "(1, 2)", "((0, 1), (1, 0))"]),
    ("keepdims", ["True"]),
]
_BY_NAME = {name: values for names, values in _BY_NAMES for name in _words(names)}

HOSTILE_NAMES = list(HOSTILE)


def fitting_names(parameter: str) -> list[str]:
    return _BY_NAME.get(parameter, _ARRAYS)


def make(name: str) -> Any:
    """The value of this name, made anew."""
    return (HOSTILE.get(name) or FITTING[name])()


def choose(rng: random.Random, parameter: str, hostility: float) -> str:
    """The name of a value for a parameter."""
    if rng.random() < hostility:
        return TRACED if rng.random() < 0.05 else rng.choice(HOSTILE_NAMES)
    return rng.choice(fitting_names(parameter))
