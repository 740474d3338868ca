"""Random programs with callbacks on many threads, with exceptions, interrupts and views that stay.

    python stress_callbacks.py --seconds 60 --threads 8 --seed 0

Checks that each ordered effect happens once and in order (up to where an interrupt stopped it),
that results are right, that finished results never change, and that nothing hangs.
"""

from __future__ import annotations

import _thread
import argparse
import collections
import ctypes
import faulthandler
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import tqdm
from farcall.experimental import io_callback
from farcall.experimental.buffer_callback import buffer_callback

F32 = np.float32
METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]


class Interrupted(BaseException):
    """Sent into a thread at any moment."""


class OwnError(Exception):
    """Raised by callbacks."""


def struct(*shape: int) -> fc.ShapeDtypeStruct:
    return fc.ShapeDtypeStruct(shape, F32)


def increment_in_place(ctx: Any, out: Any, x: Any) -> None:
    np.asarray(out)[...] += 1


def add_into(ctx: Any, out: Any, x: Any, y: Any) -> None:
    np.asarray(out)[...] = np.asarray(x) + np.asarray(y)


@fc.jit
def shared(x: Any) -> Any:
    """One program that all threads call: 2 x + 6, through callbacks and a loop."""
    x = fc.pure_callback(lambda a: fc.jit(lambda b: b * 2)(a), x, x)
    in_place = buffer_callback(increment_in_place, struct(4), input_output_aliases={0: 0})
    x = fc.lax.fori_loop(0, 5, lambda i, c: in_place(c), x)
    return fc.lax.cond(
        x[0] > -1e9, lambda c: fc.pure_callback(lambda a: a + 1, c, c), lambda c: c, x
    )


