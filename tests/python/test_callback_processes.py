"""Callbacks and the process: interrupts, forks, children, and the end. Each in its own process."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals and fork")

BEGIN = """
    import faulthandler, os, signal, sys, threading, time
    faulthandler.dump_traceback_later(100, exit=True)
    import numpy as np, farcall as fc
    import farcall.numpy as fnp
    from farcall.experimental import io_callback
    from farcall.experimental.buffer_callback import buffer_callback
    X = np.arange(4, dtype=np.float32)

    def usable():
        f = fc.jit(lambda x: fc.pure_callback(lambda a: np.asarray(a) + 1, x, x) * 2)
        for _ in range(2):
            np.testing.assert_array_equal(f(X), (X + 1) * 2)
        x = fc.jit(lambda x: fc.lax.scan(lambda c, a: (c + a, c), x[0], x))(X)[0]
        assert float(x) == 6
"""


def script(body):
    return textwrap.dedent(BEGIN) + textwrap.dedent(body)


def output(body):
    command = [sys.executable, "-c", script(body)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- KeyboardInterrupt ----

LONG = {
    "a loop of callbacks": """
        count = 0
        def function(x):
            global count
            count += 1
            if count == 10: print("running", flush=True)
            return x
        run = fc.jit(lambda x: fc.lax.fori_loop(
            0, 10**9, lambda i, c: fc.pure_callback(function, c, c), x))
    """,
    "a loop of ordered effects": """
        def function(x):
            if int(x) == 10: print("running", flush=True)
        def body(i, c):
            io_callback(function, None, i, ordered=True)
            return c
        run = fc.jit(lambda x: fc.lax.fori_loop(0, 10**9, body, x))
    """,
    "a loop after a callback": """
        def body(i, c):
            return fnp.sin(c) + 1
        def f(x):
            fc.debug.callback(lambda: print("running", flush=True))
            return fc.lax.fori_loop(0, 10**9, body, x)
        run = fc.jit(f)
    """,
    "a while loop between callbacks": """
        def f(x):
            x = fc.pure_callback(lambda a: [print("running", flush=True), a][1], x, x)
            x = fc.lax.while_loop(lambda c: c[0] < 1e30, lambda c: c * 1.0, x)
            return fc.pure_callback(lambda a: a, x, x)
        run = fc.jit(f)
    """,
    "a callback that sleeps": """
        def function(x):
            print("running", flush=True)
            time.sleep(1000)
            return x
        run = fc.jit(lambda x: fc.pure_callback(function, x, x))
    """,
    "a program in a callback": """
        inner = fc.jit(lambda x: fc.lax.fori_loop(0, 10**9, lambda i, c: fnp.sin(c), x))
        def function(x):
            print("running", flush=True)
            return inner(x)
        run = fc.jit(lambda x: fc.pure_callback(function, x, x))
    """,
    "buffer callbacks in an eager scan": """
        def function(ctx, out, x):
            if np.asarray(x)[0] == 5: print("running", flush=True)
            np.asarray(out)[...] = np.asarray(x) + 1
        call = buffer_callback(function, fc.ShapeDtypeStruct((4,), np.float32))
        run = lambda x: fc.lax.scan(lambda c, _: (call(c), None), x, None, length=10**8)
    """,
}


@pytest.mark.parametrize("program", LONG.values(), ids=LONG)
def test_an_interrupt_stops_a_long_program_and_leaves_everything_usable(program):
    body = textwrap.dedent(program) + textwrap.dedent("""
        for _ in range(2):
            try:
                run(X)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
            else:
                print("ended", flush=True)
            if "count" in globals(): count = 0
            usable()
        print("usable", flush=True)
    """)
    code = textwrap.dedent(BEGIN) + body
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        for _ in range(2):
            assert child.stdout.readline() == "running\n", child.stderr.read()
            time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            assert child.stdout.readline() == "interrupted\n"
        assert child.stdout.readline() == "usable\n"
        assert child.wait(60) == 0
    finally:
        child.kill()
        child.wait()


def test_a_signal_handler_of_the_user_runs_during_a_program_and_may_raise():
    output("""
        class Alarm(Exception):
            pass
        def handler(number, frame):
            raise Alarm("now")
        signal.signal(signal.SIGALRM, handler)
        def function(x):
            return x
        run = fc.jit(lambda x: fc.lax.fori_loop(
            0, 10**8, lambda i, c: fc.pure_callback(function, c, c), x))
        for _ in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            try:
                run(X)
            except Alarm as error:
                assert str(error) == "now"
            else:
                raise AssertionError
            usable()
    """)


def test_a_signal_handler_that_returns_lets_the_program_go_on():
    output("""
        seen = []
        signal.signal(signal.SIGUSR1, lambda *args: seen.append(1))
        def function(x):
            if int(x) % 50 == 0:
                signal.raise_signal(signal.SIGUSR1)
            return x + 1
        run = fc.jit(lambda x: fc.lax.fori_loop(
            0, 200, lambda i, c: fc.pure_callback(function, c, c), x))
        assert int(run(np.int32(0))) == 200
        assert len(seen) == 4
    """)


def test_an_interrupt_of_the_main_thread_leaves_programs_of_other_threads_alone():
    output("""
        results = []
        def function(x):
            time.sleep(0.001)
            return x + 1
        f = fc.jit(lambda x: fc.lax.fori_loop(
            0, 100, lambda i, c: fc.pure_callback(function, c, c), x))
        threads = [threading.Thread(target=lambda: results.append(int(f(np.int32(0)))))
                   for _ in range(3)]
        for thread in threads: thread.start()
        def interrupt(x):
            signal.raise_signal(signal.SIGINT)
            return x
        try:
            fc.jit(lambda x: fc.lax.fori_loop(
                0, 10**8, lambda i, c: fc.pure_callback(interrupt, c, c), x))(np.int32(0))
        except KeyboardInterrupt:
            pass
        else:
            raise AssertionError
        for thread in threads: thread.join()
        assert results == [100] * 3
        usable()
    """)


# ---- other processes ----


def test_fork_in_and_after_programs_with_callbacks():
    assert (
        output("""
        usable()
        f = fc.jit(lambda x: fc.pure_callback(lambda a: fc.jit(fnp.sin)(a), x, x))
        f(X)
        def in_child(work):
            sys.stdout.flush()
            pid = os.fork()
            if pid == 0:
                try:
                    work()
                    os._exit(0)
                except BaseException:
                    import traceback
                    traceback.print_exc()
                    os._exit(1)
            assert os.waitpid(pid, 0)[1] == 0
        in_child(usable)
        in_child(lambda: np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6))
        def function(x):
            in_child(lambda: np.testing.assert_allclose(f(X), np.sin(X), rtol=1e-6))
            return x
        np.testing.assert_array_equal(fc.jit(lambda x: fc.pure_callback(function, x, x))(X), X)
        usable()
        print("done")
    """)
        == "done\n"
    )


def test_a_fork_while_other_threads_run_programs():
    output("""
        is_over = threading.Event()
        f = fc.jit(lambda x: fc.pure_callback(lambda a: np.asarray(a) + 1, x, x) * 2)
        def work():
            while not is_over.is_set():
                f(X)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads: thread.start()
        for _ in range(3):
            pid = os.fork()
            if pid == 0:
                signal.alarm(60)
                f(X)
                usable()
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        is_over.set()
        for thread in threads: thread.join()
    """)


CHILD = """
import numpy as np
import farcall as fc

