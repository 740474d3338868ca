"""Programs as values: make_jaxpr, text and back, lower, compile and cost."""

from __future__ import annotations

import pickle

import farcall as fc
import farcall.numpy as fnp
import jax
import numpy as np
import pytest
from farcall import ffi, lax


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([1.0, 2.0, 3.0])


def test_a_program_prints_every_equation(x):
    program = fc.make_jaxpr(lambda a: fnp.sin(a) * 2 + np.ones(3, np.float32))(x)
    assert str(program) == (
        "{ lambda a:f32[3]=[1.0 1.0 1.0] ; b:f32[3]. let\n"
        "    c:f32[3] = sin b\n"
        "    d:f32[3] = mul c 2.0:f32[]\n"
        "    e:f32[3] = add d a\n"
        "  in (e,) }"
    )
    assert repr(program) == str(program)
    assert (program.num_equations, program.primitives) == (3, ["sin", "mul", "add"])
    assert program.in_avals == [x.aval]
    assert program.out_avals == [x.aval]
    program.verify()


def test_the_primitives_are_those_of_jax(x):
    def function(module):
        return lambda a: module.sum(module.exp(a) * a)

    ours = fc.make_jaxpr(function(fnp))(x).primitives
    theirs = jax.make_jaxpr(function(jax.numpy))(np.asarray(x))
    assert ours == [equation.primitive.name for equation in theirs.eqns]


PROGRAMS = {
    "arithmetic": lambda a: fnp.sin(a) * 2 + np.ones(3, np.float32),
    "weak": lambda a: (a, 2, 3.5, True, 1j),
    "shapes": lambda a: fnp.broadcast_to(a.reshape(3, 1).T, (2, 1, 3))[..., ::-1],
    "reductions": lambda a: (a.sum(), a.argmax(), a.mean(keepdims=True)),
    "constants": lambda a: a + np.array([np.nan, np.inf, -0.0]),
    "narrow": lambda a: a.astype("bfloat16") + fnp.ones(3, "bfloat16"),
    "products": lambda a: fnp.outer(a, a) @ a,
    "selection": lambda a: fnp.where(a > 1, a, lax.iota(np.float32, 3)),
    "nothing": lambda a: (),
    "unused": lambda a: (fnp.exp(a), a)[1],
    "foreign": lambda a: ffi.ffi_call("t", fc.ShapeDtypeStruct((3,), "float32"))(
        a,
        b=True,
        i=2,
        f=0.1,
        s='quo"te\n',
        z=np.arange(3, dtype=np.int8),
        d={"k": {"n": 2**64 - 1}},
    ),
    "layouts": lambda a: ffi.ffi_call(
        "t",
        (fc.ShapeDtypeStruct((3, 1), "float32"), ffi.abstract_token),
        input_layouts=[(1, 0)],
        output_layouts=[(1, 0), None],
        input_output_aliases={0: 0},
        has_side_effect=True,
        vmap_method="sequential",
    )(a.reshape(3, 1)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_reads_back_as_an_equal_program(name, x):
    program = fc.make_jaxpr(PROGRAMS[name])(x)
    again = fc.parse_program(program.to_text())
    assert again == program
    assert hash(again) == hash(program)
    assert again.to_text() == program.to_text()
    assert pickle.loads(pickle.dumps(program)) == program


@pytest.mark.parametrize("name", [n for n in PROGRAMS if n not in ("foreign", "layouts")])
def test_a_program_that_was_read_back_computes_the_same(name, x):
    program = fc.make_jaxpr(PROGRAMS[name])(x)
    flat = fc.tree.leaves(PROGRAMS[name](x))
    for results in (program(x), fc.parse_program(program.to_text())(x)):
        assert len(results) == len(flat)
        for got, expected in zip(results, flat, strict=True):
            np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=1e-6)


def test_programs_differ_by_what_they_compute(x):
    programs = [
        fc.make_jaxpr(f)(x)
        for f in (
            lambda a: a + 1,
            lambda a: a + 2,
            lambda a: a - 1,
            lambda a: 1 + a,
            lambda a: (a + 1, a),
            lambda a: a + np.ones(3, np.float32),
            lambda a: a + np.zeros(3, np.float32),
        )
    ]
    for i, a in enumerate(programs):
        for j, b in enumerate(programs):
            assert (a == b) == (i == j)
    assert programs[0] == fc.make_jaxpr(lambda b: b + 1)(x)
    assert programs[0] != None  # noqa: E711
    assert programs[0] != "text"


def test_long_constants_are_shortened_in_print_only():
    big = np.arange(100, dtype=np.float32)
    program = fc.make_jaxpr(lambda a: a + big)(big)
    assert "..." in str(program)
    assert "..." not in program.to_text()
    assert fc.parse_program(program.to_text()) == program


def test_make_jaxpr_takes_descriptions_and_static_arguments():
    spec = fc.ShapeDtypeStruct((2, 3), "float64")
    program = fc.make_jaxpr(lambda a, n: a * n, static_argnums=1)(spec, 3)
    assert program.in_avals == [spec]
    program, shapes = fc.make_jaxpr(lambda a: {"r": (a, a.sum())}, return_shape=True)(spec)
    assert shapes == {"r": (spec, fc.ShapeDtypeStruct((), "float64"))}
    assert fc.make_program is fc.make_jaxpr
    assert fc.make_jaxpr(fc.jit(lambda a: a + 1))(spec).primitives == ["jit"]


def test_eval_shape_computes_nothing():
    spec = fc.ShapeDtypeStruct((2**20, 2**10), "float32")
    assert fc.eval_shape(lambda a, k: {"s": a @ a.T, "k": k}, spec, k=3) == {
        "s": fc.ShapeDtypeStruct((2**20, 2**20), "float32"),
        "k": fc.ShapeDtypeStruct((), "int32", weak_type=True),
    }
    with pytest.raises((TypeError, ValueError), match="'a'"):
        fc.eval_shape(lambda a: a, "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", r"line 1, column 1: expected '\{'"),
        ("", "line 1"),
        ("{ lambda ; a:f32[3]. let b:f32[3] = frobnicate a in (b,) }", "frobnicate"),
        ("{ lambda ; a:f32[3]. let b:f32[3] = sin c in (b,) }", "c"),
        ("{ lambda ; a:f32[3]. let b:f32[4] = sin a in (b,) }", r"f32\[4\]"),
        ("{ lambda ; a:f99[3]. let  in (a,) }", "f99"),
        ("{ lambda ; a:f32[3]. let b:f32[3] = add a in (b,) }", "add"),
    ],
)
def test_text_that_is_no_program_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        fc.parse_program(text)


