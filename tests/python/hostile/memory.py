"""Memory from elsewhere: DLPack tensors and numpy arrays, right ones and ones that cannot be.

What lies inside the memory that a tensor claims is read; a tensor whose fields contradict one
another, or lead outside every process's memory, has to be refused. (One that merely claims more
than its owner has cannot be told from a right one.)
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np

# ---- DLPack ----


class Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


def tensor_of(capsule: Any) -> Tensor:
    """The tensor of a capsule from before DLPack 1.0."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Tensor.from_address(get(capsule, b"dltensor"))


class Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    )


DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)

# Elements are of these dtypes: (code, bits) and numpy's.
_DTYPES: list[tuple[int, int, Any]] = [
    (0, 8, np.int8), (0, 16, np.int16), (0, 32, np.int32), (0, 64, np.int64),
    (1, 8, np.uint8), (1, 64, np.uint64), (2, 16, np.float16), (2, 32, np.float32),
    (2, 64, np.float64), (4, 16, ml_dtypes.bfloat16), (5, 64, np.complex64),
    (5, 128, np.complex128), (6, 8, np.bool_),
]  # fmt: skip
_HUGE = (-1, -(2**31), 2**31 - 1, 2**40, 2**62, 2**63 - 1, -(2**63))
_MEMORY = 4096


