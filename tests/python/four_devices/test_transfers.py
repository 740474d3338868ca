"""Transfers between the host and devices: their counts, and guards."""

from __future__ import annotations

import re
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall.sharding import NamedSharding

ENGINE = fc.devices()[0].engine
P = fc.P
X = np.arange(32, dtype=np.float32).reshape(8, 4)
MESH = fc.make_mesh((4,), ("x",))


def test_transfers_are_counted() -> None:
    def counted(function: Any) -> Any:
        before = fc.transfer_info()
        function()
        pairs = zip(before, fc.transfer_info(), strict=True)
        return [(new[0] - old[0], new[1] - old[1]) for old, new in pairs]

    first, second, third = fc.devices()[:3]
    x = fc.device_put(X, third)
    size = X.nbytes
    assert counted(lambda: fc.device_put(X, third)) == [(1, size), (0, 0), (0, 0)]
    assert counted(lambda: fc.device_put(x, second)) == [(0, 0), (0, 0), (1, size)]
    assert counted(lambda: x + x) == [(0, 0)] * 3
    assert counted(lambda: np.asarray(x)) == [(0, 0), (1, size), (0, 0)]
    assert counted(lambda: np.asarray(x)) == [(0, 0)] * 3  # the values are known now
    assert counted(lambda: x * X) == [(1, size), (0, 0), (0, 0)]
    rows = NamedSharding(MESH, P("x"))
    on_host = 1 if ENGINE == "native" else 0  # the first device has the host's memory
    parts = (4 - on_host, size // 4 * (4 - on_host))
    y = fc.device_put(X, rows)
    assert counted(lambda: fc.device_put(X, rows)) == [parts, (0, 0), (0, 0)]
    assert counted(lambda: np.asarray(y)) == [(0, 0), parts, (0, 0)]
    if ENGINE == "native":
        assert counted(lambda: fc.device_put(X, first) + X) == [(0, 0)] * 3


IMPLICIT: dict[str, Any] = {
    "host_to_device": lambda x: x + np.ones_like(X),
    "device_to_host": lambda x: np.asarray(x),
    "device_to_device": lambda x: fc.jit(lambda a: a + 1, device=fc.devices()[3])(x),
}
EXPLICIT: dict[str, Any] = {
    "host_to_device": lambda x: fc.device_put(np.ones_like(X), x.device),
    "device_to_host": fc.device_get,
    "device_to_device": lambda x: fc.device_put(x, fc.devices()[3]),
}


@pytest.mark.parametrize("direction", IMPLICIT)
def test_the_guard_of_transfers(direction: str, caplog: pytest.LogCaptureFixture) -> None:
    def fresh() -> Any:
        return fc.device_put(X, fc.devices()[2]) + 0  # its values are not on the host

    named = getattr(fc, f"transfer_guard_{direction}")
    text = f"{direction.replace('_', '-')} transfer of f32[8,4]"
    for guard in (fc.transfer_guard, named):
        x, y, z, w = fresh(), fresh(), fresh(), fresh()
        with guard("disallow"):
            with pytest.raises(RuntimeError, match=rf"implicit {re.escape(text)} .* is disallowed"):
                IMPLICIT[direction](x)
            EXPLICIT[direction](x)
            x + x
        with guard("disallow_explicit"):
            with pytest.raises(RuntimeError, match=rf"explicit {re.escape(text)} .* is disallowed"):
                EXPLICIT[direction](y)
            with guard("allow"):
                IMPLICIT[direction](y)
        with caplog.at_level("WARNING", "farcall"), guard("log"):
            IMPLICIT[direction](z)
            EXPLICIT[direction](w)
        assert [text in record.getMessage() for record in caplog.records] == [True]
        caplog.clear()
        IMPLICIT[direction](fresh())
    for other in IMPLICIT.keys() - {direction}:
        x = fresh()
        with getattr(fc, f"transfer_guard_{other}")("disallow"):
            IMPLICIT[direction](x)


def test_the_guard_is_a_flag_of_the_process() -> None:
    x = fc.device_put(X, fc.devices()[2]) + 0
    fc.config.update("transfer_guard", "disallow")
    try:
        assert fc.config.transfer_guard_device_to_host == "disallow"
        with pytest.raises(RuntimeError, match="implicit device-to-host"):
            float(x.sum())
        with fc.transfer_guard_device_to_host("allow"):
            float(x.sum())
    finally:
        fc.config.update("transfer_guard", None)
    float(x.sum())
    with pytest.raises(ValueError, match="transfer_guard must be"):
        fc.config.update("transfer_guard", "never")
