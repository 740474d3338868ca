"""The process that makes the calls of a target, and the one that watches it.

A target is a module with ``plan(seed, index)``, which gives a call that ``str`` describes, and
``run(call)``, which makes it.
"""

from __future__ import annotations

import faulthandler
import importlib
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

SECONDS_PER_CALL = 10  # of the processor, of which others may use most
SECONDS_UNTIL_KILLED = 120
BYTES = 3 << 30  # of memory, beyond what is mapped at the start
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


class Job(NamedTuple):
    """Calls of a target: those of the numbers begin, begin + step, …"""

    target: str
    seed: int
    begin: int
    end: int
    step: int = 1


class Finding(NamedTuple):
    index: int
    call: str
    what: str


# ---- the worker ----


def _limit_memory() -> None:
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + BYTES, mapped + BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _failure(target: Any, call: Any) -> BaseException | None:
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_CALL)
        target.run(call)
    except BaseException as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None


def work(job: Job) -> None:
    """Makes the calls and writes one line before and one after each to what was stdout."""
    from hostile.judge import TooLongError, complaint

    target = importlib.import_module(f"hostile.{job.target}")
    report = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="backslashreplace")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    faulthandler.enable()
    target.plan(job.seed, job.begin)  # imports what it needs
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        _limit_memory()

    def too_long(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGPROF, too_long)

    def say(*fields: object) -> None:
        text = "\t".join(str(field).replace("\t", " ").replace("\n", " | ") for field in fields)
        report.write(text + "\n")
        report.flush()

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for index in range(job.begin, job.end, job.step):
            call = target.plan(job.seed, index)
            say("begin", index, call)
            try:
                error = _failure(target, call)
            except TooLongError as late:
                error = late
            say("end", index, complaint(error) or "")


# ---- the watcher ----


def _excerpt(stderr: bytes) -> str:
    lines = [line.strip() for line in stderr.decode(errors="replace").splitlines()]
    text = " | ".join(line for line in lines if line)
    return text if len(text) < 1200 else f"{text[:600]} … {text[-600:]}"


def command(job: Job) -> list[str]:
    return [sys.executable, "-m", "hostile", job.target, "--work", *map(str, job[1:])]


class _Worker:
    def __init__(self, job: Job) -> None:
        self.stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command(job), stdout=subprocess.PIPE, stderr=self.stderr, cwd=PACKAGES
        )
        assert self.process.stdout
        self.fd = self.process.stdout.fileno()
        self.rest = b""

    def lines(self) -> Iterator[list[str]]:
        """Until the worker ends or says nothing for too long."""
        while select.select([self.fd], [], [], SECONDS_UNTIL_KILLED)[0]:
            read = os.read(self.fd, 1 << 16)
            if not read:
                return
            *whole, self.rest = (self.rest + read).split(b"\n")
            for line in whole:
                yield line.decode().split("\t")

    def end(self) -> str:
        """How it ended, for people."""
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return f"hangs: killed after {SECONDS_UNTIL_KILLED} s"
        self.stderr.seek(0)
        with self.stderr:
            return f"the process ended with {code}: {_excerpt(self.stderr.read())}"


def findings(job: Job) -> Iterator[Finding]:
    """What is wrong with the calls of a job, in new processes where one dies."""
    while job.begin < job.end:
        worker = _Worker(job)
        index, call, is_over = job.begin, "", False
        for kind, number, text in worker.lines():
            index, is_over = int(number), kind == "end"
            if kind == "begin":
                call = text
            elif text:
                yield Finding(index, call, text)
        how = worker.end()
        if is_over and index + job.step >= job.end:
            return
        yield Finding(index, call or "before the first call", how)
        if not call:
            return
        job = job._replace(begin=index + job.step)