class Worker:
    """One thread's programs. Their effects go to ``seen`` and are to be those ``wanted``."""

    def __init__(self, seed: int, is_over: Callable[[], bool], is_sent_to: bool) -> None:
        self.rng = random.Random(seed)
        self.is_over = is_over
        self.is_sent_to = is_sent_to
        self.seen: list[Any] = []
        self.wanted: list[Any] = []
        self.programs: dict[Any, Any] = {}
        self.kept: collections.deque[Any] = collections.deque(maxlen=50)
        self.counts: collections.Counter[str] = collections.Counter()
        self.failure: BaseException | None = None

    # ---- what callbacks do ----

    def note(self, x: Any) -> None:
        self.seen.append(int(x))

    def note_and_fail(self, x: Any, last: Any) -> None:
        self.note(x)
        if int(x) == int(last):
            raise OwnError(int(last))

    def program(self, key: Any, make: Callable[[], Any]) -> Any:
        """Mostly the one of before, sometimes a new one."""
        if key not in self.programs or self.rng.random() < 0.05:
            self.programs[key] = make()
        return self.programs[key]

    def x(self) -> np.ndarray:
        return np.array([self.rng.randrange(100) for _ in range(4)], F32)

    # ---- what a thread does ----

    def ordered_loop(self) -> None:
        def step(c: Any, a: Any) -> Any:
            io_callback(self.note, None, a, ordered=True)
            fc.debug.callback(self.note, a + 1000, ordered=True)
            return c, None

        f = self.program("ordered", lambda: fc.jit(lambda x: fc.lax.scan(step, 0, x)[0]))
        n = self.rng.randrange(1, 20)
        self.wanted = [v for a in range(n) for v in (a, a + 1000)]
        f(np.arange(n))

    def failing_loop(self) -> None:
        def body(i: Any, last: Any) -> Any:
            io_callback(self.note_and_fail, None, i, last, ordered=True)
            return last

        f = self.program("failing", lambda: fc.jit(lambda k: fc.lax.fori_loop(0, 10, body, k)))
        last = self.rng.randrange(12)
        self.wanted = list(range(min(last + 1, 10)))
        try:
            f(last)
        except OwnError as error:
            raised = error.args
        else:
            raised = ()
        assert raised == ((last,) if last < 10 else ()), (raised, last)

    def nested(self) -> None:
        def inner(x: Any) -> Any:
            self.ordered_loop()
            return np.asarray(x) * 2

        f = self.program("nested", lambda: fc.jit(lambda x: fc.pure_callback(inner, x, x) + 1))
        x = self.x()
        np.testing.assert_array_equal(f(x), x * 2 + 1)

    def buffers_under_vmap(self) -> None:
        method, axes = self.rng.choice(METHODS), self.rng.choice([(0, 0), (0, None), (None, 0)])

        def make() -> Any:
            call = buffer_callback(add_into, struct(4), vmap_method=method)
            return fc.jit(fc.vmap(call, axes))

        x, y = (
            self.x() if axis is None else np.stack([self.x() for _ in range(3)]) for axis in axes
        )
        f = self.program((method, axes), make)
        np.testing.assert_array_equal(f(x, y), np.broadcast_to(x + y, (3, 4)))

    def elements_once(self) -> None:
        f = self.program("elements", lambda: fc.jit(fc.vmap(self.unordered)))
        x = self.x()
        f(x)
        assert sorted(self.seen) == sorted(x.tolist()), (self.seen, x)
        self.wanted = list(self.seen)

    def unordered(self, x: Any) -> None:
        io_callback(self.note, None, x)

    def views(self) -> None:
        kept = []

        def keep(ctx: Any, out: Any, x: Any) -> None:
            np.asarray(out)[...] = np.asarray(x) + 1
            kept.append((np.asarray(out), np.from_dlpack(x), np.asarray(x).copy()))

        call = buffer_callback(keep, struct(4))
        x = self.x()
        if self.rng.random() < 0.5:
            result, wanted = fc.jit(call)(x), x + 1
        else:
            f = fc.jit(lambda x: fc.lax.scan(lambda c, _: (call(c), None), x, None, length=3)[0])
            result, wanted = f(x), x + 3
        for view, _, _ in kept:
            view[...] = -1
        self.kept.append((result, wanted, kept))
        for result, wanted, _ in self.kept:
            np.testing.assert_array_equal(result, wanted)

    def derivative(self) -> None:
        def make() -> Any:
            def call(f: Any, x: Any) -> Any:
                return fc.pure_callback(f, x, x, vmap_method="expand_dims")

            f = fc.custom_vjp(lambda x: call(lambda a: np.asarray(a) ** 2, x))
            f.defvjp(
                lambda x: (f(x), x), lambda x, ct: (call(lambda a: 2 * np.asarray(a), x) * ct,)
            )
            return fc.jit(fc.vmap(fc.grad(f)))

        x = self.x()
        np.testing.assert_array_equal(self.program("derivative", make)(x), 2 * x)

    def threads(self) -> None:
        def function(x: Any) -> Any:
            # Not those of threading, whose locks an interrupt may leave locked.
            results: list[Any] = []
            running = [_thread.allocate_lock() for _ in range(2)]

            def run(lock: Any) -> None:
                try:
                    results.append(np.asarray(shared(x)))
                finally:
                    lock.release()

            for lock in running:
                lock.acquire()
                _thread.start_new_thread(run, (lock,))
            for lock in running:
                lock.acquire()
            return results[0] + results[1]

        f = self.program("threads", lambda: fc.jit(lambda x: fc.pure_callback(function, x, x)))
        x = self.x()
        np.testing.assert_array_equal(f(x), 2 * (2 * x + 6))

    def eager(self) -> None:
        x = self.x()
        self.wanted = [1, 2, 3]
        for i in self.wanted:
            fc.debug.callback(self.note, i)
        y = fc.pure_callback(lambda a: fnp.sin(a), struct(4), x)
        np.testing.assert_allclose(y, np.sin(x), rtol=1e-4, atol=1e-5)

    def shared_program(self) -> None:
        x = self.x()
        np.testing.assert_array_equal(shared(x), 2 * x + 6)

    def until_told(self) -> None:
        """A loop that a callback ends; interrupts are likely to come here."""
        until = time.monotonic() + 0.01

        def is_late() -> Any:
            return np.bool_(time.monotonic() > until or self.is_over())

        def more(c: Any) -> Any:
            return ~io_callback(is_late, fc.ShapeDtypeStruct((), np.bool_))

        fc.jit(lambda x: fc.lax.while_loop(more, lambda c: fnp.sin(c) + 1, x))(self.x())

    ACTIONS = (
        *(ordered_loop, failing_loop, nested, buffers_under_vmap, elements_once, views),
        *(derivative, eager, shared_program, until_told, threads),
    )

    def step(self, action: Callable[[Worker], None] | None = None) -> None:
        # Python gives what is sent into a thread that starts another one to the other one.
        action = action or self.rng.choice(self.ACTIONS[: -1 if self.is_sent_to else None])
        self.seen, self.wanted = [], []
        try:
            action(self)
        except Interrupted:
            self.counts["interrupted"] += 1
            seen = self.seen
            assert action is Worker.elements_once or seen == self.wanted[: len(seen)], action
            return
        assert self.seen == self.wanted, (action.__name__, self.seen, self.wanted)
        self.counts[action.__name__] += 1
        self.counts["effects"] += len(self.seen)

    def work(self) -> None:
        while not self.is_over():
            try:
                while not self.is_over():
                    self.step()
            except Interrupted:  # between two steps
                pass
            except BaseException as error:
                self.failure = error
                return


