"""Runs every check of a table in the processes that mpirun has started, in order.

``python run.py TABLE [ARGUMENT…]``: calls the functions of the module that begin with ``check_``,
each with the arguments. A process prints what failed, and ends with 1 after the last check.
"""

from __future__ import annotations

import importlib
import sys
import traceback

import farcall as fc

fc.distributed.initialize(timeout=60)
table = importlib.import_module(sys.argv[1])
failed = 0
checks = [name for name in vars(table) if name.startswith("check_")]
for name in checks:
    try:
        getattr(table, name)(*sys.argv[2:])
    except Exception:
        failed += 1
        print(f"process {fc.process_index()}: {name}\n{traceback.format_exc()}", flush=True)
if fc.process_index() == 0:
    print(f"{len(checks)} checks ran", flush=True)
sys.exit(1 if failed else 0)