class Producer:
    """Hands out one tensor over memory of its own, as capsules."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.memory = np.frombuffer(rng.randbytes(_MEMORY), np.uint8).copy()
        self.num_deleted = 0
        self.kept: list[Any] = []
        self.code, self.bits, self.dtype = rng.choice(_DTYPES)
        if self.dtype is np.bool_:
            self.memory &= 1
        self.raises = rng.random() < 0.1
        self.is_versioned = rng.random() < 0.5
        managed = ManagedVersioned if self.is_versioned else Managed
        self.managed: Any = managed(major=1, minor=rng.choice([0, 1, 7]), flags=rng.choice([0, 1]))
        if not self.is_versioned:
            self.managed = Managed()
        self._fill(self.managed.tensor)
        self.managed.deleter = self._deleter() if rng.random() < 0.9 else None
        name = "dltensor_versioned" if self.is_versioned else "dltensor"
        self.name = ctypes.create_string_buffer(name.encode())
        self.is_wrong = False

    def _array(self, values: list[int]) -> int:
        made = (ctypes.c_int64 * max(len(values), 1))(*values)
        self.kept.append(made)
        return ctypes.addressof(made)

    def _fill(self, tensor: Tensor) -> None:
        """A tensor whose elements all lie in the memory."""
        rng, width = self.rng, self.bits // 8
        rank = rng.randrange(5)
        self.shape = [rng.choice([0, 1, 2, 3]) for _ in range(rank)]
        base = rng.randrange(_MEMORY // 2, _MEMORY // 2 + 64)
        if rng.random() < 0.5:
            base -= (self.memory.ctypes.data + base) % 64
        tensor.byte_offset = rng.randrange(base + 1)
        tensor.data = self.memory.ctypes.data + base - tensor.byte_offset
        tensor.device_type, tensor.device_id, tensor.ndim = 1, 0, rank
        tensor.code, tensor.bits, tensor.lanes = self.code, self.bits, 1
        tensor.shape = self._array(self.shape)
        strides = None
        if rng.random() < 0.6:
            strides = [rng.randrange(-9, 10) for _ in range(rank)]
            strides = [
                0 if n == 1 and rng.random() < 0.5 else stride
                for n, stride in zip(self.shape, strides, strict=True)
            ]
            tensor.strides = self._array(strides)
        bytes_ = None if strides is None else [s * width for s in strides]
        flat = (
            np.ndarray(
                tuple(self.shape),
                self.dtype,
                self.memory.data,
                base,
                None if bytes_ is None else bytes_,
            )
            if bytes_ is None or min([0, *bytes_]) >= 0
            else None
        )
        if flat is None:
            whole = self.memory[base:].view(np.uint8)
            first = whole[:width].view(self.dtype)
            flat = np.lib.stride_tricks.as_strided(first, self.shape, bytes_)
        self.wanted = flat.reshape(self.shape).copy()

    def _deleter(self) -> int:
        def delete(_: Any) -> None:
            self.num_deleted += 1
            if self.raises:
                raise ValueError("the deleter fails")

        made = DELETER(delete)
        self.kept.append(made)
        return ctypes.cast(made, ctypes.c_void_p).value or 0

    def spoil(self) -> str:
        """Makes one field impossible; which."""
        tensor, rng = self.managed.tensor, self.rng
        self.is_wrong = True
        full = [max(n, 1) for n in self.shape] or [1]
        tensor.ndim, tensor.shape, tensor.strides = len(full), self._array(full), None

        def rank() -> None:
            tensor.ndim = rng.choice([-1, -(2**31), 33, 2**31 - 1])

        def no_shape() -> None:
            tensor.shape = None

        def size() -> None:
            tensor.shape = self._array([rng.choice([-1, -(2**31), -(2**63)]), *full[1:]])

        def sizes() -> None:
            tensor.ndim = 2
            tensor.shape = self._array([2**40, 2**40])

        def strides() -> None:
            tensor.ndim = 2
            tensor.shape = self._array([2, 3])
            wrong = rng.choice([2**62, 2**63 - 1, -(2**63), -(2**62), 2**61 + 7])
            tensor.strides = self._array([wrong, 1] if rng.random() < 0.5 else [1, wrong])

        def offset() -> None:
            tensor.byte_offset = rng.choice([2**63, 2**64 - 1, 2**63 - 1])

        def data() -> None:
            tensor.data, tensor.byte_offset = None, 0

        def lanes() -> None:
            tensor.lanes = rng.choice([0, 2, 65535])

        def dtype() -> None:
            tensor.code, tensor.bits = rng.choice(
                [(255, 4), (255, 0), (3, 64), (0, 4), (2, 7), (9, 9)]
            )

        def device() -> None:
            tensor.device_type = rng.choice([2, 0, -1, 2**31 - 1])

        spoilers = [rank, no_shape, size, sizes, strides, offset, data, lanes, dtype, device]
        chosen = rng.choice(spoilers)
        if self.is_versioned and rng.random() < 0.1:
            self.managed.major = rng.choice([0, 2, 2**32 - 1])
            return "version"
        chosen()
        return chosen.__name__

    def __dlpack__(self, **_: Any) -> Any:
        return _new_capsule(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _same(got: Any, wanted: np.ndarray) -> bool:
    found = np.asarray(got)
    return found.shape == wanted.shape and found.tobytes() == wanted.tobytes()


def _right_tensor(rng: random.Random) -> None:
    producer = Producer(rng)
    take = rng.choice([fnp.from_dlpack, lambda x: fnp.from_dlpack(x, copy=True)])
    got = take(producer)
    assert _same(got, producer.wanted), (got, producer.wanted)
    assert producer.num_deleted == 0
    assert _same(fc.jit(lambda x: x)(got), producer.wanted)
    del got
    assert producer.num_deleted <= 1


def _wrong_tensor(rng: random.Random) -> None:
    producer = Producer(rng)
    which = producer.spoil()
    try:
        got = rng.choice([fnp.from_dlpack, fnp.asarray, fc.jit(lambda x: x)])(producer)
    except (ValueError, TypeError):
        assert producer.num_deleted == 0  # the capsule has still got it
    else:
        raise AssertionError(f"a wrong {which} gave {got.shape} {got.dtype}")


class Returns:
    """``__dlpack__`` gives this."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __dlpack__(self, **_: Any) -> Any:
        return self.value


def _wrong_capsule(rng: random.Random) -> None:
    producer = Producer(rng)
    name = rng.choice([b"used_dltensor", b"used_dltensor_versioned", b"", b"other", None])
    value = rng.choice(
        [
            _new_capsule(ctypes.addressof(producer.managed), name, None),
            None,
            3,
            "dltensor",
            producer,
        ]
    )
    producer.kept.append(name)
    try:
        fnp.from_dlpack(Returns(value))
    except (ValueError, TypeError):
        return
    raise AssertionError(f"took {value!r}")


def _capsule_twice(rng: random.Random) -> None:
    producer = Producer(rng)
    capsule = producer.__dlpack__()
    kept = []
    for _ in range(3):
        try:
            kept.append(fnp.from_dlpack(Returns(capsule)))
        except TypeError:
            assert kept
    assert all(_same(got, producer.wanted) for got in kept)
    kept.clear()
    assert producer.num_deleted <= 1


