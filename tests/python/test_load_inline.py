"""Handlers from source text and from libraries: compiled once, registered under their names."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import farcall as fc
import numpy as np
import pytest
from farcall.ffi import CompileError, load_inline, load_library
from handler_library import build

X = np.array([1.0, 2.0, 3.0], np.float32)

SCALE = """
namespace ffi = farcall::ffi;
static void %s(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] * factor;
}
"""
WITH_STATE = """
#include <farcall/ffi.h>
#include <memory>
namespace ffi = farcall::ffi;
struct Offset { float value; };
static ffi::ErrorOr<std::unique_ptr<Offset>> make(float value) {
  return std::make_unique<Offset>(Offset{value});
}
FARCALL_DEFINE_HANDLER(%s_instantiate, make, ffi::kInstantiate, "value");
static void add(ffi::State<Offset> offset, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] + offset->value;
}
FARCALL_DEFINE_HANDLER(%s, add);
"""
XLA = """
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static ffi::Error Square(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i)
    y->typed_data()[i] = x.typed_data()[i] * x.typed_data()[i];
  return ffi::Error::Success();
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(%s, Square,
    ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FARCALL_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


def call(name: str, host: Any = fc, **attributes: Any) -> Any:
    result = host.ShapeDtypeStruct(X.shape, X.dtype)
    return host.ffi.ffi_call(name, result)(X, **attributes)


def forbid_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any, **options: Any) -> None:
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)


def test_a_function_of_the_source_becomes_a_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    source, functions = SCALE % "inline_scale", {"inline_scale": ["factor"]}
    library = load_inline("scale", source, functions=functions)
    assert list(library.handlers) == ["inline_scale"]
    assert library.platform == "cpu"
    np.testing.assert_array_equal(call("inline_scale", factor=2), 2 * X)
    forbid_compiling(monkeypatch)
    assert load_inline("scale", source, functions=functions).path == library.path


def test_stages_are_put_together() -> None:
    library = load_inline("state", WITH_STATE.replace("%s", "inline_state"), prefix="mine.")
    assert {name: set(stages) for name, stages in library.handlers.items()} == {
        "mine.inline_state": {"instantiate", "execute"}
    }
    np.testing.assert_array_equal(call("mine.inline_state", value=5), X + 5)


def test_xla_s_header_and_jax() -> None:
    jax = pytest.importorskip("jax")
    library = load_inline("square", XLA % "inline_square")
    library.register(jax)
    np.testing.assert_array_equal(call("inline_square"), X * X)
    np.testing.assert_array_equal(call("inline_square", jax), X * X)


def test_what_the_compiler_says_has_the_line_of_the_source() -> None:
    with pytest.raises(CompileError) as caught:
        load_inline("broken", "int two() { return 2; }\n\nint f() { return missing; }\n")
    message = str(caught.value)
    assert message.startswith('load_inline("broken"): line 3: ')
    assert "missing" in message.splitlines()[0]
    assert "broken.cpp:3:" in caught.value.output
    assert "broken.cpp" in caught.value.command
    with pytest.raises(CompileError, match=r"functions:1.*no_such_function"):
        load_inline("broken", "// nothing", functions=["no_such_function"])
    with pytest.raises(CompileError, match=r"line 1: .*lacks `namespace ffi = farcall::ffi"):
        load_inline("broken", "static ffi::Error two() { return {}; }", functions=["two"])
    with pytest.raises(CompileError, match="no-such-flag"):
        load_inline("broken", SCALE % "f", functions="f", extra_cflags=["--no-such-flag"])


def test_attributes_of_a_function_have_defaults() -> None:
    source = """
        namespace ffi = farcall::ffi;
        ffi::Error joined(int64_t a, float b, bool c, std::string_view d, double e,
                          ffi::Result<ffi::BufferR1<ffi::F64>> y) {
          const double values[] = {double(a), b, double(c), double(d.size()), e};
          for (int i = 0; i < 5; ++i) y->typed_data()[i] = values[i];
          return ffi::Error::Success();
        }
    """
    defaults = {"a": None, "b": np.float32(2.5), "c": True, "d": 'f"our', "e": -3}
    load_inline("defaults", source, functions={"joined": defaults}, prefix="defaults.")
    joined = fc.ffi.ffi_call("defaults.joined", fc.ShapeDtypeStruct((5,), "float64"))
    with fc.enable_x64(True):
        np.testing.assert_array_equal(joined(a=7), [7, 2.5, 1, 5, -3])
        np.testing.assert_array_equal(joined(a=7, c=False, e=1.5), [7, 2.5, 0, 5, 1.5])
        with pytest.raises(ValueError, match='attribute "a": missing'):
            joined()


