"""Arrays and the memory of numpy and JAX: shared where that can be done, else copied."""

from __future__ import annotations

import ctypes
import gc
import struct
import weakref
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from hostile.memory import tensor_of

DTYPES = fc.dtypes.names


def dtype_of(name: str) -> np.dtype:
    return getattr(fc.dtypes, "bool_" if name == "bool" else name)


def aligned(size: int, dtype: str = "float32", offset: int = 0) -> np.ndarray:
    """A numpy array that begins ``offset`` bytes after a multiple of 64."""
    width = np.dtype(dtype).itemsize
    memory = np.zeros(size * width + 128, np.uint8)
    begin = -memory.ctypes.data % 64 + offset
    return memory[begin : begin + size * width].view(dtype)


def test_every_dtype_of_the_interface_is_there():
    expected = {"bool", "float16", "bfloat16", "float32", "float64", "complex64", "complex128"}
    expected |= {f"{sign}int{bits}" for sign in ("", "u") for bits in (1, 2, 4, 8, 16, 32, 64)}
    expected |= {
        "float4_e2m1fn",
        "float8_e3m4",
        "float8_e4m3",
        "float8_e4m3b11fnuz",
        "float8_e4m3fn",
    }
    expected |= {"float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"}
    missing = {name for name in expected - set(DTYPES) if not hasattr(ml_dtypes, name)}
    assert set(DTYPES) == expected - missing


@pytest.mark.parametrize("name", [n for n in DTYPES if n in ("int1", "int2", "int4")])
def test_short_integers_of_numpy_keep_their_sign(name):
    """In numpy the bits that they do not need are zero, here they repeat the sign."""
    least = -(1 << (int(name[3:]) - 1))
    numbers = np.array([[least, 0, -1], [-1, least, 0]])
    source = numbers.astype(dtype_of(name))
    for given in (
        source,
        np.asfortranarray(source),
        source[:, ::2],
        source[0, 0],
        source[0, 0, ...],
    ):
        wanted = given.astype(np.int32)
        for made in (fnp.asarray(given), fc.jit(lambda x: x)(given), fnp.array(given)):
            np.testing.assert_array_equal(made.astype("int32"), wanted)
            np.testing.assert_array_equal(np.asarray(made), given)
    program = fc.make_jaxpr(lambda: fnp.asarray(source))()
    assert fc.parse_program(program.to_text()) == program
    np.testing.assert_array_equal(program()[0].astype("int32"), numbers)


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_every_dtype_goes_in_and_comes_out(name, shape):
    dtype = dtype_of(name)
    value = np.resize(np.array([1, 0, 1, 1]), shape).astype(dtype)
    array = fnp.asarray(value)
    assert (array.dtype, array.shape) == (dtype, shape)
    back = np.asarray(array)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back.astype(complex), value.astype(complex))


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype_is_named_in_a_program(name):
    value = np.zeros(2, dtype_of(name))
    program = fc.make_jaxpr(lambda x: x)(value)
    assert program.in_avals == [fc.ShapeDtypeStruct((2,), dtype_of(name))]
    assert fc.parse_program(program.to_text()) == program


# ---- numpy ----


def test_numpy_sees_the_arrays_memory_read_only():
    array = fnp.arange(8)
    view = np.asarray(array)
    assert view.ctypes.data == array.unsafe_buffer_pointer()
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.flags.writeable = True
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_a_view_keeps_the_memory_and_not_the_array():
    array = fnp.arange(300_000)
    view = np.asarray(array)
    dies = weakref.ref(array)
    del array
    gc.collect()
    assert dies() is None
    kept = [fnp.full(300_000, value) for value in range(8)]
    np.testing.assert_array_equal(view, np.arange(300_000))
    assert len(kept) == 8


def test_aligned_numpy_memory_is_shared_and_kept_alive():
    value = aligned(16)
    array = fnp.asarray(value)
    assert array.unsafe_buffer_pointer() == value.ctypes.data
    value[3] = 7
    assert array[3] == 7
    del value
    gc.collect()
    assert array[3] == 7


@pytest.mark.parametrize("offset", [4, 16, 32])
def test_other_numpy_memory_is_copied(offset):
    value = aligned(16, offset=offset)
    array = fnp.asarray(value)
    assert array.unsafe_buffer_pointer() != value.ctypes.data
    assert array.unsafe_buffer_pointer() % 64 == 0
    value[3] = 7
    assert array[3] == 0


def test_array_copies_also_where_it_could_share():
    value = aligned(16)
    assert fnp.array(value).unsafe_buffer_pointer() != value.ctypes.data
    assert fnp.array(value, copy=False).unsafe_buffer_pointer() == value.ctypes.data
    assert fnp.asarray(value, copy=True).unsafe_buffer_pointer() != value.ctypes.data