def interrupt(thread: threading.Thread) -> None:
    if thread.ident is not None and thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(Interrupted)
        )


class Alarm:
    """Raises `Interrupted` in the main thread once, and only while it is armed.

    A signal that another thread took reaches the main one late, even after its timer stopped.
    """

    def __init__(self) -> None:
        self.is_armed = False
        signal.signal(signal.SIGALRM, self.ring)

    def ring(self, *_: Any) -> None:
        if self.is_armed:
            self.is_armed = False
            raise Interrupted

    def ring_during(self, seconds: float, action: Callable[[], None]) -> None:
        try:
            self.is_armed = True
            signal.setitimer(signal.ITIMER_REAL, seconds)
            action()
            self.is_armed = False
        except Interrupted:
            pass
        signal.setitimer(signal.ITIMER_REAL, 0)


def stress(seconds: float, threads: int, seed: int) -> collections.Counter[str]:
    """Runs on ``threads`` threads and the main one; returns how often what happened."""
    warnings.simplefilter("ignore", RuntimeWarning)  # of views that stay
    faulthandler.dump_traceback_later(seconds + 60, exit=True)
    alarm = Alarm()
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    workers = [
        Worker(
            seed * 1000 + i, lambda: time.monotonic() > end, is_sent_to=i % 2 == 0 and i < threads
        )
        for i in range(threads + 1)
    ]
    main = workers.pop()
    for action in Worker.ACTIONS:  # imports what it needs: an interrupted import stays locked
        main.step(action)
    started = [threading.Thread(target=worker.work) for worker in workers]
    for thread in started:
        thread.start()
    with tqdm.tqdm(total=round(seconds), unit="s", disable=None) as progress:
        while time.monotonic() < end - 0.05 and not any(w.failure for w in workers):
            interrupt(rng.choice(started[::2]))
            alarm.ring_during(rng.uniform(0.0005, 0.02), main.step)
            progress.n = round(min(seconds, seconds - (end - time.monotonic())))
            progress.refresh()
    for thread in started:
        thread.join()
    faulthandler.cancel_dump_traceback_later()
    failures = ["".join(traceback.format_exception(w.failure)) for w in workers if w.failure]
    if failures:
        raise AssertionError("\n".join(failures))
    return sum((w.counts for w in [*workers, main]), collections.Counter())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counts = stress(options.seconds, options.threads, options.seed)
    for name, count in sorted(counts.items()):
        sys.stdout.write(f"{name:20} {count:8}\n")


if __name__ == "__main__":
    main()
