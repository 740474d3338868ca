"""Names that programs which import JAX need, in small modules: typing, typeof, flatten_util,
stages, dtypes, lax's enumerations and shapes, image, test_util."""

from __future__ import annotations

from typing import Any, get_args

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.core
import jax.dtypes
import jax.flatten_util
import jax.image
import jax.numpy as jnp
import jax.test_util
import jax.typing
import numpy as np
import pytest
from farcall import core, dtypes, lax, stages
from farcall.flatten_util import ravel_pytree

# ---- typing, typeof, core ------------------------------------------------------------------------


def test_annotations_name_what_is_taken() -> None:
    assert fc.Array in get_args(fc.typing.ArrayLike)
    assert {int, float, np.ndarray} < set(get_args(fc.typing.ArrayLike))
    assert isinstance(fnp.ones(2), fc.typing.ArrayLike)
    assert not isinstance("a", fc.typing.ArrayLike)
    assert set(jax.typing.__all__ if hasattr(jax.typing, "__all__") else ()) <= {
        "ArrayLike",
        "DTypeLike",
    }


@pytest.mark.parametrize("value", [1.0, np.int8([1, 2]), np.ones((2, 3), np.float16), True])
def test_typeof_prints_as_in_jax(value: Any) -> None:
    ours, theirs = fc.typeof(value), jax.typeof(value)
    assert (str(ours), repr(ours)) == (str(theirs), repr(theirs))
    assert (ours.shape, ours.dtype, ours.ndim, ours.size) == (
        theirs.shape,
        theirs.dtype,
        theirs.ndim,
        theirs.size,
    )
    assert ours.sharding.mesh.empty
    assert len(ours.sharding.spec) == ours.ndim
    assert ours.str_short(short_dtypes=True) == theirs.str_short(short_dtypes=True)


def test_typeof_of_traced_arrays_and_of_what_is_none() -> None:
    seen = []
    fc.jit(lambda x: seen.append(fc.typeof(x)) or x)(np.float32([1, 2]))
    assert seen == [fc.typeof(fnp.ones(2))]
    assert seen[0].update(shape=(3,)) == fc.core.ShapedArray((3,), "float32")
    with pytest.raises(TypeError, match="typeof: argument x"):
        fc.typeof("a")


def test_traced_arrays_are_tracers() -> None:
    flags = []
    fc.jit(lambda x: flags.append((isinstance(x, core.Tracer), core.is_concrete(x))) or x)(1.0)
    assert flags == [(True, False)]
    assert not isinstance(fnp.ones(2), core.Tracer)
    with pytest.raises(TypeError, match="made by transformations"):
        core.Tracer()


def test_eval_jaxpr_runs_a_program() -> None:
    table = fnp.array([1.0, 2.0])
    program = fc.make_jaxpr(lambda x: (x * table, x + 1))(3.0)
    first, second = core.eval_jaxpr(program.jaxpr, program.consts, 4.0)
    np.testing.assert_array_equal(first, [4.0, 8.0])
    assert second == 5.0
    with pytest.raises(NotImplementedError, match="the program's own"):
        core.eval_jaxpr(program, [table + 1], 4.0)
    with pytest.raises(TypeError, match="expected a program"):
        core.eval_jaxpr("x", [])


# ---- flatten_util --------------------------------------------------------------------------------

