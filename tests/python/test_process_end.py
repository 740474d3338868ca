"""Threads that use farcall while the interpreter ends, and objects that die with it.

Nothing of farcall may run without the interpreter. What happens depends on the moment, so that each
process is started several times and ends at another moment each time.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
    import atexit, faulthandler, sys, threading, time
    faulthandler.dump_traceback_later(60, exit=True)
    import numpy as np, farcall as fc
    import farcall.numpy as fnp
    X = np.arange(4, dtype=np.float32)

    def forever(*functions):
        started = threading.Barrier(len(functions) + 1)
        def run(function):
            function()
            started.wait()
            while True:
                function()
        for function in functions:
            threading.Thread(target=run, args=(function,), daemon=True).start()
        started.wait()
        time.sleep(MOMENT)
"""

# Bodies that leave threads running, or objects behind.
ENDS = {
    "recording": """
        def record():
            fc.jit(lambda x: [fnp.sin(x) * i for i in range(20)])(X)
        forever(record, record, record)
    """,
    "running": """
        brief, long = fc.jit(fnp.sin), fc.jit(lambda x: fc.lax.fori_loop(
            0, 2000, lambda i, c: fnp.sin(c), x))
        forever(lambda: brief(X), lambda: long(X), lambda: brief(fnp.ones(100_000)))
    """,
    "running for long": """
        f = fc.jit(lambda x: fc.lax.fori_loop(0, 10**12, lambda i, c: fnp.sin(c), x))
        f.lower(X).compile()
        for _ in range(2):
            threading.Thread(target=f, args=(X,), daemon=True).start()
        time.sleep(0.1 + MOMENT)
    """,
    "callbacks": """
        def slow(x):
            sum(range(1000))
            return x
        f = fc.jit(lambda x: fc.pure_callback(slow, x, x))
        def debug(x):
            fc.debug.callback(slow, x)
            return x
        g = fc.jit(lambda x: fc.lax.map(debug, x))
        forever(lambda: f(X), lambda: g(X), lambda: fc.vmap(fnp.sin)(X))
    """,
    "transformations": """
        def f(x):
            return fnp.sum(fnp.sin(x) * sum(range(100)))
        rule = fc.custom_jvp(f)
        rule.defjvp(lambda primals, tangents: (f(*primals), f(*tangents)))
        forever(lambda: fc.grad(f)(X), lambda: fc.vmap(fc.grad(f))(fnp.ones((2, 3))),
                lambda: fc.jvp(rule, (X,), (X,)))
    """,
    "trees": """
        class Node:
            def __init__(self, *children):
                self.children = children
        fc.tree_util.register_pytree_node(
            Node, lambda n: (n.children, sum(range(50))), lambda _, c: Node(*c))
        value = [Node(1, {"a": Node(2.0, X)}) for _ in range(20)]
        is_leaf = lambda x: isinstance(x, dict) and sum(range(50)) < 0
        forever(lambda: fc.tree.map(lambda x: x, value, is_leaf=is_leaf),
                lambda: fc.jit(lambda v: v)(value), lambda: fc.tree.flatten(value, is_leaf))
    """,
    "text and errors": """
        def wrong():
            for call in (lambda: fc.lax.cumsum(X, 1.5), lambda: fnp.reshape(X, (3,)),
                         lambda: fc.jit(lambda x: 1 / 0)(X), lambda: fnp.sin("a")):
                try:
                    call()
                except Exception as error:
                    str(error)
        array = fnp.ones((20, 20))
        forever(wrong, lambda: repr(array), lambda: np.asarray(array) + fnp.asarray(X.copy()).sum())
    """,
    "objects that die on other threads": """
        f = fc.jit(lambda *x: x)
        def adopt():
            arrays = [fnp.asarray(np.ones(1000)) for _ in range(20)]
            arrays.append(fnp.from_dlpack(np.ones(1000)))
            f(*arrays)
        def drop():
            g = fc.jit(lambda x: fc.pure_callback(lambda a: a, x, x))
            g(X)
        forever(adopt, adopt, drop)
    """,
    "at exit": """
        f = fc.jit(lambda x: fc.pure_callback(lambda a: a, x, x) * 2)
        f(X)
        atexit.register(lambda: f(X))
        class Late:
            def __del__(self):
                f(X)
                fc.jit(lambda x: fnp.cos(x))(X)
                fc.tree.flatten([1, {"a": 2}])
        late, cycle = Late(), Late()
        cycle.itself = cycle
        sys.late = Late()
        kept = fc.vjp(lambda x: fnp.sin(x), X)
        kept_as_well = fc.buffer_callback(lambda ctx, out, x: None, X)
        forever(lambda: f(X))
    """,
    "with an exception": """
        forever(lambda: fc.jit(lambda x: fnp.sin(x) * sum(range(100)))(X))
        sys.exit(0)
    """,
}


def end(body: str, moment: float) -> subprocess.CompletedProcess[str]:
    code = (textwrap.dedent(BEGIN) + textwrap.dedent(body)).replace("MOMENT", str(moment))
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def check_ends(body: str, times: int) -> None:
    for i in range(times):
        done = end(body, 0.003 * i)
        assert done.returncode == 0, f"exit status {done.returncode}: {done.stderr}"
        assert "terminate called" not in done.stderr
        assert "Fatal" not in done.stderr


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_process_ends_well_while_threads_use_farcall(body: str) -> None:
    check_ends(body, 2)


@pytest.mark.slow
@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_a_process_ends_well_at_many_moments(body: str) -> None:
    check_ends(body, 40)