def test_strides_and_byte_orders_of_numpy_are_understood():
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for odd in (
        value.T,
        value[:, ::-1],
        value[..., ::2],
        np.asfortranarray(value),
        np.broadcast_to(value[0], (5, 3, 4)),
        value.astype(">f4"),
        np.frombuffer(b"x" + value.tobytes(), np.uint8)[1:].view(np.float32),
    ):
        np.testing.assert_array_equal(fnp.asarray(odd), odd)
        np.testing.assert_array_equal(fnp.asarray(odd) + 1, odd + 1)


def test_an_array_made_while_recording_keeps_the_values_of_that_moment():
    value = aligned(4)

    def function(x):
        return x + value

    jitted = fc.jit(function)
    np.testing.assert_array_equal(jitted(np.ones(4, np.float32)), np.ones(4))
    value[:] = 5
    np.testing.assert_array_equal(jitted(np.ones(4, np.float32)), np.ones(4))


def test_array_protocol_arguments():
    array = fnp.arange(3)
    assert np.asarray(array, dtype=np.float64).dtype == np.float64
    assert np.array(array).flags.writeable
    assert np.array(array).ctypes.data != array.unsafe_buffer_pointer()
    assert array.__array__(copy=True).flags.owndata
    with pytest.raises(ValueError, match="copy"):
        np.array(array, dtype=np.float64, copy=False)
    with pytest.raises(TypeError, match="unexpected keyword argument 'order'"):
        array.__array__(order="C")


def test_numpys_functions_take_arrays():
    array = fnp.arange(4.0)
    assert np.sum(np.asarray(array)) == 6
    np.testing.assert_array_equal(np.concatenate([np.asarray(array), [9]]), [0, 1, 2, 3, 9])


# ---- buffers ----


def test_buffer_protocol():
    view = memoryview(fnp.arange(6).reshape(2, 3))
    assert (view.format, view.shape, view.readonly, view.strides) == ("i", (2, 3), True, (12, 4))
    assert view.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert bytes(memoryview(fnp.array([1, 2], "int8"))) == b"\x01\x02"
    with pytest.raises((BufferError, ValueError)):
        memoryview(fnp.ones(2, "bfloat16"))
    with pytest.raises((BufferError, ValueError, TypeError)):
        struct.pack_into("i", fnp.arange(2), 0, 1)


# ---- DLPack ----

DLPACK = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DLPACK += ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", [name for name in DLPACK if name != "bfloat16"])
def test_numpy_takes_arrays_by_dlpack(name):
    array = fnp.asarray(np.array([[1, 0, 1]]).astype(name))
    taken = np.from_dlpack(array)
    assert taken.dtype == name
    assert taken.ctypes.data == array.unsafe_buffer_pointer()
    assert not taken.flags.writeable


@pytest.mark.parametrize("name", DLPACK)
def test_jax_takes_arrays_by_dlpack_and_back(name):
    with fc.enable_x64(True), jax.enable_x64(True):
        array = fnp.asarray(np.array([[1, 0, 1]]).astype(dtype_of(name)))
        there = jnp.from_dlpack(array)
        assert there.dtype == dtype_of(name)
        back = fnp.from_dlpack(there)
        assert back.dtype == dtype_of(name)
        np.testing.assert_array_equal(np.asarray(back), np.asarray(array))


@pytest.mark.parametrize("name", DTYPES)
def test_jax_arrays_of_every_dtype_are_arguments(name):
    if not hasattr(jnp, "bool_" if name == "bool" else name):
        pytest.skip("JAX has no such dtype")
    value = np.array([1, 0, 1]).astype(dtype_of(name))
    with fc.enable_x64(True), jax.enable_x64(True):
        try:
            theirs = jnp.asarray(value)
        except (TypeError, ValueError, NotImplementedError, jax.errors.JaxRuntimeError):
            pytest.skip("JAX has no arrays of this dtype on this platform")
        array = fnp.asarray(theirs)
    assert array.dtype == dtype_of(name)
    assert np.asarray(array).tobytes() == value.tobytes()


def test_dlpack_memory_is_shared_where_alignment_allows_and_lives_on():
    value = aligned(16)
    array = fnp.from_dlpack(value)
    assert array.unsafe_buffer_pointer() == value.ctypes.data
    assert fnp.from_dlpack(value, copy=True).unsafe_buffer_pointer() != value.ctypes.data
    value[2] = 3
    del value
    gc.collect()
    assert array[2] == 3


