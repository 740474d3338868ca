#!/usr/bin/env python3
"""One peer in a process of its own: reads commands as lines of JSON and answers each with one.

{"do": "prepare", "row": name, "result": path}   compiles, warms up, saves the result's leaves
{"do": "time", "ns": n}                          nanoseconds of a call, over a block of n
{"do": "memory"}                                 bytes above the arguments: peak of a call, held
{"do": "drop"}                                   forgets the row
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pathlib
import sys
import time
from typing import Any

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from peers.rows import all_rows


def make_peer(name: str) -> Any:
    if name in ("farcall", "jax"):
        from peers.traced import Traced

        return Traced(name)
    from peers import eager

    return {"numpy": eager.Numpy, "torch": eager.Torch, "numba": eager.Numba}[name]()


def resident(field: str) -> int:
    """A size of this process from its status, in bytes."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(field)


def rest() -> None:
    """Gives back what is not used."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


class Worker:
    def __init__(self, peer: Any):
        self.peer = peer
        self.rows = all_rows()
        self.call: Any = None
        self.one = 0.0  # nanoseconds of a call, about
        self.before = 0  # bytes of this process before the row

    def prepare(self, row: str, result: str) -> dict[str, Any]:
        rest()
        self.before = resident("VmRSS")
        try:
            which = self.rows[row]
            self.call = self.peer.prepare(which.function, which.arguments(), which.is_call)
            value = self.call()
        except Exception as error:  # a peer need not have every function for every dtype
            return {"missing": f"{type(error).__name__}: {error}"}
        leaves = [np.asarray(leaf) for leaf in self.peer.leaves(value)]
        wide = [
            leaf.astype("complex128" if leaf.dtype.kind == "c" else "float64") for leaf in leaves
        ]
        np.savez(result, *wide)
        del value, leaves, wide
        self.call()
        start = time.perf_counter_ns()
        rounds = 0
        while rounds < 3 or (rounds < 1000 and time.perf_counter_ns() - start < 2e6):
            self.call()
            rounds += 1
        self.one = (time.perf_counter_ns() - start) / rounds
        return {"ns": self.one}

    def time(self, ns: float) -> dict[str, float]:
        call, count = self.call, max(1, int(ns / max(self.one, 1)))
        rounds = range(count)
        start = time.perf_counter_ns()
        for _ in rounds:
            call()
        return {"ns": (time.perf_counter_ns() - start) / count}

    def memory(self) -> dict[str, int]:
        rest()
        with open("/proc/self/clear_refs", "w") as refs:
            refs.write("5")  # the peak begins anew
        self.call()
        peak = resident("VmHWM")
        rest()
        return {
            "peak": max(0, peak - self.before),
            "held": max(0, resident("VmRSS") - self.before),
        }

    def drop(self) -> dict[str, Any]:
        self.call = None
        return {}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    peer = make_peer(sys.argv[1])
    worker = Worker(peer)
    print(json.dumps({"version": peer.version}), file=answers, flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = getattr(worker, command.pop("do"))(**command)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
