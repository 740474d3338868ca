"""Arrays that some processes save and others load: ``run.py checkpoints FOLDER save|load``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import farcall as fc
import numpy as np
from farcall import mpi
from farcall.experimental.multihost_utils import process_allgather
from operations import refused

W = np.arange(96, dtype=np.float32).reshape(12, 8)
SCALE = np.float32(2.5)
STEPS = np.arange(4, dtype=np.int32)


def shardings() -> dict[str, Any]:
    mesh = fc.make_mesh((fc.device_count(),), ("x",))
    return {
        "w": fc.NamedSharding(mesh, fc.P("x")),
        "columns": [fc.NamedSharding(mesh, fc.P(None, "x"))],
        "scale": fc.NamedSharding(mesh, fc.P()),
        "steps": None,
    }


def values() -> dict[str, Any]:
    return {"w": W, "columns": [(W + 1).astype("float16")], "scale": SCALE, "steps": STEPS}


def check_saved_and_loaded(folder: str, what: str) -> None:
    path = Path(folder) / "state"
    placed = fc.device_put(values(), shardings())
    if what == "save":
        fc.distributed.save(path, fc.tree.map(lambda x: x * 0, placed))
        fc.distributed.save(path, placed)  # in place of the first
    loaded = fc.distributed.load(path, placed)
    for ours, like, wanted in zip(*map(fc.tree.leaves, (loaded, placed, values())), strict=True):
        assert ours.dtype == wanted.dtype
        assert ours.sharding == like.sharding
        whole = np.asarray(ours) if ours.is_fully_addressable else process_allgather(ours)
        np.testing.assert_array_equal(whole, wanted)
    types = fc.tree.map(lambda x: fc.ShapeDtypeStruct(x.shape, x.dtype), placed)
    plain = fc.distributed.load(path, types)
    np.testing.assert_array_equal(plain["w"], W)
    again = fc.distributed.load(path, types, shardings())
    assert again["w"].sharding == placed["w"].sharding
    assert not list(path.parent.glob(".*"))
    refused(ValueError, "like has", fc.distributed.load, path, {"w": placed["w"]})
    wrong = {**types, "w": fc.ShapeDtypeStruct((12, 7), "float32")}
    refused(ValueError, "was saved as float32[12, 8]", fc.distributed.load, path, wrong)
    refused(FileNotFoundError, "was not written by", fc.distributed.load, path / "nothing", placed)


def own(error: type[Exception], words: str, *args: Any) -> None:
    """``save`` fails in process 0, and the others say so."""
    is_own = fc.process_index() == 0
    refused(error if is_own else RuntimeError, words if is_own else "process 0 failed", *args)


def check_what_cannot_be_saved(folder: str, _: str) -> None:
    path, save = Path(folder) / "of_somebody", fc.distributed.save
    path.mkdir(exist_ok=True)
    (path / "notes.txt").write_text("mine")
    own(FileExistsError, "that distributed.save has not written", save, path, {"w": W})
    own(FileExistsError, "there is a file", save, path / "notes.txt", {"w": W})
    own(OSError, "proc", save, "/proc/nobody/state", {"w": W})
    assert (path / "notes.txt").read_text() == "mine"
    arrays = {"w": W, "b": W} if fc.process_index() == 0 else {"w": W}
    refused(RuntimeError, "different programs", save, path / "state", arrays)
    mpi.barrier()  # process 0 has removed what it wrote
    assert not list(path.glob(".*"))


def check_damaged_files(folder: str, _: str) -> None:
    path, like = Path(folder) / "damaged", {"w": W, "n": 3}
    fc.distributed.save(path, like)
    np.testing.assert_array_equal(fc.distributed.load(path, like)["w"], W)
    mpi.barrier()
    if fc.process_index() == 0:
        (path / "0.bin").unlink()
        file = path / "1_0-12_0-8.bin"
        file.write_bytes(file.read_bytes()[:7])
    mpi.barrier()
    refused(ValueError, "is missing, and 4 bytes were saved", fc.distributed.load, path, like)
    mpi.barrier()
    if fc.process_index() == 0:
        (path / "0.bin").write_bytes(b"1234")
    mpi.barrier()
    refused(ValueError, "has 7 bytes, and 384 bytes were saved", fc.distributed.load, path, like)
    mpi.barrier()
    if fc.process_index() == 0:
        (path / "farcall_arrays.json").write_text('{"version"')
    mpi.barrier()
    refused(ValueError, "is damaged", fc.distributed.load, path, like)
