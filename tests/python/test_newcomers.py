"""Small things that newcomers try: what they get, or what they are told."""

from __future__ import annotations

import copy
import ctypes
import pickle
import subprocess
import sys
import textwrap
import warnings

import cloudpickle
import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall import ffi
from farcall.experimental.buffer_callback import buffer_callback

V = fc.ShapeDtypeStruct((3,), "float32")
X = np.array([1, 2, 3], np.float32)

# ---- debug.print ----


def printed(capsys, function, *args):
    function(*args)
    return capsys.readouterr().out.strip()


@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_debug_print_follows_the_print_options_of_its_call(capsys, run):
    f = run(lambda x: fc.debug.print("{}", x))
    x = np.array([1 / 3, 2e-8], np.float32)
    before = printed(capsys, f, x)
    with np.printoptions(precision=2, suppress=True):
        assert printed(capsys, f, x) == str(x) == "[0.33 0.  ]"
    assert printed(capsys, f, x) == before == str(x)


def test_debug_print_follows_the_print_options_of_its_recording(capsys):
    f = fc.jit(lambda x: fc.debug.print("{}", x))
    g = jax.jit(lambda x: jax.debug.print("{}", x))
    x = np.array([1 / 3, 2 / 3], np.float32)
    with np.printoptions(precision=3):
        assert printed(capsys, f, x) == str(x)
        g(x)
        jax.effects_barrier()
        capsys.readouterr()
    assert printed(capsys, f, x) == "[0.333 0.667]"
    g(x)
    jax.effects_barrier()
    assert capsys.readouterr().out.strip() == "[0.333 0.667]"
    with np.printoptions(precision=1):  # what is set when it prints counts more
        assert printed(capsys, f, x) == "[0.3 0.7]"


def test_debug_print_tells_of_values_that_an_f_string_formatted_too_early():
    with pytest.raises(ValueError, match=r"holds the text of a traced array, Traced<f32\[3\]>"):
        fc.jit(lambda x: fc.debug.print(f"x is {x}"))(X)
    with pytest.raises(ValueError, match=r'Write debug.print\("{x}", x=x\) without the f'):
        fc.vmap(lambda x: fc.debug.print(f"x is {x!r}"))(X)


def test_debug_print_tells_of_braces_that_an_f_string_brought_in():
    numbers = {"a": 1}
    with pytest.raises(KeyError, match=r"text with braces is printed by debug.print\("):
        fc.debug.print(f"{numbers}")
    with pytest.raises(IndexError, match="a field without a value"):
        fc.debug.print("{} {}", 1)


# ---- buffer callbacks that write nothing ----


def rebinds(ctx, out, x):
    out = np.asarray(x) * 2  # noqa: F841