def test_wrong_arguments() -> None:
    with pytest.raises(ValueError, match="no handler is exported"):
        load_inline("nothing", "int two() { return 2; }")
    with pytest.raises(ValueError, match="give one of cpp_source and cuda_source"):
        load_inline("nothing")
    with pytest.raises(ValueError, match="the name must consist of"):
        load_inline("../escape", "// nothing")
    with pytest.raises(TypeError, match=r'extra_cflags must be a list, such as \["-O3"\]'):
        load_inline("nothing", "// nothing", extra_cflags="-O3")
    with pytest.raises(TypeError, match=r'a list, such as \["-O2", "-DX=a b"\], got'):
        load_inline("nothing", "// nothing", extra_cflags='-O2 "-DX=a b"')
    with pytest.raises(TypeError, match=r"a list, such as \[\"-DX='\"\], got"):
        load_inline("nothing", "// nothing", extra_cflags="-DX='")
    with pytest.raises(ValueError, match="at most 100 letters"):
        load_inline("a" * 101, "// nothing")
    source: Any = 3
    with pytest.raises(TypeError, match=r"extra_cflags must be a list of strings, got \[3\]"):
        load_inline("nothing", "// nothing", extra_cflags=[source])
    with pytest.raises(TypeError, match="extra_ldflags must be a list of strings, got 3"):
        load_inline("nothing", "// nothing", extra_ldflags=source)
    with pytest.raises(TypeError, match=r"functions must be a list of names, or a dict.*got 3"):
        load_inline("nothing", "// nothing", functions=source)
    with pytest.raises(TypeError, match=r'f must be a list of names, such as \["scale"\], or'):
        load_inline("nothing", SCALE % "f", functions={"f": "factor"})
    with pytest.raises(TypeError, match=r"or a dict from names to defaults, got \{3: 1\}"):
        load_inline("nothing", SCALE % "f", functions={"f": {source: 1}})
    for default in (float("inf"), [1], b"x"):
        with pytest.raises(TypeError, match="f: the default of factor must be a bool, an integer"):
            load_inline("nothing", SCALE % "f", functions={"f": {"factor": default}})
    for function in ("mine::f", "f()", source):
        with pytest.raises(ValueError, match="is not the name of a C\\+\\+ function outside of"):
            load_inline("nothing", SCALE % "f", functions=[function])
    with pytest.raises(TypeError, match="cpp_source must be a string, got 3"):
        load_inline("nothing", source)
    with pytest.raises(FileNotFoundError, match="file not found"):
        load_library("no_such_library.so")


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(FileNotFoundError, match=r"no compiler found \(no-such-compiler\)"):
        load_inline("scale", SCALE % "never_compiled", functions=["never_compiled"])
    monkeypatch.setenv("CXX", "g++ '")
    with pytest.raises(ValueError, match=r"CXX=.*No closing quotation"):
        load_inline("scale", SCALE % "never_compiled", functions=["never_compiled"])
    monkeypatch.setenv("CXX", "true")  # succeeds, and compiles nothing
    with pytest.raises(CompileError, match="the compiler refuses the source"):
        load_inline("scale", SCALE % "never_compiled", functions=["never_compiled"])


def test_a_cache_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", Path("/proc/no_such_folder")):
        monkeypatch.setenv("FARCALL_CACHE_DIR", str(folder))
        with pytest.raises(
            OSError, match=f"cannot write to the cache folder {folder}.*set FARCALL"
        ):
            load_inline("scale", SCALE % "never_compiled", functions=["never_compiled"])


