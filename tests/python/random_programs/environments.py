"""The same bits on every instruction set, with and without machine code, clusters and threads.

They are selected at the start of a process, so each environment has its own process, which prints
a line for each program.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import farcall as fc
import numpy as np

from random_programs.generate import generate
from random_programs.program import Program, function, source, traits
from random_programs.views import Setting, can_run
from random_programs.writer import StepFailedError


@dataclasses.dataclass(frozen=True)
class Environment:
    isa: str
    jit: str = "0"
    fusion: str = "1"
    threads: int = 2  # or fewer, on a machine with one processor

    def variables(self) -> dict[str, str]:
        return {
            "FARCALL_ISA": self.isa,
            "FARCALL_JIT": self.jit,
            "FARCALL_FUSION": self.fusion,
        }


# Each environment is compared with the previous ones.
ENVIRONMENTS = (
    Environment("baseline"),
    Environment("sse4"),
    Environment("avx2"),
    Environment("avx2", jit="always", threads=1),
    Environment("avx512", threads=1),
    Environment("avx512", jit="always"),
    Environment("avx512", fusion="0"),
)
# Products of floats have a fixed order of additions; products and sums are fused if possible.
FUSING = ("avx2", "avx512")
PRODUCTS = ("dot_general", "conv_general_dilated")
# From a view, which decides whether the program can run, to the function and its arguments.
WAYS = {
    "jit": ("program", "inputs"),
    "jit of vmap": ("fc.vmap(program, axes)", "batch"),
    "jit of jvp": ("along", "[*chosen, *tangents]"),
    "jit of vjp": ("back", "[*chosen, *cotangents]"),
}


# ---- one environment ----


def _word(what: Any, args: Sequence[Any]) -> str:
    """Runs the compiled function; its loops have machine code if possible."""
    jitted: Any = fc.jit(what)
    lowered = jitted.lower(*args)
    compiled = lowered.compile()
    compiled.report()  # compiles the code now
    bits = _bits(compiled(*args))
    has_product = any(name in lowered.as_text() for name in PRODUCTS)
    return f"{bits} of products" if has_product else bits


def _bits(results: Any) -> str:
    """A short checksum of shapes, dtypes and bits; all NaNs count as equal."""
    total = hashlib.sha256()
    for leaf in fc.tree.leaves(results):
        array = np.asarray(leaf)
        total.update(f"{array.dtype}{array.shape}".encode())
        if array.dtype.kind in "fc" or array.dtype.name.startswith(("float", "bfloat")):
            array = array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
            array = np.array(array).reshape(-1).view(np.float64)
            array[np.isnan(array)] = np.nan
        total.update(array.tobytes())
    return total.hexdigest()[:16]


def _line(program: Program) -> str:
    setting = Setting(function(program), program.inputs, program.seed)
    missing = traits(program)
    words = []
    for view, (what, args) in WAYS.items():
        if not can_run(view, program, missing):
            continue
        try:
            word = _word(setting.evaluate(what), setting.evaluate(args))
        except Exception as error:
            word = type(error).__name__
        words.append(f"{view}: {word}")
    return "; ".join(words)


def print_lines(seeds: range) -> None:
    """The work of a process in its environment."""
    with fc.enable_x64(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in seeds:
            try:
                print(_line(generate(seed)), flush=True)
            except StepFailedError as error:
                print(error.kind, flush=True)


# ---- all environments ----


class UnsupportedError(Exception):
    """The processor or the build lacks the instruction set."""


def _lines(environment: Environment, seeds: range) -> list[str]:
    """The checksums of a process that runs in the environment."""
    script = f"""
import os
os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{environment.threads}])
from random_programs.environments import print_lines
print_lines({seeds!r})
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **environment.variables(), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if "is not supported by this processor or this build" in done.stderr:
        raise UnsupportedError
    if done.returncode != 0 or len(lines := done.stdout.splitlines()) != len(seeds):
        at = seeds[min(len(done.stdout.splitlines()), len(seeds) - 1)]
        raise RuntimeError(f"{environment}: the process ended at seed {at}\n{done.stderr}")
    return lines


def _differs(got: str, wanted: str, fuse_alike: bool) -> bool:
    if fuse_alike:
        return got != wanted
    pairs = zip(got.split("; "), wanted.split("; "), strict=True)
    return any(a != b and not b.endswith(" of products") for a, b in pairs)


def differences(seeds: range) -> Iterator[tuple[int, str]]:
    """The seeds of programs that differ between two environments, and the differences."""
    before: dict[bool, list[str]] = {}  # key: whether products are fused
    for environment in ENVIRONMENTS:
        try:
            lines = _lines(environment, seeds)
        except UnsupportedError:
            continue
        fuses = environment.isa in FUSING
        for other, others in before.items():
            for seed, got, wanted in zip(seeds, lines, others, strict=True):
                if _differs(got, wanted, other == fuses):
                    yield seed, f"{environment}: {got}\ninstead of {wanted}"
        before.setdefault(fuses, lines)


def run(seeds: range, show: int) -> int:
    """Prints the programs that differ, and returns their number."""
    found: dict[int, list[str]] = collections.defaultdict(list)
    for seed, what in differences(seeds):
        found[seed].append(what)
    for seed in list(found)[:show]:
        print(f"# Seed {seed}")
        print("\n".join(f"# {line}" for what in found[seed] for line in what.splitlines()))
        with fc.enable_x64(), np.errstate(all="ignore"):
            print(source(generate(seed)))
    print(f"{len(found)} of {len(seeds)} programs differ")
    return len(found)
