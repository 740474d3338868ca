#!/usr/bin/env python3
"""farcall against JAX: what a call of a foreign function costs from Python.

  benchmarks/python/foreign_calls.py [--handlers libbench_handlers.so] [--quick] [--json]

Both call the same handler of the same library, which does nothing, on four floats. Each case is
timed in short blocks, the frameworks in turn, so that a busy machine disturbs them alike. Where
other frameworks are installed, a call through each is timed too.
"""

import argparse
import ctypes
import importlib.util
import json
import pathlib
import platform
import subprocess
import sys
import sysconfig
import tempfile

import numpy as np
from timing import compare, divided, least_and_median, summary, unit

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHAIN = 100
STEPS = 10_000
# Cases that farcall promises something for: the least ratio to JAX, or the most of the given unit.
LEAST_RATIO = {"jitted call": 20, "eager call": 20, "eager call, ffi_call made anew": 20}
MOST = {"import beyond numpy": 60e6}


# ---- what is compared ----


def find_handlers():
    found = list(ROOT.glob("build/*/benchmarks/libbench_handlers.so"))
    if not found:
        sys.exit(
            f"No libbench_handlers.so in {ROOT}/build/*/benchmarks. "
            "Build it with benchmarks/run, or say where it is: --handlers <path>"
        )
    return max(found, key=lambda path: path.stat().st_mtime)


class Framework:
    """One of the two, under the names that they share."""

    def __init__(self, module, ffi, lax, library):
        self.jit = module.jit
        self.result = module.ShapeDtypeStruct((4,), np.float32)
        self.vmap = module.vmap
        self.scan = lax.scan
        self.ffi_call = ffi.ffi_call
        ffi.register_ffi_target("noop_1", ffi.pycapsule(library.noop_1), platform="cpu")
        self.x = module.numpy.asarray(np.arange(4, dtype=np.float32))
        self.batch = module.numpy.asarray(np.zeros((STEPS, 4), dtype=np.float32))

    def make_call(self, **options):
        return self.ffi_call("noop_1", self.result, **options)

    def function(self, length):
        def chain(x):
            for _ in range(length):
                x = self.make_call()(x)
            return x

        return chain

    # Each returns a function of no arguments to be timed.
    def jitted(self):
        f, x = self.jit(self.function(1)), self.x
        return lambda: f(x)

    def jitted_and_ready(self):
        f, x = self.jit(self.function(1)), self.x
        return lambda: f(x).block_until_ready()

    def chain(self):
        f, x = self.jit(self.function(CHAIN)), self.x
        return lambda: f(x).block_until_ready()

    def loop(self):
        call, x = self.make_call(), self.x
        f = self.jit(lambda x: self.scan(lambda x, _: (call(x), None), x, None, length=STEPS)[0])
        return lambda: f(x).block_until_ready()

    def mapped(self):
        call, batch = self.make_call(vmap_method="sequential"), self.batch
        f = self.jit(self.vmap(call))
        return lambda: f(batch).block_until_ready()

    def eager(self):
        f, x = self.make_call(), self.x
        return lambda: f(x)

    def eager_made_anew(self):
        f, x = self.make_call, self.x
        return lambda: f()(x)

    def first(self):
        return lambda: self.jit(self.function(1))(self.x).block_until_ready()


def frameworks(library):
    import farcall
    import farcall.ffi
    import farcall.lax

    found = {"farcall": Framework(farcall, farcall.ffi, farcall.lax, library)}
    if importlib.util.find_spec("jax"):
        import jax
        import jax.ffi
        import jax.lax

        jax.config.update("jax_platforms", "cpu")
        found["jax"] = Framework(jax, jax.ffi, jax.lax, library)
    return found


def import_times(name, repeat):
    """Time that importing `name` takes once numpy is there, in processes of their own."""
    code = (
        "import time, numpy; start = time.perf_counter_ns()\n"
        f"import {name}\nprint(time.perf_counter_ns() - start)"
    )
    run = [sys.executable, "-c", code]
    return [int(subprocess.run(run, check=True, capture_output=True).stdout) for _ in range(repeat)]


# ---- other frameworks: a function of no arguments to be timed ----


