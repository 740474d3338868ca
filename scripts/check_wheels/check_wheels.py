"""Runs ``farcall check`` on handlers that others publish, and prints what it finds as a table.

    python scripts/check_wheels/check_wheels.py [--filter TEXT] [--seconds 60]

The handlers are those of jaxlib's LAPACK module, from the environment, and those of two wheels that
pip fetches from PyPI into build/check_wheels. docs/check_report.md has what came out.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

Calls = Iterator[tuple[str, list[str]]]  # a handler, and the options that describe its call
HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "check_wheels"
# With what their Python modules import besides.
WHEELS = ["jax-finufft==1.3.1", "klujax==0.5.2", "jaxtyping==0.3.11", "pydantic==2.14.3"]

# operands -> results | attributes | aliases. T is the handler's dtype, R and C the real and the
# complex one of its precision, -r marks what real handlers alone have.
LAPACK = {
    "potrf": "T[N,N] -> T[N,N] s32[] | uplo:u8=76 | 0:0",
    "getrf": "T[N+2,N] -> T[N+2,N] s32[N] s32[] | | 0:0",
    "trsm": "T[N,N] T[N,M] -> T[N,M] | side:u8=76 uplo:u8=76 trans_x:u8=78 diag:u8=85 | 1:0",
    "geqrf ": "T[N,N] -> T[N,N] T[N] | | 0:0",
    "geqrf": "T[N+2,N] -> T[N+2,N] T[N] | | 0:0",
    "geqp3": "T[N+2,N] s32[N] -> T[N+2,N] s32[N] T[N] | | 0:0 1:1",
    "orgqr": "T[N+2,N] T[N] -> T[N+2,N] | | 0:0",
    "ormqr": "T[N+2,N] T[N] T[N+2,M] -> T[N+2,M] | left:pred=true transpose:pred=false | 2:0",
    "gesdd": "T[N+2,N] -> T[N+2,N] R[N] T[N+2,N] T[N,N] s32[] | mode:u8=83 | 0:0",
    "gesvd": "T[N+2,N] -> T[N+2,N] R[N] T[N+2,N] T[N,N] s32[] | mode:u8=83 | 0:0",
    "syevd": "T[N,N] -> T[N,N] R[N] s32[] | mode:u8=86 uplo:u8=76 | 0:0",
    "sytrd": "T[N+1,N+1] -> T[N+1,N+1] R[N+1] R[N] T[N] s32[] | uplo:u8=76 | 0:0",
    "geev": "T[N,N] -> T[N] T[N]-r C[N,N] C[N,N] s32[] | compute_left:u8=86 compute_right:u8=86 |",
    "gees": "T[N,N] -> T[N,N] T[N,N] T[N] T[N]-r s32[] s32[] | mode:u8=86 sort:u8=78 | 0:0",
    "gehrd": "T[7,7] -> T[7,7] T[6] s32[] | low:s32=1 high:s32=7 | 0:0",
    "gtsv": "T[N] T[N] T[N] T[N,M] -> T[N] T[N] T[N] T[N,M] s32[] | | 0:0 1:1 2:2 3:3",
}
COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}
DTYPES = {"s": "f32 f32 c64", "d": "f64 f64 c128", "c": "c64 f32 c64", "z": "c128 f64 c128"}

# B matrices with Z values at rows and columns below 3, times or solved for K columns. Matrices of
# random places are singular, which is refused, so those that are solved have one row.
KLU = {
    "dot": ("s32[Z] s32[Z] T[B,Z] T[B,N,K] -> T[B,N,K]", ("0:2", "N=3,8")),
    "solve": ("s32[Z] s32[Z] T[B,Z] T[B,N,K] -> T[B,N,K]", ("0:0", "N=1")),
}
# 9 points, 8 frequencies in each dimension.
FINUFFT = {
    "nufft{}d1{}": "C[1,1,9] {points} -> C[1,1,{modes}]",
    "nufft{}d2{}": "C[1,1,{modes}] {points} -> C[1,1,9]",
    "nufft{}d3{}": "C[1,1,9] {points} {targets} -> C[1,1,8]",
}
FINUFFT_OPTIONS = {
    "modeord": 0, "debug": 0, "spread_debug": 0, "showwarn": 0, "nthreads": 1, "fftw": 64,
    "spread_sort": 2, "spread_kerevalmeth": 1, "spread_kerpad": 1, "spread_thread": 0,
    "maxbatchsize": 0, "spread_nthr_atomic": -1, "spread_max_sp_size": 0,
}  # fmt: skip


def options(call: str, is_column_major: bool = False) -> list[str]:
    operands, attributes, aliases = ([part.strip() for part in call.split("|")] + ["", ""])[:3]
    made = [word for text in attributes.split() for word in ("--attr", text)]
    made += [word for text in aliases.split() for word in ("--alias", text)]
    for kind, texts in zip(("arg", "ret"), operands.split("->"), strict=True):
        for i, text in enumerate(texts.split()):
            made += [f"--{kind}", text]
            made += ["--layout", f"{kind}{i}=1,0"] if is_column_major and "," in text else []
    return made


def typed(call: str, dtypes: str) -> str:
    own, real, complex_ = dtypes.split()
    words = [w for w in call.split(" ") if own == real or not w.endswith("-r")]
    swapped = (
        {"T": own, "R": real, "C": complex_}.get(w[0], w[0]) + w[1:].removesuffix("-r")
        if w[1:2] == "["
        else w
        for w in words
    )
    return " ".join(swapped)


def lapack() -> Calls:
    for (name, call), letter in itertools.product(LAPACK.items(), DTYPES):
        name = name.strip()
        name = COMPLEX_NAMES.get(name, name) if letter in "cz" else name
        made = options(typed(call, DTYPES[letter]), is_column_major=True)
        yield f"jaxlib.lapack:lapack_{letter}{name}_ffi", made


def klu() -> Calls:
    for (name, (call, (places, size))), dtype in itertools.product(KLU.items(), ("f64", "c128")):
        made = options(typed(call, f"{dtype} f64 c128"))
        made += ["--range", f"arg0={places}", "--range", f"arg1={places}", "--size", size]
        made += ["--size", "Z=1"] if name == "solve" else []
        yield f"klujax_handlers:{name}_{dtype}", made


def finufft() -> Calls:
    for (name, call), rank, single in itertools.product(FINUFFT.items(), (1, 2, 3), (True, False)):
        real, complex_ = ("f32", "c64") if single else ("f64", "c128")
        numbers = FINUFFT_OPTIONS | {"iflag": 1, "n_tot": 1, "n_transf": 1, "n_j": 9}
        sizes = [8 if i < rank else 0 for i in range(3)] if "d3" not in name else [8, 0, 0]
        numbers |= {f"n_k_{i + 1}": size for i, size in enumerate(sizes)}
        call = call.format(
            points=" ".join([f"{real}[1,9]"] * rank),
            targets=" ".join([f"{real}[1,8]"] * rank),
            modes=",".join("8" * rank),
        )
        made = options(call.replace("C[", f"{complex_}["))
        made += [
            word for key, value in numbers.items() for word in ("--attr", f"{key}:s64={value}")
        ]
        made += ["--attr", f"eps:{real}=1e-5", "--attr", "upsampfac:f64=2"]
        yield f"jax_finufft.jax_finufft_cpu:{name.format(rank, 'f' if single else '')}", made


def fetch() -> None:
    """Puts the wheels into a folder."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(FOLDER)]
    subprocess.run([*pip, "--no-deps", "--only-binary", ":all:", *WHEELS[:2]], check=True)
    subprocess.run([*pip, *WHEELS[2:]], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--filter", default="", help="only handlers with this text in their names")
    parser.add_argument("--seconds", type=float, default=600, help="for one handler at most")
    parser.add_argument("--size", action="append", default=[], help="sizes for a letter: N=1,8")
    given = parser.parse_args()
    calls = [
        pair for pair in itertools.chain(lapack(), klu(), finufft()) if given.filter in pair[0]
    ]
    if any(not name.startswith("jaxlib.") for name, _ in calls) and not FOLDER.exists():
        fetch()
    path = os.pathsep.join([str(FOLDER), str(HERE), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    command = Path(sysconfig.get_path("scripts")) / "farcall"
    print("| handler | verdict | calls | findings |\n| --- | --- | ---: | --- |")
    for handler, call in calls:
        sizes = [word for text in given.size for word in ("--size", text)]
        limit = ["--timeout", str(given.seconds), "--call-timeout", "20"]
        done = subprocess.run(
            [command, "check", handler, *call, *sizes, *limit, "--json"],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        try:
            report = json.loads(done.stdout)
        except ValueError:
            print(
                f"| {handler} | exit code {done.returncode} | | {done.stderr.strip()} |", flush=True
            )
            continue
        found = "; ".join(
            f"`{f['kind']}` {f['operand']}: {f['message'].splitlines()[0]}"
            for f in report["findings"]
        )
        print(f"| {handler} | {report['verdict']} | {report['runs']} | {found} |", flush=True)


if __name__ == "__main__":
    main()
