"""The command line: looks further than the tests do, over four devices of each system."""

from __future__ import annotations

import argparse
import os
import sys

os.environ.setdefault("FARCALL_NUM_CPU_DEVICES", "4")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
FLAGS = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=4"
os.environ.setdefault("XLA_FLAGS", FLAGS)

from random_programs.meshes.check import ENGINES  # noqa: E402
from random_programs.meshes.run import run  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(prog="random_programs.meshes", description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="how many to run")
    parser.add_argument("--seed", type=int, default=0, help="that of the first one")
    parser.add_argument(
        "--show", type=int, default=10, help="how many failures to shrink and print"
    )
    parser.add_argument("--engine", choices=ENGINES, help="run this one only")
    args = parser.parse_args()
    engines = (args.engine,) if args.engine else ENGINES
    return int(run(range(args.seed, args.seed + args.programs), args.show, engines) > 0)


if __name__ == "__main__":
    sys.exit(main())
