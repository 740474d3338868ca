"""Runs of a library written for JAX, on JAX or on farcall under its name, each in a process.

A script ``<library>_runs.py`` has ``runs(jax, jnp)``, which yields pairs of a name and a function
without parameters, and ends with ``main(runs)``. Called as ``script.py farcall|jax [part of a
name…]``, it writes a pickle to standard output: by name of the run a list of numpy arrays, or the
text of an error. With parts, of the runs whose names have one of them.
"""

from __future__ import annotations

import functools
import pickle
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Runs = Iterator[tuple[str, Callable[[], Any]]]


def main(runs: Callable[[Any, Any], Runs]) -> None:
    host, *parts = sys.argv[1:]
    warnings.simplefilter("ignore")
    if host == "farcall":
        import farcall

        farcall.as_jax()
    import jax
    import jax.numpy as jnp

    assert "farcall" in jax.Array.__module__ or host == "jax"
    assert jax.__version__
    found: dict[str, Any] = {}
    for name, call in runs(jax, jnp):
        if parts and not any(part in name for part in parts):
            continue
        try:
            found[name] = [np.asarray(leaf) for leaf in jax.tree.leaves(call())]
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}\n{traceback.format_exc()}"
    pickle.dump(found, sys.stdout.buffer)


@functools.cache
def results(library: str, host: str, parts: tuple[str, ...] = ()) -> dict[str, Any]:
    """What the script ``<library>_runs.py`` gives on the host."""
    script = Path(__file__).with_name(f"{library}_runs.py")
    command = [sys.executable, str(script), host, *parts]
    return pickle.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def failures(library: str) -> dict[str, str]:
    """The runs that end with an error on farcall."""
    return {
        name: found for name, found in results(library, "farcall").items() if isinstance(found, str)
    }


def differences(
    library: str,
    parts: tuple[str, ...] = (),
    *,
    tolerance: float,
    loose: Mapping[str, float] | None = None,
) -> dict[str, str]:
    """The runs whose results differ from JAX's. ``loose`` has tolerances by part of a name."""
    ours, theirs = results(library, "farcall"), results(library, "jax", parts)
    assert theirs
    assert set(theirs) <= set(ours)
    wrong = {}
    for name, wanted in theirs.items():
        assert not isinstance(wanted, str), f"{name}: {wanted}"
        near = next((t for part, t in (loose or {}).items() if part in name), tolerance)
        for a, b in zip(ours[name], wanted, strict=True):
            if (a.shape, a.dtype) != (b.shape, b.dtype):
                wrong[name] = f"{a.dtype}{a.shape} and {b.dtype}{b.shape}"
            elif not np.allclose(a, b, rtol=near, atol=near / 10, equal_nan=True):
                wrong[name] = f"{a} and {b}"
    return wrong