def test_dlpack_with_strides_is_copied():
    value = np.arange(12, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(fnp.from_dlpack(value.T), value.T)
    np.testing.assert_array_equal(fnp.from_dlpack(value[:, ::2]), value[:, ::2])
    np.testing.assert_array_equal(fnp.from_dlpack(value[::-1, ::-1]), value[::-1, ::-1])


def test_an_unused_capsule_frees_its_array():
    array = fnp.arange(3)
    for version in (None, (1, 0)):
        capsule = array.__dlpack__(max_version=version)
        assert ("versioned" in repr(capsule)) == (version is not None)
        del capsule
    gc.collect()
    assert array.__dlpack_device__() == (1, 0)


def test_dlpack_errors():
    array = fnp.arange(3)
    with pytest.raises(ValueError, match="the CPU has no streams"):
        array.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="this array is on the CPU"):
        array.__dlpack__(dl_device=(2, 0))
    assert array.__dlpack__(dl_device=(1, 0)) is not None
    with pytest.raises(TypeError, match="the argument must have __dlpack__, got 3 of type int"):
        fnp.from_dlpack(3)


def test_operators_with_numpy_arrays_give_arrays_and_numpy_functions_numpy_arrays():
    x, n = fnp.array([1.0, 2.0]), np.array([3.0, 4.0], np.float32)
    for result in (x + n, n + x, n * x, n - x, n < x):
        assert isinstance(result, fc.Array)
    assert (n - x).tolist() == [2.0, 2.0]
    assert isinstance(np.sin(x), np.ndarray)
    np.testing.assert_array_equal(np.maximum(n, x), n)


def test_a_numpy_function_of_a_traced_array_says_that_its_values_are_not_known():
    with pytest.raises(fc.ConcretizationTypeError, match="are not known while"):
        fc.jit(np.sin)(fnp.ones(2))


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


@pytest.mark.parametrize("offset", [4, 64])  # copied, and shared
def test_dlpack_memory_may_begin_behind_its_address(offset):
    memory = (ctypes.c_float * 40)(*range(40))
    shape = (ctypes.c_int64 * 1)(8)
    new_capsule = ctypes.pythonapi.PyCapsule_New
    new_capsule.restype = ctypes.py_object
    new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    class Producer:
        tensor = _Tensor(
            ctypes.addressof(memory), _Device(1, 0), 1, _DataType(2, 32, 1), shape, None, offset
        )

        def __dlpack__(self):
            return new_capsule(ctypes.addressof(self.tensor), b"dltensor", None)

        def __dlpack_device__(self):
            return 1, 0

    found = fnp.from_dlpack(Producer())
    np.testing.assert_array_equal(found, np.arange(8) + offset // 4)


# ---- masked arrays ----


@pytest.mark.parametrize(
    "use",
    [
        fnp.array,
        fnp.asarray,
        fnp.sin,
        fc.device_put,
        fc.jit(lambda x: x),
        fc.vmap(lambda x: x),
        lambda x: fnp.ones(2) + x,
        lambda x: fc.lax.scan(lambda c, v: (c, v), 0, x),
    ],
)
def test_masked_arrays_of_numpy_are_refused_as_their_mask_would_be_lost(use):
    masked = np.ma.masked_array(np.float32([1, 2]), [True, False])
    with pytest.raises(ValueError, match=r"would lose its mask; give x.filled\(value\)"):
        use(masked)
    use(masked.filled(0))


class OnGpu:
    """A tensor that says that it is on a device of DLPack's ``kind``; its memory is the host's."""

    def __init__(self, kind: int) -> None:
        self.kind = kind
        self.streams: list[Any] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(self, stream: Any = None, **_: Any) -> Any:
        self.streams.append(stream)
        capsule = np.arange(3, dtype="float32").__dlpack__()
        tensor_of(capsule).device_type = self.kind
        return capsule


@pytest.mark.parametrize(("kind", "name", "stream"), [(2, "cuda", 1), (10, "rocm", 0)])
def test_tensors_on_a_device_that_no_engine_has(kind: int, name: str, stream: int) -> None:
    tensor = OnGpu(kind)
    with pytest.raises(ValueError, match=rf"the array is on {name}:0, which no engine has .*copy"):
        fc.numpy.from_dlpack(tensor)
    assert tensor.streams == [stream]  # the default stream
    with pytest.raises(ValueError, match="which no engine has"):
        fc.jit(lambda x: x + 1)(tensor)


def test_tensors_on_other_kinds_of_devices() -> None:
    with pytest.raises(ValueError, match="DLPack device type 8; copy it to the CPU first"):
        fc.numpy.from_dlpack(OnGpu(8))


def test_arrays_on_the_host_say_so() -> None:
    x = fc.numpy.arange(3)
    assert x.__dlpack_device__() == (1, 0)
    with pytest.raises(AttributeError, match="this array is not on a GPU"):
        x.__cuda_array_interface__  # noqa: B018
    with pytest.raises(BufferError, match=r"device \(2, 0\)|is on the CPU"):
        x.__dlpack__(dl_device=(2, 0))
