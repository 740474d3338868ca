"""The program of a seed."""

from __future__ import annotations

from random_programs.meshes import steps
from random_programs.meshes.program import Program, Spec
from random_programs.meshes.writer import Writer


def generate(seed: int) -> Program:
    """Half of the programs are about shard_map, half about shardings of jit."""
    w = Writer(seed)
    is_mapped = seed % 2 == 0
    parts = list(w.mesh.values())
    for _ in range(2 + w.below(2)):
        shape = tuple(w.choose([1, 2, 4, *parts, 4 * parts[0]]) for _ in range(1 + w.below(2)))
        w.input(shape)
    w.write(steps.STEPS_OUTSIDE if not is_mapped else steps.ARRAYS, w.below(3))
    with w.where(differentiates=True):  # so that any way of calling it has derivatives
        w.write([steps.shard_map], 1 if is_mapped else w.below(2))
    w.write(steps.STEPS_OUTSIDE, w.below(3) if is_mapped else 2 + w.below(6))
    values = [v for v in w.blocks[0].values if v.is_float]
    results = [values[-1], *(w.choose(values) for _ in range(2 + w.below(4)))]
    lines = [f"def program({', '.join(v.name for v, _ in w.inputs)}):"]
    lines += [f"    {line}" for line in w.blocks[0].lines]
    lines.append(f"    return ({', '.join(v.name for v in results)},)")
    count = len(w.inputs)
    placed: list[Spec | None] = [None] * count
    in_specs: list[Spec | None] = [None] * count
    for i, (value, _) in enumerate(w.inputs):
        if w.chance(0.6):
            (placed if w.chance(0.5) else in_specs)[i] = steps.random_spec(w, value.shape)
    wanted = [w.chance(0.5) and w.chance(0.8) for _ in results]
    out_specs = [
        steps.random_spec(w, v.shape) if is_wanted else None
        for v, is_wanted in zip(results, wanted, strict=True)
    ]
    has_specs = any(spec is not None for spec in [*in_specs, *out_specs])
    return Program(
        seed,
        dict(w.mesh),
        "\n".join(lines) + "\n",
        tuple(array for _, array in w.inputs),
        tuple(placed),
        tuple(in_specs),
        tuple(out_specs),
        has_specs or w.chance(0.7),
    )
