"""Buffers: numpy, memoryview, DLPack and numba work on them in place, as far as allowed."""

from __future__ import annotations

import ctypes

import farcall as fc
import farcall.numpy as fnp
import ml_dtypes
import numpy as np
import pytest
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
X = np.arange(6, dtype=F32).reshape(2, 3)
DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
]
NARROW = [
    *("bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn"),
    *("float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn"),
    *("int2", "int4", "uint2", "uint4"),
]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, name))


def like(x):
    return fc.ShapeDtypeStruct(np.shape(x), np.asarray(x).dtype)


def inside(use, x=X):
    """What ``use(out, x)`` returns inside of a callback, and the result of the callback."""
    seen = []

    def callback(ctx, out, x):
        np.asarray(out)[...] = np.asarray(x)
        seen.append(use(out, x))

    result = fc.jit(buffer_callback(callback, like(x), has_side_effect=True))(x)
    return seen[0], np.asarray(result)


# ---- attributes ----


def test_attributes():
    def use(out, x):
        for buffer in (out, x):
            assert buffer.shape == (2, 3)
            assert buffer.dtype == F32
            assert buffer.ndim == 2
            assert buffer.size == 6
            assert buffer.nbytes == 24
            assert buffer.itemsize == 4
            assert len(buffer) == 2
            assert buffer.device == fc.devices()[0]
            assert buffer.unsafe_pointer == np.asarray(buffer).ctypes.data
            assert buffer.__dlpack_device__() == (1, 0)
            assert not hasattr(buffer, "__cuda_array_interface__")
            with pytest.raises(AttributeError, match="on the CPU"):
                buffer.__cuda_array_interface__  # noqa: B018
            with pytest.raises(AttributeError):
                buffer.shape = (6,)
        assert out.writeable
        assert not x.writeable
        return repr(out), repr(x)

    assert inside(use)[0] == ("<Buffer f32[2,3], writeable>", "<Buffer f32[2,3], read-only>")


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("name", [*DTYPES, *NARROW])
@pytest.mark.parametrize("shape", [(), (5,), (0, 3)])
def test_every_dtype(name, shape):
    dtype = dtype_of(name)
    x = np.ones(shape, dtype)

    def use(out, x):
        assert out.dtype == x.dtype == dtype
        assert out.itemsize == dtype.itemsize
        view = np.asarray(out)
        assert view.dtype == dtype
        assert view.shape == shape
        assert view.flags.writeable
        assert view.ctypes.data == out.unsafe_pointer

    _, result = inside(use, x)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.complex64), x.astype(np.complex64))


# ---- numpy and the buffer protocol ----


def raises(error, function, *args, **kwargs):
    with pytest.raises(error):
        function(*args, **kwargs)
    return True


def test_nothing_makes_an_argument_writeable():
    def use(out, x):
        view = np.asarray(x)
        assert not view.flags.writeable
        whole, part = memoryview(x), np.frombuffer(x, np.uint8)
        assert whole.readonly
        assert not part.flags.writeable
        for array in (view, view[:1], view.T, view.view(np.uint8), part):
            raises(ValueError, array.setflags, write=True)
        raises(TypeError, whole.cast("B").__setitem__, 0, 1)
        raises(ValueError, view.__setitem__, 0, 1)
        assert not np.ndarray((2, 3), F32, x).flags.writeable
        raises((TypeError, BufferError), (ctypes.c_char * 24).from_buffer, x)
        unpacked = np.from_dlpack(x)
        assert not unpacked.flags.writeable
        raises(ValueError, unpacked.setflags, write=True)

    given = X.copy()
    _, result = inside(use, given)
    np.testing.assert_array_equal(given, X)
    np.testing.assert_array_equal(result, X)


def test_results_are_written_through_every_view():
    def use(out, x):
        addresses = [
            np.asarray(out).ctypes.data,
            np.from_dlpack(out).ctypes.data,
            np.frombuffer(out, F32).ctypes.data,
            np.asarray(memoryview(out)).ctypes.data,
        ]
        assert addresses == [out.unsafe_pointer] * 4
        np.asarray(out)[0, 0] = 10
        np.from_dlpack(out)[0, 1] = 11
        np.frombuffer(out, F32)[2] = 12
        memoryview(out)[1, 0] = 13.0
        memoryview(out).cast("B")[16:20] = F32(14).tobytes()

    np.testing.assert_array_equal(inside(use)[1], [[10, 11, 12], [13, 14, 5]])


