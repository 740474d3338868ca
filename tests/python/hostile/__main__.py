"""The command line: makes more calls than the tests do."""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import importlib
import re
import sys

from hostile.work import Finding, Job, findings, work

TARGETS = ("arguments", "trees", "memory")


def make_one_call(job: Job) -> None:
    """Here, so that its traceback is seen."""
    target = importlib.import_module(f"hostile.{job.target}")
    call = target.plan(job.seed, job.begin)
    print(call, flush=True)
    target.run(call)


def kind_of(finding: Finding) -> tuple[str, str]:
    """Findings with one cause, as far as their texts tell."""
    return finding.call.partition("(")[0], re.sub(r"\d+|'[^']*'|\[.*", "", finding.what)[:80]


def make_calls(job: Job, jobs: int) -> int:
    """Prints findings, three of each kind; how many there are."""
    kinds: collections.Counter[tuple[str, str]] = collections.Counter()

    def part(number: int) -> None:
        for finding in findings(job._replace(begin=job.begin + number, step=jobs)):
            kind = kind_of(finding)
            kinds[kind] += 1
            if kinds[kind] <= 3:
                print(f"{finding.index}: {finding.call[:400]}\n    {finding.what}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(part, range(jobs)))
    return sum(kinds.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="hostile", description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--calls", type=int, default=100_000, help="how many to make")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0, help="the number of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--only", type=int, help="make the call of this number alone, here")
    parser.add_argument("--work", type=int, nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.work:
        work(Job(args.target, *args.work))
        return 0
    if args.only is not None:
        make_one_call(Job(args.target, args.seed, args.only, args.only + 1))
        return 0
    job = Job(args.target, args.seed, args.begin, args.begin + args.calls)
    total = make_calls(job, args.jobs)
    print(f"{total} findings in {args.calls} calls of {args.target}, seed {args.seed}")
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
