"""Programs taken apart: equations, variables, literals, and drawings."""

from __future__ import annotations

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi

V = fc.ShapeDtypeStruct((3,), "float32")


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([1.0, 2.0, 3.0])


@pytest.fixture
def program(x) -> fc.Program:
    call = ffi.ffi_call("walked", V, has_side_effect=True, input_layouts=[(0,)])
    inner = fc.jit(lambda a: call(a, eps=np.float32(0.5), name="n", deep={"k": 1}))
    return fc.make_jaxpr(lambda a: inner(a) * 2.0 + np.ones(3, np.float32))(x)


def test_equations_have_primitive_operands_and_results(program):
    jit, mul, add = program.equations
    assert program.eqns[1].primitive == mul.primitive != add.primitive
    assert [str(e.primitive) for e in program.eqns] == ["jit", "mul", "add"]
    assert jit.invars == program.invars
    assert mul.invars[0] == jit.outvars[0]
    assert add.invars[1] == program.constvars[0]
    assert program.outvars == add.outvars
    assert mul.outvars[0].aval == V
    assert repr(mul) == "Equation(mul: (f32[3], f32[]) -> (f32[3]))"
    literal = mul.invars[1]
    assert (literal.val.item(), literal.aval.shape, repr(literal)) == (2.0, (), "Literal(2.0)")
    assert program.consts[0].tolist() == [1.0, 1.0, 1.0]
    assert program.jaxpr == program


def test_variables_are_of_one_program(program, x):
    other = fc.make_jaxpr(lambda a: a + 1)(x)
    assert program.invars[0] != other.invars[0]
    assert len({program.invars[0], program.equations[0].invars[0], other.invars[0]}) == 2


def test_params_are_python_values(program):
    jit = program.equations[0]
    assert set(jit.params) == {"name", "jaxpr"}
    assert jit.params["name"] == "<lambda>"
    assert jit.programs == {"jaxpr": jit.params["jaxpr"]}
    params = jit.params["jaxpr"].equations[0].params
    assert params["target_name"] == "walked"
    assert params["attributes"] == {"eps": np.float32(0.5), "name": "n", "deep": {"k": 1}}
    assert params["attributes"]["eps"].dtype == np.float32
    assert params["input_layouts"] == ((0,),)
    assert params["result_types"] == (V,)
    assert params["vmap_method"] is None
    assert params["has_side_effect"] is True


def test_effects_and_locations(program):
    assert program.effects == {"side_effect"}
    assert [set(e.effects) for e in program.equations] == [{"side_effect"}, set(), set()]
    file, line, function = program.equations[1].location
    assert (file, function) == (__file__, "<lambda>")
    assert line > 0
    assert fc.parse_program(program.to_text()).equations[1].location is None


def test_walk_goes_into_nested_programs(program):
    assert [(e.primitive.name, depth) for e, depth in program.walk()] == [
        ("jit", 0),
        ("ffi_call", 1),
        ("mul", 0),
        ("add", 0),
    ]


def test_users(program):
    jit, mul, add = program.equations
    assert [e.primitive for e in program.users(jit.outvars[0])] == [mul.primitive]
    assert program.users(add.outvars[0]) == [None]
    with pytest.raises(ValueError, match="users: the variable belongs to another program"):
        program.users(jit.params["jaxpr"].invars[0])


def test_substitute(x):
    program = fc.make_jaxpr(lambda a, s: fnp.sin(a) * s)(x, 2.0)
    sine = program.equations[0].outvars[0]
    assert program.substitute({sine: program.invars[0]})(x, 3.0)[0].tolist() == [3.0, 6.0, 9.0]
    fixed = program.substitute({program.invars[1]: np.float32(4), sine: program.invars[0]})
    assert fixed(x, 0.0)[0].tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(ValueError, match=r"a variable of type f32\[3\] cannot become 1.0 of type"):
        program.substitute({sine: 1.0})
    with pytest.raises(TypeError, match="the keys must be variables of the program, got 'a'"):
        program.substitute({"a": sine})
    with pytest.raises(ValueError, match="the variable belongs to another program"):
        program.substitute({sine: fc.make_jaxpr(fnp.sin)(x).invars[0]})


def test_cost_of_each_equation_adds_up(program):
    total = program.cost_analysis()
    for key in total:
        assert total[key] == sum(e.cost_analysis()[key] for e in program.equations)
    assert total["flops"] == 6


def test_drawings(program):
    svg, dot = program.to_svg(), program.to_dot()
    assert svg == program._repr_svg_()
    assert svg.startswith("<svg")
    assert 'class="foreign"' in svg
    assert "subgraph cluster0" in dot
    assert "2 more equations" in program.to_svg(max_equations=1)


# ---- lowered and compiled ----


def test_what_lowered_and_compiled_tell(x):
    jitted = fc.jit(lambda a, *, k: {"r": a * k["s"]}, donate_argnums=0)
    lowered = jitted.lower(x, k={"s": x})
    for described in (lowered, lowered.compile()):
        assert described.in_avals == ((V,), {"k": {"s": V}})
        assert described.out_avals == described.out_info == {"r": V}
        assert described.out_tree == fc.tree.structure({"r": 0})
        assert described.in_tree == fc.tree.structure(((0,), {"k": {"s": 0}}))
        assert described.program == lowered.program
        assert described.as_text() == described.as_text("jaxpr") == lowered.program.to_text()
        positional, keywords = described.args_info
        assert (positional[0].donated, keywords["k"]["s"].donated) == (True, False)
        assert (positional[0].shape, positional[0].dtype) == ((3,), np.float32)
        with pytest.raises(ValueError, match=r'as_text: dialect must be .* got "hlo"'):
            described.as_text("hlo")


def test_memory_analysis():
    big = fc.ShapeDtypeStruct((1000,), "float32")
    memory = fc.jit(lambda a: (fnp.sin(a) @ a, a[:2])).lower(big).compile().memory_analysis()
    assert memory.argument_size_in_bytes == 4000
    assert memory.output_size_in_bytes == 12
    assert 4000 <= memory.temp_size_in_bytes < 8000
    assert memory.alias_size_in_bytes == memory.generated_code_size_in_bytes == 0
    donated = fc.jit(lambda a: a + a, donate_argnums=0).lower(big).compile().memory_analysis()
    assert donated.alias_size_in_bytes == 4000
    assert "argument_size_in_bytes=4000" in repr(donated)
