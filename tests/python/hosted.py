"""The handlers of jax_hosted.cpp in JAX and in farcall, and calls that several tests make."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from handler_library import load
from hosts import HOSTS, Host

SOURCE = "jax_hosted.cpp"
TARGETS = [
    "double",
    "axpy",
    "describe",
    "scalars",
    "small_floats",
    "complexes",
    "rich",
    "optional",
    "variadic",
    "token",
    "user_data",
    "fail",
    "throw",
    "picky",
    "parallel",
    "num_threads",
    "future",
    "ids",
    "scratch",
    "stream",
]

F32 = ((), np.float32)
S64 = ((), np.int64)
BYTES = ((256,), np.uint8)


def register_all(host: Host, library: ctypes.CDLL, prefix: str = "") -> None:
    for name in TARGETS:
        host.register(f"{prefix}hosted_{name}", library, symbol=f"hosted_{name}")
    host.register(
        f"{prefix}hosted_plan",
        library,
        {"instantiate": "hosted_plan_instantiate", "execute": "hosted_plan"},
    )


def registered() -> ctypes.CDLL:
    """The library, its handlers registered with both."""
    made = load(SOURCE)
    for host in HOSTS:
        register_all(host, made)
    return made


def in_both(target: str, results: Any, *args: Any, **kwargs: Any) -> Any:
    """The result, equal to the bit in both runtimes."""
    first, second = (host.call(target, results, *args, **kwargs) for host in HOSTS)
    for ours, theirs in zip(_listed(second), _listed(first), strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
    return second


def _listed(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, (list, tuple)) else [results]


def failure_in_both(target: str, results: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    """Code and text, equal in both runtimes."""
    theirs, ours = (
        host.failure(lambda host=host: host.call(target, results, *args, **kwargs))
        for host in HOSTS
    )
    assert ours == theirs
    return ours


def text_of(result: np.ndarray) -> str:
    return result.tobytes().rstrip(b"\0").decode()


# Attributes of hosted_scalars, of hosted_rich, and what hosted_picky wants.

SCALARS = {
    "b": True,
    "i8": np.int8(-128),
    "i16": np.int16(-32768),
    "i32": np.int32(-(2**31)),
    "i64": -(2**63),
    "u8": np.uint8(255),
    "u16": np.uint16(65535),
    "u32": np.uint32(2**32 - 1),
    "u64": np.uint64(2**63 - 1),
    "f32": np.float32(0.1),
    "f64": 0.1,
}

RICH: dict[str, Any] = {
    "view": "sëen",
    "owned": "",
    "ints": np.array([1, -2], np.int32),
    "floats": np.array([], np.float64),
    "mode": np.int32(7),
    "window": {"size": 3, "scale": np.float32(0.5), "name": "w"},
    "extra": {"y": "z", "x": 1},
    "either": "text",
}

PICKY: dict[str, Any] = {
    "n": 1,
    "name": "a",
    "weights": np.ones(2, np.float32),
    "mode": np.int32(1),
    "window": {"size": 1, "name": "w"},
}
PICKY_ARGS = (np.ones((2, 2), np.float32), np.ones(1, np.int32))
PICKY_RESULT = ((3,), np.float64)
# Arguments, result, further attributes, and the handler's answer.
EVERY_MISTAKE: tuple[Any, Any, dict[str, Any], str] = (
    (np.ones(3, np.float32),),
    ((), np.float32),
    {"speed": 1},
    "4 problems: wanted 2 arguments, got 1; argument 0: wanted f32[?,?], got f32[3]; "
    "result 0: wanted f64[?], got f32[]; "
    'attribute "speed": unknown (wanted "n", "name", "weights", "mode", "window")',
)