DTYPES = ["float32", "float64", "complex64", "bfloat16", "float8_e4m3b11fnuz", "int32", "uint8"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_result_that_a_buffer_callback_did_not_write_is_poisoned(dtype):
    call = fc.jit(buffer_callback(rebinds, fc.ShapeDtypeStruct((3,), dtype)))
    with pytest.warns(RuntimeWarning, match="returned without writing result 0") as record:
        first = np.asarray(call(X))
    assert len(record) == 1
    assert "np.asarray(out)" in str(record[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        second = np.asarray(call(X))
    for result in (first, second):
        if dtype in ("int32", "uint8"):
            assert (result.view(np.uint8) == 0x80).all()
        else:
            assert np.isnan(result.astype(np.complex64)).all()


def write_through_numpy(ctx, out, x):
    np.asarray(out)[...] = 1


def write_through_memoryview(ctx, out, x):
    memoryview(out).cast("B")[:] = bytes(12)


def write_through_the_address(ctx, out, x):
    ctypes.memset(out.unsafe_pointer, 0, out.nbytes)


def write_through_dlpack(ctx, out, x):
    np.from_dlpack(out)[...] = 1


WRITERS = [
    write_through_numpy,
    write_through_memoryview,
    write_through_the_address,
    write_through_dlpack,
]


@pytest.mark.parametrize("writer", WRITERS)
def test_a_result_that_was_written_in_any_way_stays(writer):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(np.asarray(fc.jit(buffer_callback(writer, V))(X))).all()


def test_only_what_was_not_written_is_poisoned_and_aliases_never_are():
    def first_alone(ctx, out, x):
        np.asarray(out[0])[...] = 7

    with pytest.warns(RuntimeWarning, match="result 1"):
        a, b = buffer_callback(first_alone, [V, V])(X)
    assert (np.asarray(a) == 7).all()
    assert np.isnan(np.asarray(b)).all()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        in_place = buffer_callback(lambda ctx, out, x: None, V, input_output_aliases={0: 0})
        np.testing.assert_array_equal(fc.jit(in_place)(X), X)
        buffer_callback(lambda ctx, out, x: None, fc.ShapeDtypeStruct((0,), "float32"))(X)


# ---- pycapsule, ShapeDtypeStruct ----


def test_pycapsule_takes_an_address(handler_library):
    function = handler_library.scale
    address = ctypes.cast(function, ctypes.c_void_p).value
    for given in (address, np.int64(address), ctypes.c_void_p(address), function):
        assert type(ffi.pycapsule(given)).__name__ == "PyCapsule"
    ffi.register_ffi_target("scale_by_address", ffi.pycapsule(address))
    call = ffi.ffi_call("scale_by_address", V)
    np.testing.assert_array_equal(call(X, factor=np.float32(2)), X * 2)


BAD_ADDRESSES = [
    (0, ValueError, "null"),
    (-1, ValueError, "not a valid"),
    (2**64, ValueError, "not"),
]
BAD_ADDRESSES += [(value, TypeError, "address as an int") for value in (True, 1.5, "f", None)]


@pytest.mark.parametrize(("given", "kind", "text"), BAD_ADDRESSES)
def test_pycapsule_refuses_what_is_no_address(given, kind, text):
    with pytest.raises(kind, match=text):
        ffi.pycapsule(given)


def test_shape_dtype_struct_has_the_attributes_of_jaxs():
    def of(module, x):
        made = module.ShapeDtypeStruct.like(x)
        return made.shape, made.dtype, made.weak_type, made.ndim, made.size

    for x in (X, 1.0, np.float64(1), np.ones((2, 3), np.int32), True, V):
        if x is not V:
            expected = of(jax, x)
            if getattr(x, "dtype", None) == np.float64:  # narrowed by JAX without x64
                continue
            assert of(fc, x) == expected
    assert fc.ShapeDtypeStruct.like(fnp.ones(3)) == V
    assert fc.ShapeDtypeStruct.like(V) is V
    assert V.update(shape=(2, 2)).shape == (2, 2)
    assert V.update(dtype="int8").dtype == np.int8
    theirs = jax.ShapeDtypeStruct((3,), "float32")
    public = [name for name in dir(theirs) if not name.startswith("_")]
    assert [name for name in public if not hasattr(V, name)] == []
    for name in ("sharding", "is_ref", "manual_axis_type"):
        assert getattr(V, name) == getattr(theirs, name)
    assert (V.format.layout, V.format.sharding) == (theirs.format.layout, theirs.format.sharding)
    assert len(V) == len(theirs) == 3
    for bad in ([1], None, "f4"):
        with pytest.raises(TypeError):
            fc.ShapeDtypeStruct.like(bad)
    with pytest.raises(TypeError):
        V.update(shapes=(1,))
    with pytest.raises(TypeError):
        len(fc.ShapeDtypeStruct((), "int8"))


# ---- methods of arrays ----

METHODS = {
    "round": lambda x: round(x, 1),
    "round to whole numbers": lambda x: round(x),
    "tobytes": lambda x: np.frombuffer(x.tobytes(), np.uint8),
    "tobytes by columns": lambda x: np.frombuffer(x.tobytes("F"), np.uint8),
    "byteswap": lambda x: x.byteswap(),
    "compress": lambda x: x.compress(np.array([True, False]), axis=0),
    "contains": lambda x: np.array(2.5 in x.ravel()),
    "does not contain": lambda x: np.array(9.0 in x.ravel()),
    "copy": lambda x: copy.copy(x),
    "deepcopy": lambda x: copy.deepcopy(x),
    "device size": lambda x: np.array(x.on_device_size_in_bytes()),
    "is_ready": lambda x: np.array(x.is_ready()),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_give_what_jaxs_give(name):
    x = np.array([[1.26, 2.5, -3.75], [0.05, -0.5, 8.0]], np.float32)
    ours, theirs = METHODS[name](fnp.array(x)), METHODS[name](jnp.array(x))
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    np.testing.assert_allclose(ours, theirs, rtol=2e-7 if name == "round" else 0)


def test_choose_picks_by_number():
    index = np.array([0, 1, 0], np.int32)
    np.testing.assert_array_equal(fnp.array(index).choose([X, -X]), index.choose([X, -X]))


VIEWS = [
    (np.float32, np.int32),
    (np.float32, np.uint8),
    (np.float32, np.float64),
    (np.int8, np.int64),
    (np.complex64, np.float32),
    (np.complex64, np.uint64),
    (np.float32, np.complex64),
    (np.uint16, np.float16),
    (np.float64, np.complex64),
    (np.bool_, np.uint8),
    (np.complex64, np.complex64),
]


@pytest.mark.parametrize(("source", "target"), VIEWS)
@pytest.mark.parametrize("run", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_view_gives_the_same_bits(source, target, run):
    x = np.random.default_rng(0).integers(0, 2, (3, 16)).astype(source)
    got = run(lambda a: a.view(target))(fnp.array(x, source))
    np.testing.assert_array_equal(got, x.view(target))


def test_view_refuses_what_does_not_fit():
    for array, target in [(fnp.ones(3), "float64"), (fnp.ones(()), "int8"), (fnp.ones(()), "f8")]:
        with pytest.raises(ValueError, match="view: the last dimension"):
            array.view(target)
    assert fnp.ones(3).view().dtype == np.float32


def test_arrays_name_their_namespace():
    x = fnp.array(X)
    assert x.__array_namespace__() is fnp
    assert x.__array_namespace__(api_version="2023.12") is fnp
    with pytest.raises(ValueError, match="api_version must be one of"):
        x.__array_namespace__(api_version="1999.01")
    xp = fc.jit(lambda a: a.__array_namespace__().sin(a))
    np.testing.assert_allclose(xp(X), np.sin(X), rtol=1e-6)


def test_arrays_have_the_public_methods_of_jaxs():
    missing = {n for n in dir(jnp.ones(3)) if not n.startswith("_")} - set(dir(fnp.ones(3)))
    # Of several devices and processes, of buffers that move, of what JAX itself refuses.
    elsewhere = {
        "addressable_data", "addressable_shards", "committed", "device", "devices", "format",
        "global_shards", "is_fully_addressable", "is_fully_replicated", "sharding", "to_device",
        "platform", "device_buffer", "device_buffers", "flat", "traceback", "clone", "delete",
    }  # fmt: skip
    assert missing <= elsewhere


# ---- pickling ----


def affine(x, scale):
    return x * scale + 1


jitted_affine = fc.jit(affine, static_argnames="scale")


@fc.jit
def decorated(x):
    return x + 1


def test_jitted_functions_go_through_cloudpickle_and_pickle():
    factor = 3.0
    made = {
        "closure": fc.jit(lambda x: x * factor),
        "static": fc.jit(affine, static_argnums=1, donate_argnums=0),
        "core function": fc.jit(fnp.sin),
        "vmap": fc.vmap(lambda x: x * factor),
        "grad": fc.jit(fc.grad(lambda x: (x**2).sum())),
        "partial": fc.jit(fc.tree_util.Partial(affine, scale=2.0)),
        "custom": fc.custom_jvp(lambda x: x * factor),
    }
    made["custom"].defjvp(lambda p, t: (p[0] * factor, t[0] * factor))
    for name, function in made.items():
        again = cloudpickle.loads(cloudpickle.dumps(function))
        args = (fnp.array(X), 2.0) if name == "static" else (fnp.array(X),)
        expected = {"static": X * 2 + 1, "core function": np.sin(X), "grad": 2 * X}
        expected["partial"] = X * 2 + 1
        np.testing.assert_allclose(again(*args), expected.get(name, X * 3), rtol=1e-6)
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    again = pickle.loads(pickle.dumps(jitted_affine))
    np.testing.assert_array_equal(again(X, scale=2.0), X * 2 + 1)


def test_a_jitted_function_of_a_script_runs_in_another_process(tmp_path):
    script = """
        import sys, cloudpickle, farcall as fc, farcall.numpy as fnp
        scale = 4.0
        @fc.jit
        def f(x):
            return fnp.sin(x) * scale
        open(sys.argv[1], "wb").write(cloudpickle.dumps(f))
    """
    target = tmp_path / "f.pkl"
    subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(target)], check=True)
    f = cloudpickle.loads(target.read_bytes())
    np.testing.assert_allclose(f(X), np.sin(X) * 4, rtol=1e-6)


class Foreign:
    """A callable of another language: what it tells of itself are no strings."""

    def __init__(self) -> None:
        self.__name__, self.__qualname__, self.__doc__ = 3, None, 4

    def __call__(self, x):
        return x * x


TRANSFORMS = {
    "jit": (fc.jit, [1.0, 4.0]),
    "vmap": (fc.vmap, [1.0, 4.0]),
    "vectorize": (fnp.vectorize, [1.0, 4.0]),
    "checkpoint": (fc.checkpoint, [1.0, 4.0]),
    "named_call": (lambda f: fc.named_call(f, name="f"), [1.0, 4.0]),
    "custom_jvp": (lambda f: with_jvp(fc.custom_jvp(f)), [1.0, 4.0]),
    "grad": (lambda f: fc.vmap(fc.grad(f)), [2.0, 4.0]),
    "jacfwd": (lambda f: fc.vmap(fc.jacfwd(f)), [2.0, 4.0]),
}


def with_jvp(f):
    f.defjvp(lambda primals, tangents: (primals[0], tangents[0]))
    return f


@pytest.mark.parametrize("name", TRANSFORMS)
def test_callables_that_tell_no_name_can_be_transformed(name):
    transform, expected = TRANSFORMS[name]
    np.testing.assert_array_equal(transform(Foreign())(fnp.array([1.0, 2.0])), expected)


# ---- objects that stand for arrays ---------------------------------------------------------------


class Parameter:
    """An object of a library, such as a parameter of a network, that stands for an array."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return self.value


STANDS_FOR = {
    "left": lambda n, x, p: p + x,
    "right": lambda n, x, p: x - p,
    "product": lambda n, x, p: (x @ p, p @ x),
    "comparison": lambda n, x, p: x < p,
    "asarray": lambda n, x, p: n.asarray(p, dtype="int32"),
    "list": lambda n, x, p: n.array([[p, x], [p, p]]),
    "einsum": lambda n, x, p: n.einsum("i,i->", p, x),
    "set": lambda n, x, p: x.at[:].set(p),
    "stack": lambda n, x, p: n.stack([p, x]),
    "shape": lambda n, x, p: (n.shape(p), n.ndim(p), n.size(p)),
    "of numpy": lambda n, x, p: x + Parameter(np.float32([1, 2, 3])),
}


@pytest.mark.parametrize("name", STANDS_FOR)
def test_objects_with_jax_array_count_as_their_arrays(name):
    results = []
    for module in (fnp, jnp):
        x = module.arange(3.0)
        results.append(jax.tree.leaves(STANDS_FOR[name](module, x, Parameter(x * 2 + 1))))
    for ours, theirs in zip(*results, strict=True):
        assert np.asarray(ours).dtype == np.asarray(theirs).dtype
        np.testing.assert_array_equal(ours, theirs)


def test_objects_that_stand_for_traced_arrays_and_for_nothing():
    def total(x):
        return fnp.sin(Parameter(x)).sum() + (Parameter(x * x) + x).sum()

    x = fnp.arange(3.0)
    np.testing.assert_allclose(fc.jit(fc.grad(total))(x), np.cos(x) + 2 * np.asarray(x) + 1)
    with pytest.raises(
        TypeError,
        match=r"what Parameter.__jax_array__ returns must be an array or a number, got 'a'",
    ):
        fnp.sin(Parameter("a"))
    endless = Parameter(None)
    endless.value = endless
    with pytest.raises(RecursionError):
        fnp.sin(endless)