def work(i):
    f = fc.jit(lambda x: fc.pure_callback(lambda a: np.asarray(a) * 2, x, x) + 1)
    return np.asarray(f(np.arange(3) + i)).tolist()
"""


@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_multiprocessing_workers_run_callbacks(tmp_path, method):
    (tmp_path / "worker.py").write_text(CHILD)
    (tmp_path / "main.py").write_text(
        script(f"""
        import multiprocessing, warnings
        warnings.simplefilter("ignore")
        if __name__ == "__main__":
            import worker
            worker.work(0)
            with multiprocessing.get_context({method!r}).Pool(2) as pool:
                assert pool.map(worker.work, range(3)) == [worker.work(i) for i in range(3)]
            print("done")
        """)
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "main.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


# ---- the end ----

ENDS = {
    "executables that hold callbacks live to the end": "usable(); f = fc.jit(sin); f(X)",
    "callbacks run in atexit": "import atexit; f = fc.jit(sin); atexit.register(lambda: f(X))",
    "callbacks run in a finalizer at exit": """
        class Late:
            def __del__(self):
                f(X)
        f = fc.jit(sin)
        f(X)
        late = Late()
    """,
    "a view of a Buffer lives to the end": """
        import warnings
        warnings.simplefilter("ignore")
        kept = []
        def function(ctx, out):
            kept.append((np.asarray(out), np.from_dlpack(out), memoryview(out), out))
        fc.jit(buffer_callback(function, fc.ShapeDtypeStruct((4,), np.float32)))()
    """,
    "a thread still runs callbacks at the end": """
        f = fc.jit(lambda x: fc.lax.fori_loop(0, 10**8, lambda i, c: sin(c), x))
        threading.Thread(target=lambda: f(X), daemon=True).start()
        time.sleep(0.1)
    """,
    "sys.exit in a callback": """
        def leave():
            sys.exit(0)
        fc.jit(lambda: io_callback(leave, None))()
        print("not here")
    """,
}


@pytest.mark.parametrize("body", ENDS.values(), ids=ENDS)
def test_the_process_ends_in_peace_when(body):
    code = """
        def sin(x):
            return fc.pure_callback(lambda a: np.sin(np.asarray(a)), x, x)
    """
    command = [sys.executable, "-c", script(code) + textwrap.dedent(body)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# ---- all together ----


def test_random_programs_on_several_threads_under_interrupts():
    path = pathlib.Path(__file__).with_name("stress_callbacks.py")
    command = [sys.executable, str(path), "--seconds", "2", "--threads", "4"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ordered_loop" in done.stdout
