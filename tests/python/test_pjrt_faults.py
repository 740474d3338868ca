"""The engine of PJRT plugins in forked processes, and interrupted. Each in its own process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from farcall._plugins import find_plugin

pytestmark = pytest.mark.skipif(not find_plugin(), reason="no PJRT plugin is installed")

BEGIN = """
import faulthandler, os, sys
faulthandler.dump_traceback_later(100, exit=True)
import numpy as np, farcall as fc, farcall.numpy as fnp
x = np.float32([0.25, 0.5])
"""
ENVIRONMENT = {**os.environ, "FARCALL_ENGINE": "pjrt"}


def test_programs_are_refused_in_a_forked_process() -> None:
    code = """
f = fc.jit(lambda x: x * 2)
y = f(x)
pid = os.fork()
if pid == 0:
    assert y.tolist() == [0.5, 1]
    for work in (f, fc.jit(fnp.sin)):
        try:
            work(x)
        except RuntimeError as error:
            assert "was forked" in str(error) and "spawn" in str(error), error
        else:
            os._exit(1)
    with fc.default_device(fc.devices("native")[0]):
        assert fc.jit(lambda x: x * 3)(x).tolist() == [0.75, 1.5]
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert f(x).tolist() == [0.5, 1]
"""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + code],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


LOOPS = {
    "native operations": "fc.jit(lambda n, x: fc.lax.fori_loop("
    "0, n, lambda i, a: fc.scipy.special.ndtri(a) * 0 + 0.5, x))",
    "XLA's operations": "fc.jit(lambda n, x: fc.lax.while_loop("
    "lambda c: c[0] < n, lambda c: (c[0] + 1, fnp.sin(c[1]) * 0 + 0.5), (0, x))[1])",
    "a shard_map": "fc.jit(fc.shard_map(lambda n, x: fc.lax.while_loop(lambda c: c[0] < n, "
    "lambda c: (c[0] + 1, fc.lax.psum(c[1], 'd') * 0 + 0.5), (0, x))[1], mesh=mesh, "
    "in_specs=(fc.P(), fc.P('d')), out_specs=fc.P('d')))",
    "a scan": "fc.jit(lambda n, x: fc.lax.scan("
    "lambda c, _: (fnp.sin(c) * 0 + 0.5, None), x, None, length=n)[0], static_argnums=0)",
    "a scan of scans": "fc.jit(lambda n, x: fc.lax.fori_loop(0, 3, lambda i, x: fc.lax.scan("
    "lambda c, _: (fnp.sin(c) * 0 + 0.5, None), x, None, length=n)[0], x), static_argnums=0)",
    "a loop of loops": "fc.jit(lambda n, x: fc.lax.fori_loop(0, 3, lambda i, x: fc.lax.while_loop("
    "lambda c: c[0] < n, lambda c: (c[0] + 1, fnp.sin(c[1]) * 0 + 0.5), "
    "(0, fnp.broadcast_to(x, (20000, 2))))[1][0], x))",
    "a scan in a shard_map": "fc.jit(lambda n, x: fc.shard_map(lambda x: fc.lax.scan("
    "lambda c, _: (fc.lax.psum(c, 'd') * 0 + 0.5, None), x, None, length=n)[0], mesh=mesh, "
    "in_specs=fc.P('d'), out_specs=fc.P('d'))(x), static_argnums=0)",
}


@pytest.mark.parametrize(
    ("devices", "loop"),
    [(1, name) for name in LOOPS] + [(2, name) for name in LOOPS if name != "a loop of loops"],
)
def test_a_loop_is_interrupted(devices: int, loop: str) -> None:
    code = f"""
mesh = fc.make_mesh((fc.device_count(),), ("d",))
x = fc.device_put(x, fc.NamedSharding(mesh, fc.P("d")))
f = {LOOPS[loop]}
f(3, x).block_until_ready()
print("running", flush=True)
try:
    f(2_000_000_000, x).block_until_ready()
except KeyboardInterrupt:
    assert f(3, x).tolist() == [0.5, 0.5]
    print("interrupted")
"""
    with subprocess.Popen(
        [sys.executable, "-c", BEGIN + code],
        env={**ENVIRONMENT, "FARCALL_NUM_CPU_DEVICES": str(devices)},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "running\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=110)[0] == "interrupted\n"
    assert process.returncode == 0
