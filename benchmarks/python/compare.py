#!/usr/bin/env python3
"""farcall and its peers on array programs: one table, each peer in a process of its own.

  benchmarks/compare [--quick] [--peers farcall,jax,…] [--busy] [--memory]
                     [--save now.json] [--against then.json] [--plot table.png] [word …]

Every row's results are compared before it is timed. The peers then take turns, block by block, so
that a busy machine disturbs all alike; a turn begins when the threads of the one before are at
rest. With words, only rows whose name or family has all of them.

Exit codes: 1 for a row that is slower than before (--against), or whose results differ; 2 if rows
could not be measured or compared: a wrong option or file, no row, a peer that ended.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, NoReturn

import numpy as np
from peers.rows import Row, all_rows
from timing import unit
from tqdm import tqdm

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("farcall", "jax", "numpy", "torch", "numba")
NEEDED = {"jax": "jax", "torch": "torch", "numba": "numba"}


def fail(why: str) -> NoReturn:
    print(f"benchmarks/compare: {why}", file=sys.stderr)
    sys.exit(2)


# ---- peers in processes ----


def is_running(process: subprocess.Popen[str]) -> bool:
    """Whether a thread of the process runs, or waits for a processor."""
    for stat in pathlib.Path(f"/proc/{process.pid}/task").glob("*/stat"):
        try:
            if stat.read_text().rpartition(")")[2].split()[0] == "R":
                return True
        except OSError:  # the thread has ended
            pass
    return False


def wait_for_rest(process: subprocess.Popen[str]) -> None:
    """Until no thread of the process runs, at most a second: pools look for work for a while."""
    deadline = time.monotonic() + 1
    while is_running(process) and time.monotonic() < deadline:
        time.sleep(0.001)


class Peer:
    """One worker, and what it answered last."""

    def __init__(self, name: str, python: str):
        self.name = name
        environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
        self.process = subprocess.Popen(
            [python, str(HERE / "peers" / "worker.py"), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.version = self._answer()["version"]

    def ask(self, what: str, **options: Any) -> dict[str, Any]:
        """The answer, once the peer is at rest and disturbs no other one."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": what, **options}) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        wait_for_rest(self.process)
        return answer

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            fail(f"the process of {self.name} ended; see above")
        return json.loads(line)

    def end(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def find_python(peer: str) -> str | None:
    """The Python that has the peer: this one, or the distribution's."""
    module = NEEDED.get(peer, "numpy")
    for python in (sys.executable, "/usr/bin/python3"):
        test = [
            python,
            "-c",
            f"import importlib.util as u, sys; sys.exit(not u.find_spec('{module}'))",
        ]
        try:
            if subprocess.run(test, capture_output=True, check=False).returncode == 0:
                return python
        except FileNotFoundError:
            pass
    return None


# ---- measuring ----


def check_results(row: Row, folder: pathlib.Path, names: list[str]) -> list[str]:
    """Which peers' results differ from farcall's, and how."""
    wrong = []
    loaded = {name: np.load(folder / f"{name}.npz") for name in names}
    ours = loaded["farcall"]
    for name in names:
        theirs = loaded[name]
        for leaf in ours.files:
            a, b = ours[leaf], theirs[leaf]
            scale = np.max(np.abs(a), initial=1e-30)
            if a.shape != b.shape:
                wrong.append(f"{row.name}: {name} has shape {b.shape}, farcall {a.shape}")
            elif (gap := np.max(np.abs(a - b), initial=0) / scale) > row.tolerance:
                wrong.append(f"{row.name}: {name} differs from farcall by {gap:.1g}")
    return wrong


def measure(row: Row, peers: list[Peer], blocks: int, block_ns: float, memory: bool) -> Any:
    """From a peer's name to its figures, and what differed."""
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        there = []
        for peer in peers:
            path = str(pathlib.Path(folder) / f"{peer.name}.npz")
            answer = peer.ask("prepare", row=row.name, result=path)
            if "missing" not in answer:
                there.append(peer)
            elif peer.name == "farcall":
                wrong.append(f"{row.name}: {answer['missing']}")
        names = [peer.name for peer in there]
        if "farcall" in names:
            wrong += check_results(row, pathlib.Path(folder), names)
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(blocks):
        for peer in random.sample(there, len(there)):
            times[peer.name].append(peer.ask("time", ns=block_ns)["ns"])
    figures: dict[str, Any] = {}
    for peer in there:
        values = sorted(times[peer.name])
        quarter = len(values) // 4
        median = statistics.median(values)
        figures[peer.name] = {
            "median": median,
            "min": values[0],
            "spread": (values[-1 - quarter] - values[quarter]) / median,
        }
        if memory:
            figures[peer.name] |= peer.ask("memory")
    for peer in peers:
        peer.ask("drop")
    return figures, wrong


# ---- output ----


def ratio(figures: dict[str, Any], peer: str, which: str = "median") -> float | None:
    if "farcall" not in figures or peer not in figures:
        return None
    return figures["farcall"][which] / figures[peer][which]


def print_table(results: dict[str, Any], peers: list[str], memory: bool) -> None:
    others = [peer for peer in peers if peer != "farcall"]
    head = ["median of", *peers, *(f"farcall / {peer}" for peer in others)]
    if memory:
        head += ["peak, farcall", "peak, jax"]
    print("| " + " | ".join(head) + " |\n|---|" + "---:|" * (len(head) - 1))
    for row, figures in results.items():
        cells = [unit(figures[p]["median"]) if p in figures else "-" for p in peers]
        for peer in others:
            value = ratio(figures, peer)
            cells.append("-" if value is None else f"{value:.2g}")
        if memory:
            for peer in ("farcall", "jax"):
                cells.append(f"{figures[peer]['peak'] / 1e6:.0f} MB" if peer in figures else "-")
        print(f"| {row} | {' | '.join(cells)} |")


def plot(results: dict[str, Any], peers: list[str], path: str) -> None:
    """Bars: how long farcall takes, as a part of what each peer takes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    others = [peer for peer in peers if peer != "farcall"]
    rows = [row for row in results if any(ratio(results[row], peer) for peer in others)]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.22 * len(rows)), layout="constrained")
    height = 0.8 / max(1, len(others))
    for k, peer in enumerate(others):
        found = [(i, ratio(results[row], peer)) for i, row in enumerate(rows)]
        known = [(i, value) for i, value in found if value is not None]
        axes.barh(
            [i + (k - (len(others) - 1) / 2) * height for i, _ in known],
            [value - 1 for _, value in known],
            left=1,
            height=height,
            label=f"farcall / {peer}",
        )
    axes.set_xscale("log")
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(rows)), rows, fontsize=7)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlabel("time of farcall / time of the peer (left of 1: farcall is faster)")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=4)
    axes.grid(axis="x", which="both", alpha=0.25)
    figure.savefig(path, dpi=110)


def read_saved(path: str) -> dict[str, Any]:
    """The rows of a saved run."""
    rows, is_saved = {}, False
    try:
        rows = json.loads(pathlib.Path(path).read_text()).get("rows", {})
        is_saved = all("median" in figures[p] for figures in rows.values() for p in figures)
    except OSError as error:
        fail(f"--against {path}: {error.strerror}")
    except (ValueError, AttributeError, TypeError):
        pass
    if not is_saved:
        fail(f"--against {path}: this is no run that --save has written")
    return rows


def regressions(now: dict[str, Any], then: dict[str, Any]) -> list[str]:
    """Rows whose ratio to JAX grew by more than the spread of both runs, and by a tenth."""
    slower, num_compared = [], 0
    for row, figures in now.items():
        new, old = ratio(figures, "jax"), ratio(then.get(row, {}), "jax")
        if new is None or old is None:
            continue
        num_compared += 1
        spread = sum(
            run[peer]["spread"] for run in (figures, then[row]) for peer in ("farcall", "jax")
        )
        if new > old * (1.1 + spread):
            slower.append(f"{row}: {new:.2g} of JAX's time, {old:.2g} before")
    if num_compared == 0:
        fail("--against: no row was compared: none has times of farcall and jax in both runs")
    return slower


def machine() -> dict[str, Any]:
    with open("/proc/cpuinfo") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {
        "processor": models[0] if models else platform.machine(),
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
    }


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmarks/compare", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--quick", action="store_true", help="fewer and shorter blocks")
    parser.add_argument("--peers", default=",".join(PEERS), help="which, farcall first")
    parser.add_argument("--busy", action="store_true", help="while another process works")
    parser.add_argument("--memory", action="store_true", help="peaks of memory too")
    parser.add_argument("--save", metavar="JSON", help="write all figures")
    parser.add_argument(
        "--against", metavar="JSON", help="a saved run; exit code 1 for slower rows"
    )
    parser.add_argument("--plot", metavar="PNG", help="draw the ratios")
    parser.add_argument("--list", action="store_true", help="the names of the rows, and no more")
    parser.add_argument("words", nargs="*", help="which rows; all without any")
    return parser.parse_args()


def start_peers(names: list[str]) -> list[Peer]:
    peers = []
    for name in names:
        if name not in PEERS:
            fail(f"no peer {name!r}; there are {', '.join(PEERS)}")
        python = find_python(name)
        if python is None:
            print(f"{name} is not installed and left out", file=sys.stderr)
        else:
            peers.append(Peer(name, python))
    return peers


def main() -> None:
    options = parse()
    rows = [
        row
        for row in all_rows().values()
        if all(word in f"{row.name} {row.family}" for word in options.words)
    ]
    if not rows:
        fail("no row has all of these words; --list names the rows")
    if options.list:
        print("\n".join(f"{row.family}: {row.name}" for row in rows))
        return
    then = read_saved(options.against) if options.against else None
    peers = start_peers(options.peers.split(","))
    names = [peer.name for peer in peers]
    blocks, block_ns = (5, 2e7) if options.quick else (15, 1e8)
    busy = None
    if options.busy:
        busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    results: dict[str, Any] = {}
    wrong: list[str] = []
    try:
        for row in tqdm(rows, unit="row", disable=not sys.stderr.isatty()):
            results[row.name], differing = measure(row, peers, blocks, block_ns, options.memory)
            wrong += differing
    finally:
        if busy:
            busy.kill()
        for peer in peers:
            peer.end()
    about = machine()
    print(
        f"{about['processor']}, {about['cores']} cores, load {about['load']:.1f}; "
        + ", ".join(f"{peer.name} {peer.version}" for peer in peers)
        + "\n"
    )
    print_table(results, names, options.memory)
    if options.save:
        versions = {peer.name: peer.version for peer in peers}
        saved = {"machine": about, "versions": versions, "rows": results}
        pathlib.Path(options.save).write_text(json.dumps(saved, indent=1) + "\n")
    if options.plot:
        plot(results, names, options.plot)
    for line in wrong:
        print(line, file=sys.stderr)
    slower = regressions(results, then) if then is not None else []
    for line in slower:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong or slower else 0)


if __name__ == "__main__":
    main()
