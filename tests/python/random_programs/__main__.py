"""The command line: looks further than the tests do."""

from __future__ import annotations

import argparse
import sys

from random_programs import derivatives, environments
from random_programs.run import run


def main() -> int:
    parser = argparse.ArgumentParser(prog="random_programs", description=__doc__)
    parser.add_argument("--programs", type=int, default=10000, help="how many to run")
    parser.add_argument("--seed", type=int, default=0, help="that of the first one")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument(
        "--show", type=int, default=10, help="how many failures to shrink and print"
    )
    parser.add_argument(
        "--derivatives",
        action="store_true",
        help="compare first, second and third derivatives at special points with JAX",
    )
    parser.add_argument(
        "--environments",
        action="store_true",
        help="compare bits on every instruction set, with and without machine code and clusters",
    )
    parser.add_argument(
        "--engine", choices=["pjrt"], help="compare this engine with the native one"
    )
    args = parser.parse_args()
    seeds = range(args.seed, args.seed + args.programs)
    if args.derivatives:
        return int(derivatives.run(seeds, args.jobs, args.show) > 0)
    if args.environments:
        return int(environments.run(seeds, args.show) > 0)
    return int(run(seeds, args.jobs, args.show, args.engine) > 0)


if __name__ == "__main__":
    sys.exit(main())
