"""Comparing what a program gives with JAX: values, dtypes, shardings and shards."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import farcall as fc
import jax
import numpy as np

from random_programs.meshes.program import Program, System, farcall_on, jax_on_host, run

TOLERANCES = {"float64": 1e-8, "float32": 2e-3}
ENGINES = ("native", "pjrt")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """``failures``: what differs, by engine. ``skipped``: why JAX could not tell."""

    program: Program
    failures: dict[str, str]
    skipped: str | None = None


def check(program: Program, engines: tuple[str, ...] = ENGINES) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with fc.enable_x64(), jax.enable_x64(True):
            try:
                wanted = run(program, jax_on_host())
                for x in wanted:
                    x.block_until_ready()
            except Exception as error:
                return Outcome(program, {}, f"{type(error).__name__}: {error}")
            found = {engine: failure(program, farcall_on(engine), wanted) for engine in engines}
    failures = {engine: what for engine, what in found.items() if what}
    if failures and "float32" in program.source:  # perhaps by rounding
        failures = check(in_double(program), tuple(failures)).failures
    return Outcome(program, failures)


def in_double(program: Program) -> Program:
    return dataclasses.replace(
        program,
        source=program.source.replace("float32", "float64"),
        inputs=tuple(x.astype(np.float64) for x in program.inputs),
    )


def failure(program: Program, system: System, wanted: list[Any]) -> str | None:
    """What differs, in words; None where nothing does."""
    try:
        got = run(program, system)
        for number, (ours, theirs) in enumerate(zip(got, wanted, strict=True)):
            what = _difference(program, ours, theirs, program.out_specs[number] is not None)
            if what is not None:
                return f"result {number}: {what}"
    except Exception as error:
        if "Failed after spmd-partitioning" in str(error):  # of XLA, with JAX too
            return None
        return f"{type(error).__name__}: {error}"
    return None


def _difference(program: Program, ours: Any, theirs: Any, is_placed: bool) -> str | None:
    if (ours.shape, ours.dtype) != (theirs.shape, theirs.dtype):
        return f"{ours.dtype}{ours.shape} instead of {theirs.dtype}{theirs.shape}"
    values, oracle = np.asarray(ours), np.asarray(theirs)
    if not np.all(np.isfinite(oracle)):
        return None
    atol = TOLERANCES[oracle.dtype.name] * max(1.0, np.abs(oracle).max(initial=0.0))
    if not np.allclose(values, oracle, rtol=0, atol=atol):
        return f"{values!r} instead of {oracle!r}"
    for shard in ours.addressable_shards:
        if not np.array_equal(np.asarray(shard.data), values[shard.index], equal_nan=True):
            return f"the shard {shard.index} is {shard.data!r}, not a part of {values!r}"
    if not is_placed:
        return None
    if _entries(ours) != _entries(theirs):
        return f"its sharding is {ours.sharding} instead of {theirs.sharding}"
    places = [[(s.device.id, s.index) for s in x.addressable_shards] for x in (ours, theirs)]
    if sorted(places[0], key=str) != sorted(places[1], key=str):
        return f"its shards are {places[0]} instead of {places[1]}"
    return None


def _entries(array: Any) -> list[Any]:
    """The spec, without the ways to write it."""
    spec = getattr(array.sharding, "spec", ())
    entries = [(e,) if isinstance(e, str) else tuple(e or ()) for e in spec]
    while entries and not entries[-1]:
        entries.pop()
    return entries