def test_a_program_checks_its_inputs(x):
    program = fc.make_jaxpr(lambda a: a + 1)(x)
    with pytest.raises(ValueError, match="the program takes 1 inputs, got 2"):
        program(x, x)
    with pytest.raises(ValueError, match=r"input 0 should be f32\[3\], got i32\[\]"):
        program(1)
    with pytest.raises(TypeError, match="program: input 0 must be an array or a number, got None"):
        program(None)


# ---- lower and compile ----


def test_lower_and_compile(x):
    jitted = fc.jit(lambda a, k=1.0: {"r": a * k})
    lowered = jitted.lower(x)
    assert lowered.as_text() == lowered.program.to_text()
    compiled = lowered.compile()
    np.testing.assert_array_equal(compiled(x)["r"], x)
    assert "mul" in compiled.as_text() or compiled.as_text()
    spec = fc.ShapeDtypeStruct((3,), "float32")
    compiled = jitted.lower(spec, k=spec).compile()
    np.testing.assert_array_equal(compiled(x, k=x)["r"], x * x)
    assert jitted._cache_size() == 0


def test_a_compiled_program_checks_its_arguments(x):
    compiled = fc.jit(lambda a: a + 1).lower(x).compile()
    with pytest.raises(TypeError, match=r"argument 0 should be f32\[3\], got f32\[2\]"):
        compiled(x[:2])
    with pytest.raises(TypeError, match="it takes arguments of structure"):
        compiled(x, x)
    with pytest.raises(TypeError, match="it takes arguments of structure"):
        compiled(a=x)


def test_static_arguments_of_lower(x):
    jitted = fc.jit(lambda a, n: a * n, static_argnums=1)
    np.testing.assert_array_equal(jitted.lower(x, 3).compile()(x, 3), x * 3)


def test_cost_analysis(x):
    lowered = fc.jit(lambda a: a * 2 + 1).lower(x)
    assert lowered.cost_analysis()["flops"] == 6
    assert lowered.cost_analysis()["bytes accessed"] > 0
    assert set(lowered.compile().cost_analysis()) == {"flops", "bytes accessed"}
    square = fc.ShapeDtypeStruct((8, 8), "float32")
    assert fc.jit(fnp.matmul).lower(square, square).cost_analysis()["flops"] == 2 * 8**3


# ---- what a function closes over ----


def test_a_numpy_array_that_is_used_twice_is_one_constant():
    weights = np.arange(4, dtype=np.float32)

    def f(x):
        return fc.lax.fori_loop(0, 2, lambda _, c: c * weights, x * weights + weights)

    program = fc.make_jaxpr(f)(np.ones(4, np.float32))
    assert len(program.consts) == 1
    np.testing.assert_array_equal(fc.jit(f)(np.ones(4, np.float32)), weights**3 * 2)


def test_a_numpy_array_that_was_written_to_between_two_uses_is_two_constants():
    weights = np.arange(4, dtype=np.float32)

    def f(x):
        y = x * weights
        weights[:] += 1
        z = y * weights[::2][:1] + weights
        weights[:] -= 1
        return z

    x = np.ones(4, np.float32)
    program = fc.make_jaxpr(f)(x)
    assert len(program.consts) == 3
    np.testing.assert_array_equal(fc.jit(f)(x), np.arange(4) + np.arange(4) + 1)


def test_the_cost_of_a_choice_is_that_of_its_dearest_branch(x):
    def flops(*branches):
        f = fc.jit(lambda i, a: lax.switch(i, branches, a))
        return f.lower(np.int32(0), x).cost_analysis()["flops"]

    def dear(a):
        return fnp.sin(fnp.cos(a))

    costs = {flops(dear, fnp.sin), flops(fnp.sin, dear), flops(fnp.sin, dear, fnp.cos)}
    assert len(costs) == 1
    assert costs.pop() > flops(fnp.sin, fnp.cos)


@pytest.mark.parametrize(("number", "wanted"), [(-3, 1), (0, 1), (1, -1), (2, 2), (9, 2)])
def test_the_number_of_a_branch_is_clamped(number, wanted):
    choice = (
        "cond[branches=({ lambda ; c:f32[]. let in (c,) },\n"
        "{ lambda ; d:f32[]. let e:f32[] = neg d in (e,) },\n"
        "{ lambda ; f:f32[]. let g:f32[] = add f f in (g,) })]"
    )
    read = fc.parse_program(f"{{ lambda ; a:i32[] b:f32[]. let h:f32[] = {choice} a b in (h,) }}")
    known = fc.parse_program(
        f"{{ lambda ; b:f32[]. let h:f32[] = {choice} {number}:i32[] b in (h,) }}"
    )
    one = np.float32(1)
    assert float(fc.jit(read)(np.int32(number), one)[0]) == wanted
    assert float(fc.jit(known)(one)[0]) == wanted
