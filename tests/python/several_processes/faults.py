"""What goes wrong in one process: ``python faults.py NAME``. Process 1 is the one to blame."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import farcall as fc
import numpy as np
from farcall import lax, mpi

fc.distributed.initialize(timeout=100 if sys.argv[1] == "waits" else 4)
ME, N = fc.process_index(), fc.process_count()
X = np.ones((fc.device_count() * 2, 3), np.float32)


def over_all(f: Any) -> Any:
    mesh = fc.make_mesh((fc.device_count(),), ("x",))
    return fc.shard_map(f, mesh=mesh, in_specs=fc.P("x"), out_specs=fc.P(), check_vma=False)


def wait_for_others() -> None:
    print(float(mpi.allreduce(np.float32(1))))


def raises() -> None:
    if ME == 1:
        raise LookupError("a file is missing here")
    wait_for_others()


def ends() -> None:
    if ME != 1:
        wait_for_others()


def raises_in_a_callback() -> None:
    def own(v: Any) -> Any:
        if ME == 1:
            raise LookupError("a file is missing here")
        return v

    def body(v: Any) -> Any:
        v = fc.pure_callback(own, fc.ShapeDtypeStruct(v.shape, v.dtype), v)
        return lax.psum(v.sum(), "x")

    over_all(body)(X)


def is_late() -> None:
    if ME == 1:
        time.sleep(60)
    wait_for_others()


def branches_alone() -> None:
    """A collective that one process does not run."""

    def body(v: Any) -> Any:
        go = lax.axis_index("x") * N // fc.device_count() != 1
        return lax.cond(go, lambda u: lax.psum(u, "x"), lambda u: u, v.sum())

    over_all(body)(X)
    wait_for_others()


def receives_other_sizes() -> None:
    """The message is larger than the memory for it."""
    if ME == 0:
        mpi.send(X, 1)
    else:
        mpi.recv(X[:1], source=0)
    wait_for_others()


def receives_other_dtype() -> None:
    if ME == 0:
        mpi.send(X, 1)
    else:
        mpi.recv(X.astype("int32"), source=0)
    wait_for_others()


def is_interrupted() -> None:
    if ME == 1:
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        signal.alarm(1)
        mpi.recv(X, source=0)
    wait_for_others()


def waits() -> None:
    mpi.barrier()
    if ME == 0:
        print("ready", flush=True)
    mpi.recv(X, source=1 - ME)


def is_killed() -> None:
    if ME == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    wait_for_others()


globals()[sys.argv[1]]()
