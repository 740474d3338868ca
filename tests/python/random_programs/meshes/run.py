"""Running many programs."""

from __future__ import annotations

import collections
import sys

from tqdm import tqdm

from random_programs.meshes.check import check
from random_programs.meshes.generate import generate
from random_programs.meshes.shrink import shrink


def run(seeds: range, show: int, engines: tuple[str, ...]) -> int:
    """Runs the programs of these seeds; prints what fails, made small. Returns their number."""
    skipped: collections.Counter[str] = collections.Counter()
    failed = 0
    with tqdm(seeds, unit="program", disable=None) as progress:
        for seed in progress:
            progress.set_postfix(seed=seed, refresh=False)
            outcome = check(generate(seed), engines)
            if outcome.skipped:
                skipped[outcome.skipped.partition("\n")[0][:90]] += 1
            failed += bool(outcome.failures)
            for engine in outcome.failures if failed <= show else ():
                small = check(shrink(outcome.program, engine), (engine,))
                text = f"# {engine}: {small.failures.get(engine)}\n{small.program}"
                progress.write(text, file=sys.stdout)
    for reason, count in skipped.most_common(5):
        print(f"not compared: {count}: {reason}")
    print(f"{failed} of {len(seeds)} programs failed")
    return failed