def _exported(rng: random.Random) -> None:
    x = fnp.asarray(np.frombuffer(rng.randbytes(24), np.uint8)).reshape(rng.choice([24, (2, 12)]))
    versions = [None, (1, 0), (0, 8), (2**62, 0), (-1, 0), (2**70, 1), "ab", (1,), 3, [1, 0]]
    options = {"max_version": rng.choice(versions)}
    if rng.random() < 0.5:
        options["dl_device"] = rng.choice(
            [None, (1, 0), (2, 0), (1, 1), "cpu", 3, (1,), (2**40, 0)]
        )
    if rng.random() < 0.3:
        options["copy"] = rng.choice([True, False, None, "yes"])
    if rng.random() < 0.2:
        options["stream"] = rng.choice([None, 1, "a"])
    capsule = x.__dlpack__(**options)
    assert _same(fnp.from_dlpack(Returns(capsule)), np.asarray(x))


# ---- numpy ----

_NUMPY = [
    "?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "F", "D", ">i4", ">f8", ">u2", ">F",
    ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float8_e4m3fn,
]  # fmt: skip


def _numpy_array(rng: random.Random) -> np.ndarray:
    dtype = np.dtype(rng.choice(_NUMPY))
    shape = [rng.randrange(4) for _ in range(rng.choice([0, 1, 2, 3, 5]))]
    values = np.random.default_rng(rng.getrandbits(32)).integers(0, 8, shape)
    value = values.astype(dtype.newbyteorder("=")).astype(dtype)
    for _ in range(rng.randrange(4)):
        what = rng.randrange(6)
        if what == 0:
            value = value.T
        elif what == 1 and value.ndim:
            value = value[:: rng.choice([-1, 2, -2])]
        elif what == 2:
            value = np.broadcast_to(value, (2, *value.shape))
        elif what == 3:
            whole = np.zeros(value.nbytes + 1, np.uint8)
            moved = whole[1:].view(value.dtype) if value.dtype.itemsize else None
            moved = moved.reshape(value.shape) if moved is not None and value.nbytes else None
            if moved is not None:
                moved[...] = value
                value = moved
        elif what == 4:
            value = value.view(
                rng.choice([np.ndarray, np.recarray, type("Own", (np.ndarray,), {})])
            )
        elif value.flags.writeable:
            value = value.view()
            value.flags.writeable = False
    return value


class Holds:
    def __init__(self, value: np.ndarray, way: str) -> None:
        self.value = value
        if way == "__array_interface__":
            self.__array_interface__ = value.__array_interface__
        else:
            type(self).__array__ = lambda self, *_, **__: self.value


def _numpy_input(rng: random.Random) -> None:
    value = _numpy_array(rng)
    take: Callable[[Any], Any] = rng.choice(
        [fnp.asarray, fnp.array, fc.jit(lambda x: x), fc.device_put, lambda x: fnp.stack([x])[0]]
    )
    given = value if rng.random() < 0.7 else type("Given", (Holds,), {})(value, "__array__")
    got = take(given)
    wanted = np.asarray(value).astype(got.dtype)
    assert _same(got, wanted), (got, wanted)


def _lying_interface(rng: random.Random) -> None:
    value = np.arange(6, dtype=np.float32)
    interface = dict(value.__array_interface__)
    interface["data"] = value.data
    wrong = {
        "shape": [(-1,), "ab", None, (2**62, 4), (7,), (2**70,), 3],
        "typestr": ["", "<f", "<x9", 3, None, "|O8", "\ud800", ">f4"],
        "strides": [(2**62,), (-4,), "ab", (1, 2), 3],
        "version": ["3", None, -1],
        "data": [None, 3.5, "ab", (None, None), b"", b"abcd"],
        "offset": [-1, 2**62, "a", 21],
    }
    key = rng.choice(list(wrong))
    interface[key] = rng.choice(wrong[key])
    liar = type("Liar", (), {"__array_interface__": interface})()
    rng.choice([fnp.asarray, fnp.sin, fc.jit(lambda x: x + 1)])(liar)


CASES = {
    "right tensor": _right_tensor,
    "wrong tensor": _wrong_tensor,
    "wrong capsule": _wrong_capsule,
    "capsule taken twice": _capsule_twice,
    "exported": _exported,
    "numpy input": _numpy_input,
    "lying interface": _lying_interface,
}


class Call(NamedTuple):
    case: str
    seed: str

    def __str__(self) -> str:
        return f"{self.case}(seed {self.seed!r})"


def plan(seed: int, index: int) -> Call:
    """The call of this number."""
    return Call(random.Random(f"{seed} {index}").choice(list(CASES)), f"{seed}/{index}")


def run(call: Call) -> None:
    """Makes the call."""
    CASES[call.case](random.Random(call.seed))