def test_array_converts_and_copies_on_demand():
    def use(out, x):
        copy = np.array(x, copy=True)
        copy[...] = 0
        as_int = np.asarray(x, dtype=np.int64)
        assert as_int.dtype == np.int64
        assert as_int.tolist() == X.tolist()
        assert np.asarray(x, dtype=F32).ctypes.data == x.unsafe_pointer
        raises(ValueError, x.__array__, np.float64, copy=False)
        assert x.__array__(copy=False).ctypes.data == x.unsafe_pointer
        assert x.__array__(np.float64, copy=True).dtype == np.float64
        # Numpy's functions take Buffers.
        np.add(x, 1, out=np.asarray(out))
        assert np.sum(x) == 15

    np.testing.assert_array_equal(inside(use)[1], X + 1)


@pytest.mark.parametrize("name", DTYPES)
def test_memoryview_knows_the_dtype(name):
    x = np.arange(6).reshape(2, 3).astype(name)

    def use(out, x):
        view = memoryview(x)
        assert (view.shape, view.itemsize, view.nbytes) == (x.shape, x.itemsize, x.nbytes)
        assert view.c_contiguous
        assert view.strides == (3 * x.itemsize, x.itemsize)
        assert np.dtype(np.asarray(view).dtype) == x.dtype
        return view.tolist() if x.dtype.kind != "c" and name != "float16" else x

    values, _ = inside(use, x)
    if isinstance(values, list):
        assert values == x.tolist()


def test_dtypes_of_no_format_are_refused_by_memoryview_only():
    def use(out, x):
        with pytest.raises(BufferError, match=r"bfloat16 has no format .* np.asarray"):
            memoryview(x)
        assert np.asarray(x).dtype == ml_dtypes.bfloat16

    inside(use, X.astype(ml_dtypes.bfloat16))


def test_scalar_buffers():
    def use(out, x):
        assert memoryview(out).shape == ()
        assert memoryview(out)[()] == 2.5
        memoryview(out)[()] = 4.5
        raises(TypeError, len, x)
        return float(np.asarray(x))

    seen, result = inside(use, F32(2.5))
    assert seen == 2.5
    assert result == 4.5


def test_farcall_itself_takes_buffers():
    def use(out, x):
        np.asarray(out)[...] = fc.jit(lambda a: fnp.sin(a) * 2)(x)
        return fnp.sum(x), (fnp.asarray(x) + 1).tolist()

    (total, more), result = inside(use)
    assert float(total) == 15
    assert more == (X + 1).tolist()
    np.testing.assert_allclose(result, np.sin(X) * 2, rtol=1e-6)


# ---- DLPack ----


def test_capsules_say_what_is_read_only_and_old_ones_get_a_copy():
    class Old:
        """Asks as consumers did before DLPack 1.0."""

        def __init__(self, buffer):
            self.buffer = buffer

        def __dlpack__(self, **kwargs):
            return self.buffer.__dlpack__()

        def __dlpack_device__(self):
            return self.buffer.__dlpack_device__()

    def use(out, x):
        names = [repr(b.__dlpack__()).split('"')[1] for b in (out, x)]
        assert names == ["dltensor", "dltensor"]
        assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
        old_in, old_out = np.from_dlpack(Old(x)), np.from_dlpack(Old(out))
        assert old_in.ctypes.data != x.unsafe_pointer
        assert old_in.tolist() == X.tolist()
        assert old_out.ctypes.data == out.unsafe_pointer
        copy = np.from_dlpack(out, copy=True)
        assert copy.ctypes.data != out.unsafe_pointer
        with pytest.raises(BufferError, match="read-only"):
            x.__dlpack__(copy=False)
        assert x.__dlpack__(max_version=(1, 0), copy=False)
        raises((ValueError, BufferError), x.__dlpack__, dl_device=(2, 0))

    inside(use)


def test_capsules_that_nobody_takes_are_let_go():
    def use(out, x):
        for buffer in (out, x):
            for version in (None, (1, 0)):
                buffer.__dlpack__(max_version=version)

    inside(use)


# ---- other libraries ----


def test_numba_kernels_write_results_in_place():
    numba = pytest.importorskip("numba")

    @numba.njit
    def scaled(out, x, factor):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                out[i, j] = x[i, j] * factor

    def callback(ctx, out, x, *, factor):
        scaled(np.asarray(out), np.asarray(x), np.asarray(factor)[()])

    call = buffer_callback(callback, like(X), vmap_method="sequential")
    for run in (call, fc.jit(call)):
        np.testing.assert_array_equal(run(X, factor=F32(3)), X * 3)
    batch = np.stack([X, X + 1])
    np.testing.assert_array_equal(
        fc.jit(fc.vmap(lambda x: call(x, factor=F32(2))))(batch), batch * 2
    )


def test_compiled_numba_functions_are_callbacks_of_their_own():
    numba = pytest.importorskip("numba")
    double = numba.njit(lambda x: x * 2)
    made = fc.jit(lambda x: fc.pure_callback(lambda a: double(np.asarray(a)), like(X), x))(X)
    np.testing.assert_array_equal(made, X * 2)
