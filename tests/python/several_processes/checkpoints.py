"""Arrays that some processes save and others load: ``run.py checkpoints FOLDER save|load``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import farcall as fc
import numpy as np
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