def floor(library, folder):
    """CPython itself: see floor.c."""
    path = pathlib.Path(folder) / f"floor{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = [f"-I{sysconfig.get_paths()['include']}", f"-I{ROOT / 'include'}"]
    source = pathlib.Path(__file__).with_name("floor.c")
    command = ["cc", "-O2", "-fPIC", "-shared", *include, str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("floor", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    f = module.make(ctypes.cast(library.noop_1, ctypes.c_void_p).value)
    x = module.array()
    return lambda: f(x)


def nanobind_function(library, folder):
    import nanobind

    source = pathlib.Path(folder) / "peer.cpp"
    source.write_text(
        "#include <nanobind/ndarray.h>\nnamespace nb = nanobind;\n"
        "using Array = nb::ndarray<nb::numpy, float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;\n"
        'NB_MODULE(peer, m) { m.def("noop", [](Array x) { return x; }); }\n'
    )
    path = source.with_name(f"peer{sysconfig.get_config_var('EXT_SUFFIX')}")
    home = pathlib.Path(nanobind.include_dir()).parent
    include = [home / "include", home / "ext/robin_map/include", sysconfig.get_paths()["include"]]
    command = ["c++", "-std=c++17", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-DNDEBUG"]
    command += [f"-I{root}" for root in include]
    command += [str(source), str(home / "src/nb_combined.cpp"), "-o", str(path)]
    subprocess.run(command, check=True)
    spec = importlib.util.spec_from_file_location("peer", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    f, x = module.noop, np.arange(4, dtype=np.float32)
    return lambda: f(x)


def tvm_ffi_function(library, folder):
    import tvm_ffi.cpp

    module = tvm_ffi.cpp.load_inline(
        name="noop",
        cpp_sources="void noop(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {}",
        functions=["noop"],
        build_directory=str(folder),
    )
    f = module.noop
    x = tvm_ffi.from_dlpack(np.arange(4, dtype=np.float32))
    y = tvm_ffi.from_dlpack(np.zeros(4, dtype=np.float32))
    return lambda: f(x, y)


def torch_custom_op(library, folder):
    import torch

    def noop(x: torch.Tensor) -> torch.Tensor:
        return torch.empty_like(x)

    f = torch.library.custom_op("farcall_benchmark::noop", noop, mutates_args=())
    x = torch.arange(4, dtype=torch.float32)
    return lambda: f(x)


def mlx_operation(library, folder):
    import mlx.core as mx

    f, x = mx.eval, mx.array(np.arange(4, dtype=np.float32))
    mx.set_default_device(mx.cpu)
    return lambda: f(x + x)


PEERS = {
    "CPython's floor (C, ready frame)": ("sys", floor),
    "nanobind function, array in and out": ("nanobind", nanobind_function),
    "tvm-ffi function, result given": ("tvm_ffi", tvm_ffi_function),
    "torch.library custom op in Python": ("torch", torch_custom_op),
    "MLX, one addition evaluated": ("mlx", mlx_operation),
}


def compare_peers(library, ours, args):
    """Times by peer; those that are not installed, or do not work here, are named on stderr."""
    with tempfile.TemporaryDirectory() as folder:
        functions = {"farcall, jitted": ours.jitted(), "farcall, eager": ours.eager()}
        for name, (package, make) in PEERS.items():
            if importlib.util.find_spec(package) is None:
                print(f"{name}: {package} is not installed", file=sys.stderr)
                continue
            if args.quick and package != "sys":
                continue
            try:
                functions[name] = make(library, folder)
            except Exception as error:
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
        return compare(functions, args.blocks, args.block_ns, args.most_ns)


# ---- output ----


def verdict(case, times):
    if case in MOST:
        met = times["farcall"]["min"] <= MOST[case]
        return f"at most {unit(MOST[case])}: {'met' if met else 'MISSED'}"
    if case in LEAST_RATIO and "jax" in times:
        met = times["jax"]["min"] >= LEAST_RATIO[case] * times["farcall"]["min"]
        return f"{LEAST_RATIO[case]} times less: {'met' if met else 'MISSED'}"
    return ""


def print_tables(results):
    print(f"{results['machine']}\n")
    print("| least (median) of | farcall | JAX | ratio | promised |")
    print("|---|---:|---:|---:|---|")
    for case, times in results["cases"].items():
        cells = [
            least_and_median(times[name]) if name in times else "-" for name in ("farcall", "jax")
        ]
        ratio = times["jax"]["min"] / times["farcall"]["min"] if "jax" in times else None
        cells += [f"{ratio:.0f}" if ratio else "-", verdict(case, times)]
        print(f"| {case} | {' | '.join(cells)} |")
    print("\n| one call from Python, four floats | least | median |\n|---|---:|---:|")
    for name, times in sorted(results["peers"].items(), key=lambda item: item[1]["min"]):
        print(f"| {name} | {unit(times['min'])} | {unit(times['median'])} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--handlers", help="the library of handlers")
    parser.add_argument("--json", action="store_true", help="numbers, in nanoseconds")
    parser.add_argument("--quick", action="store_true", help="fewer blocks; no peers to compile")
    args = parser.parse_args()
    args.blocks, args.block_ns, args.most_ns = (10, 2e6, 1e9) if args.quick else (60, 5e6, 1e10)

    library = ctypes.CDLL(str(args.handlers or find_handlers()))
    found = frameworks(library)
    methods = {
        "jitted call": "jitted",
        "jitted call, result awaited": "jitted_and_ready",
        "eager call": "eager",
        "eager call, ffi_call made anew": "eager_made_anew",
        f"one of {CHAIN} calls in a jitted chain": "chain",
        f"one of {STEPS:,} steps of a scan": "loop",
        f"one of {STEPS:,} calls of a sequential vmap": "mapped",
        "first call: record, compile, run": "first",
    }
    cases = {}
    per_call = {"chain": CHAIN, "loop": STEPS, "mapped": STEPS}
    for case, method in methods.items():
        functions = {name: getattr(framework, method)() for name, framework in found.items()}
        times = compare(functions, args.blocks, args.block_ns, args.most_ns)
        cases[case] = divided(times, per_call.get(method, 1))
    repeat = 3 if args.quick else 10
    cases["import beyond numpy"] = {name: summary(import_times(name, repeat)) for name in found}

    versions = ", ".join(f"{name} {sys.modules[name].__version__}" for name in [*found, "numpy"])
    results = {
        "machine": f"{platform.machine()}, Python {platform.python_version()}, {versions}",
        "cases": cases,
        "peers": compare_peers(library, found["farcall"], args),
    }
    if args.json:
        json.dump(results, sys.stdout, indent=2)
        print()
    else:
        print_tables(results)


if __name__ == "__main__":
    main()