def test_a_damaged_cache_is_built_again(tmp_path: Path) -> None:
    code = (
        "from farcall import ffi\n"
        f"library = ffi.load_inline('damaged', {SCALE % 'f'!r}, functions={{'f': ['factor']}})\n"
        "print(library.path)\n"
    )

    def built() -> Path:
        environment = {**os.environ, "FARCALL_CACHE_DIR": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        return Path(run.stdout.strip())

    library = built()
    size = library.stat().st_size
    library.unlink()
    assert built().stat().st_size == size
    library.write_bytes(b"cut off")
    assert built().stat().st_size == size
    (library.parent / "build").write_text("{}")
    assert built().stat().st_size == size


def test_what_the_linker_says() -> None:
    functions = {"unlinked": ["factor"]}
    source = SCALE % "unlinked"
    with pytest.raises(CompileError, match="source: cannot find -lno_such_library"):
        load_inline("unlinked", source, functions=functions, extra_ldflags=["-lno_such_library"])


def test_another_kernel_of_the_same_name_is_refused_and_a_prefix_helps() -> None:
    load_inline("version", SCALE % "inline_version", functions={"inline_version": ["factor"]})
    changed = (SCALE % "inline_version").replace("* factor", "+ factor")
    functions = {"inline_version": ["factor"]}
    with pytest.raises(RuntimeError, match="inline_version"):
        load_inline("version", changed, functions=functions)
    load_inline("version", changed, functions=functions, prefix="second.")
    np.testing.assert_array_equal(call("second.inline_version", factor=2), X + 2)


def test_flags_and_headers_are_part_of_what_is_cached(tmp_path: Path) -> None:
    header = tmp_path / "include" / "amount.h"
    header.parent.mkdir()
    header.write_text("#define AMOUNT 1\n")
    source = '#include "amount.h"\n' + (SCALE % "inline_amount").replace(
        "* factor", "* AMOUNT MORE"
    )

    def times(prefix: str, more: str) -> list[float]:
        load_inline(
            "amount",
            source,
            functions={"inline_amount": ["factor"]},
            extra_cflags=[f"-DMORE={more}"],
            extra_include_paths=[header.parent],
            prefix=prefix,
        )
        return call(f"{prefix}inline_amount", factor=0).tolist()

    assert times("a.", "+0") == [1, 2, 3]
    assert times("b.", "+1") == [2, 3, 4]
    header.write_text("#define AMOUNT  100\n")
    assert times("c.", "+0") == [100, 200, 300]


def test_another_process_compiles_nothing(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import farcall as fc\n"
        f"library = fc.ffi.load_inline('scale', {SCALE % 'inline_twice'!r},"
        " functions={'inline_twice': ['factor']})\n"
        "print(library.path, library.path.stat().st_ino)\n"
    )
    runs = [
        subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout


def test_a_library_is_loaded_whole(tmp_path: Path) -> None:
    source = "#include <farcall/ffi.h>\n" + SCALE % "multiply"
    source += 'FARCALL_DEFINE_HANDLER(library_scale, multiply, "factor");\n'
    source += WITH_STATE.replace("%s", "library_state").replace("namespace ffi", "// namespace ffi")
    library = load_library(build(source))
    assert set(library.handlers) == {"library_scale", "library_state"}
    np.testing.assert_array_equal(call("library_scale", factor=3), 3 * X)
    np.testing.assert_array_equal(call("library_state", value=3), X + 3)
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    with pytest.raises(OSError, match=r"broken\.so"):
        load_library(broken)


CUDA = """
namespace ffi = farcall::ffi;
__global__ void fill(float* y, size_t n) {
  const size_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 1;
}
static void ones(ffi::PlatformStream<cudaStream_t> stream, ffi::ResultBuffer<ffi::F32> y) {
  fill<<<(y->element_count() + 255) / 256, 256, 0, stream>>>(y->typed_data(), y->element_count());
}
FARCALL_DEFINE_HANDLER(inline_ones, ones);
"""


@pytest.mark.skipif(
    not (shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()), reason="no nvcc"
)
def test_cuda_sources() -> None:
    library = load_inline("ones", cuda_source=CUDA)
    assert library.platform == "cuda"
    assert "inline_ones" in fc.ffi.registered_targets("cuda")
    assert "inline_ones" not in fc.ffi.registered_targets("cpu")
    with pytest.raises(CompileError, match=r"line 1: .*missing"):
        load_inline("broken", cuda_source="int f() { return missing; }")


def test_other_runtimes_get_their_own_name_of_the_platform() -> None:
    # JAX ignores handlers for "cuda".
    library = load_inline("others", XLA % "for_others", platform="cuda")
    told: list[tuple[str, str]] = []
    host = SimpleNamespace(
        ffi=SimpleNamespace(
            register_ffi_target=lambda name, stages, platform: told.append((name, platform))
        )
    )
    library.register(host)
    assert told == [("for_others", "CUDA")]
    library.register(fc)  # farcall takes both names


def test_errors_outside_the_source_are_in_the_first_line() -> None:
    with pytest.raises(CompileError) as told:
        load_inline("names_none", cpp_source="\n", functions=["no_such_function"])
    assert "no_such_function" in str(told.value).splitlines()[0]


def test_names_in_make_rules_that_are_no_files_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As nvcc does, this compiler writes the name of a #line directive into the rules.
    compiler = tmp_path / "c++"
    compiler.write_text(f"""#!/bin/sh
{shutil.which("c++")} "$@" && sed -i '1s/:/: functions /' headers
""")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    source = """
static void fill(farcall::ffi::ResultBuffer<farcall::ffi::F32> y) { y->typed_data()[0] = 1; }
"""
    library = load_inline("lists_more", source, functions=["fill"], prefix="lists_more_")
    assert "lists_more_fill" in library.handlers