TREES = [
    {"a": np.float32([[1, 2]]), "b": (np.int32([3]), 4.0)},
    [np.float16([1]), np.float32([2, 3])],
    np.bool_([True, False]),
    (),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("index", range(len(TREES)))
def test_trees_are_ravelled_as_in_jax(index: int) -> None:
    tree = TREES[index]
    ours, unravel = ravel_pytree(tree)
    theirs, unravel_theirs = jax.flatten_util.ravel_pytree(tree)
    np.testing.assert_array_equal(ours, theirs)
    assert ours.dtype == theirs.dtype
    back, back_theirs = unravel(ours), unravel_theirs(theirs)
    for a, b in zip(fc.tree.leaves(back), jax.tree.leaves(back_theirs), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.asarray(a).dtype == np.asarray(b).dtype


def test_unravel_is_traced_and_checks_its_vector() -> None:
    tree = {"w": np.float32([[1, 2], [3, 4]]), "b": np.float32([5])}
    vector, unravel = ravel_pytree(tree)
    gradient = fc.jit(fc.grad(lambda v: (unravel(v)["w"] ** 2).sum()))(vector)
    np.testing.assert_array_equal(gradient, [0, 2, 4, 6, 8])
    assert ravel_pytree(tree)[1] == unravel
    assert hash(unravel) == hash(ravel_pytree(tree)[1])
    with pytest.raises(ValueError, match="expected a vector of 5 elements"):
        unravel(vector[:3])
    with pytest.raises(TypeError, match="expected a vector of f"):
        unravel(np.int32([1, 2, 3, 4, 5]))
    with pytest.raises(TypeError, match="ravel_pytree"):
        ravel_pytree({"a": "text"})


# ---- stages --------------------------------------------------------------------------------------


def test_the_steps_from_a_function_to_a_program() -> None:
    jitted = fc.jit(lambda x, n: {"r": x * 2 + n})
    assert isinstance(jitted, stages.Wrapped)
    traced = jitted.trace(np.float32([1, 2]), n=3)
    assert isinstance(traced, stages.Traced)
    assert traced.fun_name == "<lambda>"
    assert traced.jaxpr.num_equations >= 2
    assert traced.out_info["r"].shape == (2,)
    assert traced.args_info[0][0].shape == (2,)
    assert traced.out_tree == fc.tree.structure({"r": 0})
    assert traced.effects == frozenset()
    lowered = traced.lower(lowering_platforms=("cpu",))
    assert isinstance(lowered, stages.Lowered)
    compiled = lowered.compile()
    assert isinstance(compiled, stages.Compiled)
    np.testing.assert_array_equal(compiled(np.float32([1, 2]), n=3)["r"], [5, 7])
    with pytest.raises(ValueError, match="lowering_platforms"):
        traced.lower(lowering_platforms=("cuda",))
    assert {n for n in dir(jax.stages) if n[0].isupper()} <= set(dir(stages))


# ---- dtypes --------------------------------------------------------------------------------------


def test_functions_of_dtypes_are_those_of_jax() -> None:
    for dtype in ("float32", "int8", "bool", "bfloat16", "complex64", "uint32"):
        ours = getattr(dtypes, "bool_" if dtype == "bool" else dtype)
        for kind in (np.floating, np.integer, np.number, np.bool_, np.inexact, np.complexfloating):
            assert dtypes.issubdtype(ours, kind) == jax.dtypes.issubdtype(dtype, kind)
        assert dtypes.scalar_type_of(ours) is jax.dtypes.scalar_type_of(jnp.dtype(dtype))
        assert dtypes.itemsize_bits(ours) == jax.dtypes.itemsize_bits(jnp.dtype(dtype))
        assert dtypes.canonicalize_dtype(ours) == jax.dtypes.canonicalize_dtype(dtype)
    assert dtypes.canonicalize_dtype(float) == np.float32
    assert dtypes.result_type(1, np.float16(2)) == jax.dtypes.result_type(1, np.float16(2))
    assert dtypes.finfo("bfloat16").bits == jax.dtypes.finfo("bfloat16").bits == 16
    assert dtypes.iinfo("int4").max == 7
    assert dtypes.itemsize_bits("int4") == 4
    assert issubclass(dtypes.prng_key, dtypes.extended)
    missing = {n for n in dir(jax.dtypes) if not n.startswith("_")} - set(dir(dtypes))
    assert missing <= {"float0"}  # it is there, and is no name of ``import *``
    assert dtypes.float0 is not None
    with pytest.raises(TypeError, match=r"not a number|not understood|scalar_type_of"):
        dtypes.scalar_type_of("S3")


# ---- lax -----------------------------------------------------------------------------------------


def test_enumerations_have_the_members_of_jax() -> None:
    for name in ("Precision", "DotAlgorithmPreset", "RandomAlgorithm", "AccuracyMode"):
        ours, theirs = getattr(lax, name), getattr(jax.lax, name)
        assert {m.name for m in theirs} == {m.name for m in ours}, name
    assert str(lax.Precision.HIGHEST) == str(jax.lax.Precision.HIGHEST)
    for preset in jax.lax.DotAlgorithmPreset:
        ours = lax.DotAlgorithmPreset[preset.name]
        if preset.name != "DEFAULT" and "ANY_F8_ANY_F8_ANY" not in preset.name:
            assert ours.accumulation_type == preset.accumulation_type, preset
    assert lax.canonicalize_precision("high") == (lax.Precision.HIGH,) * 2
    with pytest.raises(ValueError, match="precision must be"):
        lax.canonicalize_precision("exact")
    with pytest.raises(ValueError, match="must not be negative"):
        lax.Tolerance(atol=-1)
    x = np.ones((2, 2), np.float32)
    assert lax.dot(x, x, precision=lax.Precision.HIGHEST).shape == (2, 2)


RNG = np.random.default_rng(0)
IMAGE = RNG.normal(size=(2, 3, 6, 7)).astype(np.float32)
LAX_CASES: dict[str, Any] = {
    "approx_max_k": lambda m: m.approx_max_k(IMAGE, 2, 2),
    "approx_min_k": lambda m: m.approx_min_k(IMAGE, 3),
    "patches": lambda m: m.conv_general_dilated_patches(IMAGE, (2, 3), (1, 2), "SAME"),
    "patches last": lambda m: m.conv_general_dilated_patches(
        IMAGE.transpose(0, 2, 3, 1), (2, 2), (1, 1), "VALID",
        dimension_numbers=("NHWC", "OIHW", "NHWC"),
    ),
    "local": lambda m: m.conv_general_dilated_local(
        IMAGE, LOCAL, (1, 1), "VALID", (2, 2)
    ),
    "ragged_dot": lambda m: m.ragged_dot(IMAGE[0, 0], RAGGED, np.int32([2, 0, 3])),
    "barrier": lambda m: m.optimization_barrier((IMAGE, IMAGE[0])),
    "conv_shape": lambda m: np.int32(m.conv_shape_tuple((2, 3, 9), (4, 3, 2), (2,), [(1, 0)])),
    "conv_general_shape": lambda m: np.int32(
        m.conv_general_shape_tuple(
            (2, 9, 8, 3), (2, 3, 3, 4), (1, 2), "SAME", ("NHWC", "HWIO", "NHWC")
        )
    ),
    "window_shape": lambda m: np.int32(
        m.reduce_window_shape_tuple((9, 8), (2, 3), (2, 1), ((1, 0), (0, 0)))
    ),
    "composite": lambda m: m.composite(lambda x, *, k: x * k, "my.scale")(IMAGE, k=2),
}  # fmt: skip
LOCAL = RNG.normal(size=(5, 3 * 4, 5, 6)).astype(np.float32)
RAGGED = RNG.normal(size=(3, 7, 2)).astype(np.float32)


@pytest.mark.parametrize("name", LAX_CASES)
def test_functions_of_lax_are_those_of_jax(name: str) -> None:
    ours = fc.tree.leaves(LAX_CASES[name](lax))
    theirs = jax.tree.leaves(LAX_CASES[name](jax.lax))
    for a, b in zip(ours, theirs, strict=True):
        assert (np.shape(a), np.asarray(a).dtype) == (np.shape(b), np.asarray(b).dtype)
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def test_what_lax_refuses() -> None:
    with pytest.raises(ValueError, match="recall_target must lie"):
        lax.approx_max_k(IMAGE, 2, recall_target=2.0)
    with pytest.raises(ValueError, match=r"lhs must be \[m, k\]"):
        lax.ragged_dot(IMAGE, RAGGED, np.int32([1, 2, 3]))
    with pytest.raises(ValueError, match="to must be"):
        lax.pcast(IMAGE, to="x")
    with pytest.raises(ValueError, match="name must be a string"):
        lax.composite(lambda x: x, "")


# ---- image ---------------------------------------------------------------------------------------

METHODS = ["nearest", "linear", "cubic", "lanczos3", "lanczos5"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("shape", "antialias"), [((9, 5), True), ((3, 4), True), ((3, 4), False)])
def test_images_are_resized_as_in_jax(method: str, shape: tuple[int, int], antialias: bool) -> None:
    image = IMAGE[0, 0]
    ours = fc.image.resize(image, shape, method, antialias)
    theirs = jax.image.resize(image, shape, method, antialias)
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_images_are_scaled_and_moved_as_in_jax() -> None:
    image, scale, move = IMAGE[0, 0], np.float32([1.7, 0.6]), np.float32([0.3, -1.2])
    ours = fc.image.scale_and_translate(image, (9, 5), (0, 1), scale, move, "cubic")
    theirs = jax.image.scale_and_translate(image, (9, 5), (0, 1), scale, move, "cubic")
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    whole = np.int32([[1, 2], [3, 4]])
    assert fc.image.resize(whole, (4, 4), "nearest").dtype == np.int32
    assert fc.image.resize(whole, (4, 4), "linear").dtype == np.float32
    for call, text in [
        (lambda: fc.image.resize(image, (3, 3), "best"), "method must be one of"),
        (lambda: fc.image.resize(image, (3,), "linear"), "must have 2 sizes"),
        (
            lambda: fc.image.scale_and_translate(image, (9, 5), (0, 1), scale, move, "nearest"),
            "nearest is not defined",
        ),
    ]:
        with pytest.raises(ValueError, match=text):
            call()


# ---- test_util -----------------------------------------------------------------------------------


@pytest.mark.usefixtures("x64")
def test_derivatives_that_are_right_pass_and_others_do_not() -> None:
    x = fnp.array(np.linspace(0.3, 1.2, 3), "float64")
    fc.test_util.check_grads(lambda v: fnp.sin(v) * v, (x,), order=2)

    @fc.custom_jvp
    def wrong(v: Any) -> Any:
        return fnp.sin(v)

    wrong.defjvp(lambda primals, tangents: (wrong(*primals), tangents[0] * 2))
    for modes in (["fwd"], ["rev"]):
        with pytest.raises(AssertionError):
            fc.test_util.check_grads(wrong, (x,), order=1, modes=modes)
    with pytest.raises(ValueError, match="modes must be"):
        fc.test_util.check_grads(fnp.sin, (x,), order=1, modes=["x"])
    with pytest.raises(ValueError, match="order must be"):
        fc.test_util.check_grads(fnp.sin, (x,), order=0)

    def jvp_of(f: Any) -> Any:
        return lambda primals, tangents: fc.jvp(f, primals, tangents)

    fc.test_util.check_jvp(fnp.sin, jvp_of(fnp.sin), (x,))
    fc.test_util.check_vjp(fnp.sin, lambda *xs: fc.vjp(fnp.sin, *xs), (x,))
    with pytest.raises(
        AssertionError, match=r"^check_jvp\(sin\): derivative: fwd mode: the derivative of"
    ):
        fc.test_util.check_jvp(fnp.sin, jvp_of(wrong), (x,))
    with pytest.raises(
        AssertionError, match=r"^ours check_vjp\(sin\): derivative: rev mode: the derivative of"
    ):
        fc.test_util.check_vjp(fnp.sin, lambda *xs: fc.vjp(wrong, *xs), (x,), err_msg="ours")


def test_hand_written_derivatives_of_trees_are_checked() -> None:
    def f(p: Any, n: Any) -> Any:
        return {"y": p["x"] ** 2 * n, "sum": p["x"].sum()}

    def f_jvp(primals: Any, tangents: Any) -> Any:
        (p, n), t = primals, tangents[0]["x"]
        return f(p, n), {"y": 2 * p["x"] * n * t, "sum": t.sum()}

    def f_vjp(p: Any, n: Any) -> Any:
        def pullback(ct: Any) -> Any:
            return {"x": 2 * p["x"] * n * ct["y"] + ct["sum"]}, None

        return f(p, n), pullback

    args = ({"x": np.float32([0.5, -1.5])}, 3)
    fc.test_util.check_jvp(f, f_jvp, args)
    fc.test_util.check_vjp(f, f_vjp, args)
    other = ({"x": np.float32([0.5, -1.5])}, 4)
    with pytest.raises(AssertionError, match="fwd mode changes the result 1"):
        fc.test_util.check_jvp(f, lambda p, t: f_jvp(other, t), args)
    with pytest.raises(AssertionError, match="rev mode changes the result 1"):
        fc.test_util.check_vjp(f, lambda p, n: f_vjp(*other), args)
    square = (np.complex64([1 + 2j, -0.5j]),)
    fc.test_util.check_jvp(lambda z: z * z, lambda p, t: (p[0] * p[0], 2 * p[0] * t[0]), square)
    with pytest.raises(AssertionError, match="imaginary part of"):
        fc.test_util.check_jvp(
            lambda z: z * z, lambda p, t: (p[0] * p[0], 2 * p[0] * fnp.conj(t[0])), square
        )
