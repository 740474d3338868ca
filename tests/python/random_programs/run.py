"""Running many programs."""

from __future__ import annotations

import collections
import concurrent.futures
import dataclasses
import multiprocessing
import re
import sys
import warnings
from collections.abc import Iterator, Sequence

import farcall as fc
import numpy as np
from tqdm import tqdm

from random_programs.check import Failure, check
from random_programs.generate import generate
from random_programs.program import Body, Program, all_steps, function, traits
from random_programs.shrink import shrink
from random_programs.views import VIEWS, Setting, can_run, primitives
from random_programs.writer import StepFailedError

CHUNK = 50
EMPTY = Program(0, Body("program", (), (), (), (), ()), ())  # where none was made


def failures_of(seed: int, engine: str | None = None) -> list[Failure]:
    """The ways in which the program of this seed fails, as they were found."""
    # numpy, which computes in 64 bits, is the oracle.
    with fc.enable_x64(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = EMPTY
        try:
            program = generate(seed)
            return list(check(program, engine))
        except StepFailedError as error:
            return [Failure(error.program, "program", str(error), error.kind)]
        except Exception as error:  # numpy runs out of memory, for instance
            what = f"its test raised {type(error).__name__}: {error}"
            return [Failure(dataclasses.replace(program, seed=seed), "test", what, "test")]


def shrunk(failure: Failure) -> Failure:
    if failure.view == "test":
        return failure
    # numpy, which computes in 64 bits, is the oracle.
    with fc.enable_x64(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return shrink(failure)


def covered(program: Program) -> set[str]:
    """The primitives that occur when the program is recorded, transformed or not."""
    setting = Setting(function(program), program.inputs, program.seed)
    missing = traits(program)
    names: set[str] = set()
    for name, view in VIEWS.items():
        if view.recorded and can_run(name, program, missing - {"no text"}):
            names |= primitives(setting.evaluate(view.recorded))
    # Collectives are gone when their vmap has been recorded.
    for step in all_steps(program.body):
        names |= set(re.findall(r"lax\.(\w+)\(", step.text)) & set(COLLECTIVES)
    return names


COLLECTIVES = ("psum", "pmax", "pmin", "all_gather", "all_to_all", "ppermute", "axis_index")


def _run_chunk(seeds: Sequence[int], engine: str | None) -> list[Failure]:
    return [failure for seed in seeds for failure in failures_of(seed, engine)]


def _all_failures(seeds: range, jobs: int, engine: str | None, progress: tqdm) -> Iterator[Failure]:
    if jobs == 1:
        for seed in seeds:
            progress.set_postfix(seed=seed, refresh=False)
            yield from failures_of(seed, engine)
            progress.update()
        return
    chunks = [seeds[i : i + CHUNK] for i in range(0, len(seeds), CHUNK)]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
        futures = {pool.submit(_run_chunk, chunk, engine): chunk for chunk in chunks}
        for future in concurrent.futures.as_completed(futures):
            chunk = futures[future]
            try:
                yield from future.result()
            except concurrent.futures.process.BrokenProcessPool:
                sys.exit(
                    f"a process died, perhaps at one of the seeds {chunk[0]} to {chunk[-1]}; "
                    f"--seed {chunk[0]} --programs {len(chunk)} --jobs 1 shows where"
                )
            progress.update(len(chunk))


def run(seeds: range, jobs: int, show: int, engine: str | None = None) -> int:
    """Runs the programs of these seeds; prints what fails, made small. Returns their number.

    With an ``engine``, what it computes is compared with the native one.
    """
    counts: collections.Counter[str] = collections.Counter()
    failed: set[int] = set()
    with tqdm(total=len(seeds), unit="program", disable=None) as progress:
        for failure in _all_failures(seeds, jobs, engine, progress):
            if failure.program.seed not in failed and len(failed) < show:
                progress.write(f"{shrunk(failure)}\n", file=sys.stdout)
            failed.add(failure.program.seed)
            counts[failure.view] += 1
    for view, count in counts.most_common():
        print(f"{view}: {count}")
    print(f"{len(failed)} of {len(seeds)} programs failed")
    return len(failed)
