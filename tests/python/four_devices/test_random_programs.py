"""Random programs over meshes give what they give in JAX; ``python -m random_programs.meshes``
looks further."""

from __future__ import annotations

import dataclasses

import farcall as fc
import numpy as np
from random_programs.meshes.check import check
from random_programs.meshes.generate import generate
from random_programs.meshes.program import Program
from random_programs.meshes.shrink import shrink

PROGRAMS = 10
ENGINE = fc.devices()[0].engine


def test_programs_give_what_they_give_in_jax() -> None:
    outcomes = [check(generate(seed), (ENGINE,)) for seed in range(PROGRAMS)]
    for outcome in outcomes:
        assert not outcome.failures, f"{outcome.failures}\n{outcome.program}"
    assert sum(outcome.skipped is not None for outcome in outcomes) <= 1


def test_the_programs_have_every_collective_transformation_and_way_to_place_arrays() -> None:
    programs = [generate(seed) for seed in range(150)]
    text = "\n".join(program.source for program in programs)
    names = ["psum(", "pmean(", "all_gather(", "psum_scatter(", "ppermute(", "all_to_all("]
    names += ["axis_index(", "scan(", "while_loop(", "fori_loop(", "cond(", "switch("]
    for name in [*names, "with_sharding_constraint("]:
        assert f"lax.{name}" in text
    for name in ["shard_map(", "vmap(", "jit(", "grad(", "jvp(", "vjp(", "checkpoint("]:
        assert f"fc.{name}" in text
    assert "check_vma=True" in text
    assert "check_vma=False" in text
    for part in ("placed", "in_specs", "out_specs"):
        assert any(any(getattr(program, part)) for program in programs)
    assert len({tuple(program.axes.items()) for program in programs}) >= 4


SUMS = """
def program(x, y):
    def body(x, y):
        z = fnp.sin(x) * 2
        total = lax.psum({function}(x), "a")
        return total, z
    f = fc.shard_map(body, mesh=mesh, in_specs=(P("a"), P()), out_specs=(P(), P("a")))
    u, v = f(x, y)
    return (u + 1, v)
"""


def sums(function: str) -> Program:
    inputs = (np.arange(4.0), np.ones(3))
    return Program(0, {"a": 4}, SUMS.format(function=function), inputs, *((None,) * 2,) * 3, True)


def test_what_differs_is_found_and_made_small() -> None:
    wrong = sums("(lambda x: x + 1e-3 * (fc.__name__ == 'farcall'))")
    assert not check(sums("fnp.tanh"), (ENGINE,)).failures
    assert "result 0: array(" in check(wrong, (ENGINE,)).failures[ENGINE]
    small = shrink(wrong, ENGINE)
    assert len(small.out_specs) == 1
    assert "u, v = f(x, y)\n    return (u,)" in small.source.replace("(u + 1,)", "(u,)")
    assert check(small, (ENGINE,)).failures
    error = sums("(lambda x: x if fc.__name__ == 'jax' else 1 / 0)")
    assert "ZeroDivisionError" in check(error, (ENGINE,)).failures[ENGINE]


def test_shardings_are_compared() -> None:
    placed = dataclasses.replace(sums("fnp.tanh"), out_specs=(None, (("a",),)))
    assert not check(placed, (ENGINE,)).failures
