#!/usr/bin/env python3
"""Compile time of farcall's headers against XLA's: each alone, with one handler, with eight.

Three headers of farcall: farcall/ffi.h; xla/ffi/api/ffi.h, which includes the standard headers that
XLA's brings along; and the same with FARCALL_XLA_LEAN, without those. "standard" is the time of
those standard headers alone.

  benchmarks/compile_time.py --xla <folder with xla/ffi/api/ffi.h> [--compiler g++] [--repeat 7]

Prints the least user time of several runs, in turn, and the ratios to XLA's.
"""

import argparse
import pathlib
import resource
import subprocess
import tempfile

FARCALL_HANDLER = """
namespace ffi = farcall::ffi;
ffi::Error scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
FARCALL_DEFINE_HANDLER(scale_handler, scale, "factor");
"""
XLA_HANDLER = """
namespace ffi = xla::ffi;
ffi::Error scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    scale_handler, scale,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>().Attr<float>("factor"));
"""
FLAGS = ["-std=c++17", "-w"]


def eight(handler):
    """The handler eight times, with other types, so that nothing is shared."""
    types = ["F32", "F64", "S32", "S64", "U32", "U64", "S16", "U16"]
    copies = [
        handler.replace("scale", f"scale_{t}").replace("ffi::F32", f"ffi::{t}") for t in types
    ]
    return "".join(copies)


def user_seconds(command):
    """User time of one run of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--xla", required=True, type=pathlib.Path)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--repeat", type=int, default=7)
    args = parser.parse_args()
    include = pathlib.Path(__file__).resolve().parent.parent / "include"

    cases = {
        "header alone, -fsyntax-only": (["-fsyntax-only"], "", ""),
        "one handler, -fsyntax-only": (["-fsyntax-only"], FARCALL_HANDLER, XLA_HANDLER),
        "one handler, -O2 -c": (["-O2", "-c"], FARCALL_HANDLER, XLA_HANDLER),
        "eight handlers, -O2 -c": (["-O2", "-c"], eight(FARCALL_HANDLER), eight(XLA_HANDLER)),
    }
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name, (flags, ours, theirs) in cases.items():
            xla = '#include "xla/ffi/api/ffi.h"\n' + theirs
            sources = {
                "farcall": (include, "#include <farcall/ffi.h>\n" + ours),
                "xla/ffi/api lean": (include, "#define FARCALL_XLA_LEAN\n" + xla),
                "xla/ffi/api": (include, xla),
                "standard": (include, "#include <farcall/xla/standard.h>\n"),
                "XLA": (args.xla, xla),
            }
            best = {}
            for _ in range(args.repeat):
                for header, (root, text) in sources.items():
                    source = folder / "source.cpp"
                    source.write_text(text)
                    command = [args.compiler, *FLAGS, f"-I{root}", *flags, str(source)]
                    if "-c" in flags:
                        command += ["-o", str(folder / "source.o")]
                    best[header] = min(best.get(header, 1e9), user_seconds(command))
            seconds = "   ".join(
                f"{header} {time:.3f} s ({time / best['XLA']:.2f})" for header, time in best.items()
            )
            print(f"{name:28} {seconds}")


if __name__ == "__main__":
    main()
