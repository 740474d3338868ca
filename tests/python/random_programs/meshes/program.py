"""Programs over a mesh: Python source that runs with farcall's modules and with JAX's."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.lax
import jax.numpy as jnp
import numpy as np
from farcall import lax

Spec = tuple[tuple[str, ...], ...]  # the axes over which each dimension is split


@dataclasses.dataclass(frozen=True)
class Program:
    """``source`` defines ``program``, a function of arrays, over a mesh with these axes.

    ``inputs``: the arguments. ``placed``: the specs of those that are put on the mesh before the
    call. ``in_specs``, ``out_specs``: the shardings that jit gets; None where it gets none.
    ``is_jitted``: whether farcall compiles the whole program; JAX always does.
    """

    seed: int
    axes: dict[str, int]
    source: str
    inputs: tuple[np.ndarray, ...]
    placed: tuple[Spec | None, ...]
    in_specs: tuple[Spec | None, ...]
    out_specs: tuple[Spec | None, ...]
    is_jitted: bool

    def __str__(self) -> str:
        data = [f"# {name} = {getattr(self, name)!r}" for name in ("axes", "placed")]
        data += [f"# {name} = {getattr(self, name)!r}" for name in ("in_specs", "out_specs")]
        shapes = ", ".join(f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return "\n".join([f"# Seed {self.seed}", *data, f"# inputs: {shapes}", self.source])


@dataclasses.dataclass(frozen=True)
class System:
    """farcall with an engine, or JAX."""

    root: Any
    numpy: Any
    lax: Any
    devices: Callable[[], list[Any]]
    varying: Callable[[Any], frozenset[str]]

    def sharding(self, program: Program, spec: Spec) -> Any:
        entries = [axes if len(axes) != 1 else axes[0] for axes in spec]
        partition = self.root.sharding.PartitionSpec(*(entry or None for entry in entries))
        return self.root.sharding.NamedSharding(self.mesh(program), partition)

    def mesh(self, program: Program) -> Any:
        sizes = tuple(program.axes.values())
        grid = np.empty(int(np.prod(sizes)), dtype=object)
        grid[:] = self.devices()[: grid.size]
        types = (self.root.sharding.AxisType.Auto,) * len(sizes)
        return self.root.sharding.Mesh(grid.reshape(sizes), tuple(program.axes), types)

    def vary(self, x: Any, axes: tuple[str, ...]) -> Any:
        """The array, marked as varying over all of these axes."""
        missing = tuple(name for name in axes if name not in self.varying(x))
        return self.lax.pcast(x, missing, to="varying") if missing else x


def farcall_on(engine: str) -> System:
    return System(fc, fnp, lax, lambda: fc.devices(engine), lambda x: fc.typeof(x).vma)


def jax_on_host() -> System:
    def varying(x: Any) -> frozenset[str]:
        return jax.typeof(x).manual_axis_type.varying

    return System(jax, jnp, jax.lax, lambda: jax.devices("cpu"), varying)


def run(program: Program, system: System) -> list[Any]:
    """The results."""
    mesh = system.mesh(program)
    names = {
        "fc": system.root,
        "fnp": system.numpy,
        "lax": system.lax,
        "np": np,
        "P": system.root.sharding.PartitionSpec,
        "NamedSharding": system.root.sharding.NamedSharding,
        "mesh": mesh,
        "vary": system.vary,
    }
    exec(compile(program.source, f"<program {program.seed}>", "exec"), names)

    def shardings(specs: tuple[Spec | None, ...]) -> Any:
        return tuple(spec if spec is None else system.sharding(program, spec) for spec in specs)

    function = names["program"]
    if program.is_jitted or system.root is jax:
        given: dict[str, Any] = {}
        if any(spec is not None for spec in program.in_specs):
            given["in_shardings"] = shardings(program.in_specs)
        if any(spec is not None for spec in program.out_specs):
            given["out_shardings"] = shardings(program.out_specs)
        function = system.root.jit(function, **given)
    as_array = system.numpy.asarray if function is names["program"] else np.asarray
    inputs = [
        as_array(x) if where is None else system.root.device_put(x, where)
        for x, where in zip(program.inputs, shardings(program.placed), strict=True)
    ]
    return list(function(*inputs))
