"""Handlers written against XLA's FFI header, built with it and with farcall's, in both runtimes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import farcall as fc
import numpy as np
import pytest
from handler_library import COMPILER, build

pytest.importorskip("jax")
import jax
from hosts import FARCALL, HOSTS, JAX, Host

SOURCE = "xla_names.cc"
F32, F64 = np.float32, np.float64
ONE = ((), np.int64)
TARGETS = [
    "add",
    "norms_f32",
    "norms_c64",
    "bits",
    "reinterpret",
    "ranks",
    "attributes",
    "nested",
    "all_attributes",
    "struct_of_all",
    "pointer",
    "remaining",
    "optional",
    "no_arguments",
    "quarter",
    "context",
    "stream",
    "future",
    "at_once",
    "auto",
    "tagged",
    "copy",
    "by_hand",
    "bound_to",
    "column_sums",
    "plain_c",
]


@pytest.fixture(scope="module")
def libraries() -> dict[str, ctypes.CDLL]:
    """The same source with both headers, all handlers registered with both runtimes."""
    # All symbols visible, as without -fvisibility=hidden. XLA's folder comes before farcall's.
    flags = ("-fvisibility=default",)
    paths = {
        "theirs": build(SOURCE, *flags, "-w", "-I", jax.ffi.include_dir()),
        "ours": build(SOURCE, *flags),
    }
    made = {header: ctypes.CDLL(str(path)) for header, path in paths.items()}
    for header, library in made.items():
        for host in HOSTS:
            for name in TARGETS:
                host.register(f"{header}_{name}", library, symbol=f"names_{name}")
            _register_plan(host, header, library)
        library.names_streamed.restype = ctypes.c_char_p
        library.names_pointee.restype = ctypes.c_void_p
    return made


def _register_plan(host: Host, header: str, library: ctypes.CDLL) -> None:
    for function in (library.names_plan_id, library.names_plan_info):
        function.restype = ctypes.c_void_p
    host.ffi.register_ffi_type(
        f"{header}_plan_of_{host}",
        {
            "type_id": _capsule(library.names_plan_id()),
            "type_info": _capsule(library.names_plan_info()),
        },
        platform="cpu",
    )
    stages = ("instantiate", "prepare", "initialize")
    symbols = {stage: f"names_plan_{stage}" for stage in stages}
    host.register(f"{header}_plan", library, {**symbols, "execute": "names_plan"})


def _capsule(address: int) -> Any:
    return fc.ffi.pycapsule(ctypes.cast(address, ctypes.CFUNCTYPE(None)))


@pytest.fixture
def everywhere(libraries: dict[str, ctypes.CDLL]):
    """Calls a handler of each library in each runtime; the results, all of the same bits."""

    def call(name: str, results: Any, *args: Any, **kwargs: Any) -> Any:
        made = [
            host.call(f"{header}_{name}", results, *args, **kwargs)
            for header in libraries
            for host in HOSTS
        ]
        as_lists = [m if isinstance(m, (list, tuple)) else [m] for m in made]
        for other in as_lists[1:]:
            for one, two in zip(as_lists[0], other, strict=True):
                assert (one.dtype, one.shape) == (two.dtype, two.shape)
                assert one.tobytes() == two.tobytes()
        return made[0]

    return call


@pytest.mark.parametrize("dtype", [F32, F64, np.int32, np.complex64])
def test_any_buffer(everywhere, dtype: Any) -> None:
    x = np.arange(6).reshape(2, 3).astype(dtype)
    y = everywhere("add", ((2, 3), dtype), x, x)
    np.testing.assert_array_equal(y, x + x)


def test_buffers_of_fixed_type_and_rank(everywhere) -> None:
    x = np.arange(6, dtype=F32).reshape(2, 3) - 2
    np.testing.assert_array_equal(everywhere("norms_f32", ((2,), F32), x), np.abs(x).sum(axis=1))
    z = np.array([[3 + 4j, 1], [2j, -5 + 12j]], np.complex64)
    np.testing.assert_array_equal(everywhere("norms_c64", ((2,), F32), z), [6, 15])
    np.testing.assert_array_equal(everywhere("bits", ((2, 3), np.uint32), x), x.view(np.uint32))
    half = np.array([1.5, -2], np.float16)
    np.testing.assert_array_equal(everywhere("reinterpret", ((2,), np.float16), half), half)
    everywhere("copy", ((2, 3), F32), x)
    np.testing.assert_array_equal(everywhere("plain_c", ((2, 3), F32), x), -x)


def test_ranks_and_tokens(libraries: dict[str, ctypes.CDLL]) -> None:
    a, b, c = np.int32(5), np.zeros((1, 2, 3), np.int32), np.zeros((1, 2, 3, 4), np.int32)
    for header in libraries:
        with FARCALL.types():
            call = fc.ffi.ffi_call(f"{header}_ranks", fc.ShapeDtypeStruct((), np.int64))
            assert call(a, b, c, fc.lax.create_token()) == 5 + 30 + 400 + 24000


def test_attributes(everywhere) -> None:
    window = {"size": 6, "scale": F32(0.5), "mode": np.int32(1)}
    attributes = {
        "f": F32(0.1), "d": 0.1, "i": np.int32(-7), "l": 2**40, "b": True, "u": np.uint8(200),
        "text": "four", "ints": np.arange(4), "floats": np.array([1, 2.5], F32),
        "mode": np.int32(1), "window": window,
        "color": "blue", "either": "ab",
    }  # fmt: skip
    values = everywhere("attributes", ((13,), F64), **attributes)
    wanted = [F32(0.1), 0.1, -7, 2**40, 1, 200, 4, 6, 2.5, 1, 4, 255, 2]
    np.testing.assert_array_equal(values, wanted)
    attributes |= {"either": 12, "floats": np.array([], F32)}
    assert everywhere("attributes", ((13,), F64), **attributes)[12] == 12
    assert everywhere("struct_of_all", ((), F32), **window) == 3
    values = everywhere(
        "all_attributes", ((8,), np.int64), n=3, inner={"value": 2.5}, mode=np.int32(0)
    )
    assert values.tolist() == [3, 1, 3, 1, 0, 50401, 5, 1]


def test_structs_in_structs(libraries: dict[str, ctypes.CDLL]) -> None:
    nested: dict[str, Any] = {
        "window": {"size": 6, "scale": F32(0.5), "mode": np.int32(1)},
        "label": "xyz",
    }
    for header in libraries:  # JAX has no dictionaries in dictionaries
        assert FARCALL.call(f"{header}_nested", ONE, nested=nested) == 9
    nested["window"]["size"] = F32(6)
    with pytest.raises(ValueError, match=r"declares attribute nested\.window\.size as int64"):
        FARCALL.call("ours_nested", ONE, nested=nested)


def test_pointers(libraries: dict[str, ctypes.CDLL]) -> None:
    for header, library in libraries.items():
        for i, host in enumerate(HOSTS):
            address = np.int64(library.names_pointee())
            assert host.call(f"{header}_pointer", ONE, address=address) == 42 + i


def test_any_number_of_buffers(everywhere) -> None:
    x, y = np.arange(3, dtype=F32), np.ones((2, 2), F32)
    results = [((3,), F32), ((2, 2), F32)]
    made = everywhere("remaining", results, F32(3), x, y)
    np.testing.assert_array_equal(made[0], 3 * x)
    assert everywhere("remaining", [], F32(3)) == []
    np.testing.assert_array_equal(everywhere("optional", ((3,), F32), x), x)
    both = everywhere("optional", [((3,), F32), ONE], x, x)
    np.testing.assert_array_equal(both[0], 2 * x)
    assert both[1] == 3
    assert everywhere("no_arguments", ONE) == 7
    assert everywhere("no_arguments", ONE, x, y) == 7


def test_errors_of_the_function(everywhere, libraries: dict[str, ctypes.CDLL]) -> None:
    assert everywhere("quarter", ONE, n=12) == 3
    for header in libraries:
        for host in HOSTS:
            for n, code, text in [
                (7, "INVALID_ARGUMENT", "7: odd"),
                (6, "OUT_OF_RANGE", "6: half is odd"),
            ]:
                failure = _failure(host, f"{header}_quarter", ONE, n=n)
                assert failure == (code, text)
            x = np.ones(2, np.uint8)
            failure = _failure(host, f"{header}_add", ((2,), np.uint8), x, x)
            assert failure == ("UNIMPLEMENTED", "no addition for U8")


def test_context_futures_and_stages(everywhere, libraries: dict[str, ctypes.CDLL]) -> None:
    assert everywhere("context", ((6,), np.int64)).tolist() == [0, 1, 1, 0, 2, 0]
    assert everywhere("future", ((5,), np.int64), parts=5, fail=-1).tolist() == [0, 10, 20, 30, 40]
    assert everywhere("at_once", ONE) == 5
    np.testing.assert_array_equal(everywhere("plan", ((3,), F32), size=5), np.full(3, 2.5, F32))
    for header in libraries:
        for host in HOSTS:
            results = ((5,), np.int64)
            failure = _failure(host, f"{header}_future", results, parts=5, fail=3)
            assert failure == ("DATA_LOSS", "part 3")


def test_other_ways_to_bind(everywhere, libraries: dict[str, ctypes.CDLL]) -> None:
    x = np.arange(3, dtype=F32)
    np.testing.assert_array_equal(everywhere("auto", ((3,), F32), x, offset=F32(0.5)), x + F32(0.5))
    assert everywhere("tagged", ONE, x, tag="four") == 4
    assert everywhere("bound_to", ONE, a=1, b=2.0) == 2
    for header in libraries:
        counts = [
            int(host.call(f"{header}_by_hand", ONE, step=i + 1)) for i, host in enumerate(HOSTS)
        ]
        assert counts == [1, 3]
    texts = {library.names_streamed() for library in libraries.values()}
    assert texts == {b"F32 F8E4M3FN dictionary prepare"}


def _failure(host: Host, target: str, results: Any, *args: Any, **kwargs: Any) -> tuple[str, str]:
    return host.failure(lambda: host.call(target, results, *args, **kwargs))


# What farcall's header says of calls that do not fit, in both runtimes.
X = np.ones((2, 2), F32)
MISTAKES = [
    ("bits", ((2, 2), np.uint32), (X.astype(np.int32),), {},
     "names_bits: argument 0: wanted f32, got s32[2,2]"),
    ("norms_f32", ((2,), F32), (np.ones(2, F32),), {},
     "names_norms_f32: argument 0: wanted f32[?,?], got f32[2]"),
    ("bits", [((2, 2), np.uint32)] * 2, (X,), {}, "names_bits: wanted 1 result, got 2"),
    ("bits", ((2, 2), np.uint32), (), {}, "names_bits: wanted 1 argument, got 0"),
    ("quarter", ONE, (), {},
     'names_quarter: attribute "n": missing (the call has none)'),
    ("quarter", ONE, (), {"m": 1, "n": 4},
     'names_quarter: attribute "m": unknown (wanted "n")'),
    ("struct_of_all", ((), F32), (), {"size": 1, "scale": F32(1)},
     'names_struct_of_all: attribute "mode": missing (the call has "scale", "size")'),
    ("struct_of_all", ((), F32), (), {"size": 1, "scale": "big", "mode": np.int32(0)},
     'names_struct_of_all: attribute "scale": wanted f32 scalar, got string'),
    ("optional", ((2, 2), F32), (X, X.astype(F64)), {},
     "names_optional: argument 1: wanted f32, got f64[2,2]"),
    ("optional", ((2, 2), F32), (X, X, X), {},
     "names_optional: wanted at least 1 and at most 2 arguments, got 3"),
    ("optional", [((2, 2), F32), ONE, ONE], (X,), {},
     "names_optional: wanted at least 1 and at most 2 results, got 3"),
    ("norms_f32", ((), F64), (np.ones(2, F64),), {},
     "names_norms_f32: 2 problems: argument 0: wanted f32[?,?], got f64[2]; "
     "result 0: wanted f32[?], got f64[]"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "results", "args", "attributes", "text"), MISTAKES)
def test_messages(libraries, name, results, args, attributes, text) -> None:
    del libraries
    for host in HOSTS:
        failure = _failure(host, f"ours_{name}", results, *args, **attributes)
        assert failure == ("INVALID_ARGUMENT", text)


def test_attributes_of_another_type(libraries) -> None:
    """farcall reads the signature before the call."""
    del libraries
    failure = _failure(JAX, "ours_quarter", ONE, n=F32(4))
    wanted = 'names_quarter: attribute "n": wanted s64 scalar, got f32 scalar'
    assert failure == ("INVALID_ARGUMENT", wanted)
    with pytest.raises(ValueError, match="its handler declares attribute n as int64; got 4"):
        FARCALL.call("ours_quarter", ONE, n=F32(4))
    assert FARCALL.call("ours_quarter", ONE, n=8) == FARCALL.call("theirs_quarter", ONE, n=8) == 2


def test_an_authors_decoding_may_begin_with_that_of_a_buffer(everywhere) -> None:
    x = np.arange(6, dtype=F32).reshape(2, 3)
    assert everywhere("column_sums", ((3,), F32), x).tolist() == [3, 5, 7]
    for host in HOSTS:
        assert _failure(host, "ours_column_sums", ((3,), F32), x[0]) == (
            "INVALID_ARGUMENT",
            "names_column_sums: argument 0: wanted f32[?,?], got f32[3]",
        )
        assert _failure(host, "ours_column_sums", ((3,), F64), x) == (
            "INVALID_ARGUMENT",
            "names_column_sums: result 0: no row",
        )


def test_messages_of_an_authors_decoding_and_of_the_context(libraries) -> None:
    del libraries
    window = {"size": 6, "scale": F32(0.5), "mode": np.int32(1)}
    attributes = {
        "f": F32(1), "d": 1.0, "i": np.int32(1), "l": 1, "b": True, "u": np.uint8(1), "text": "",
        "ints": np.arange(4), "floats": np.ones(1, F32), "mode": np.int32(1), "window": window,
        "color": "green", "either": 1,
    }  # fmt: skip
    for host in HOSTS:
        failure = _failure(host, "ours_attributes", ((13,), F64), **attributes)
        assert failure == (
            "INVALID_ARGUMENT",
            'names_attributes: attribute "color": there is no color green among 2',
        )
        failure = _failure(host, "ours_plan", ((1,), F32), size=-1)
        assert failure == ("INVALID_ARGUMENT", "size is negative")
    code, text = _failure(FARCALL, "ours_stream", [], options={"has_side_effect": True})
    assert code == "INVALID_ARGUMENT"
    assert text.startswith("names_stream: stream: there is no stream: ")


def test_state_of_a_type_that_nobody_registered_is_registered_by_the_handler() -> None:
    text = """
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
struct Plan { static ffi::TypeId id; float factor; };
ffi::TypeId Plan::id = {};
static ffi::ErrorOr<std::unique_ptr<Plan>> Make() { return std::make_unique<Plan>(Plan{3}); }
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* unregistered(XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(unregistered, Make, ffi::Ffi::BindInstantiate());
static ffi::Error Run(Plan* plan, ffi::ResultBuffer<ffi::F32> y) {
  y->typed_data()[0] = plan->factor;
  return ffi::Error::Success();
}
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* execute(XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(execute, Run, ffi::Ffi::Bind().Ctx<ffi::State<Plan>>()
    .Ret<ffi::Buffer<ffi::F32>>());
"""
    library = ctypes.CDLL(str(build(text)))
    for host in HOSTS:
        stages = {"instantiate": "unregistered", "execute": "execute"}
        host.register("unregistered", library, stages)
        assert host.call("unregistered", ((1,), F32)).tolist() == [3]


def test_the_lean_header_needs_less_and_does_the_same() -> None:
    kernel = """
#define FARCALL_XLA_LEAN
#include "xla/ffi/api/ffi.h"
namespace ffi = xla::ffi;
static ffi::Error Scale(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y, float factor) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = factor * x.typed_data()[i];
  return ffi::Error::Success();
}
extern "C" __attribute__((visibility("default"))) XLA_FFI_Error* lean(XLA_FFI_CallFrame*);
XLA_FFI_DEFINE_HANDLER_SYMBOL(lean, Scale, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>()
    .Ret<ffi::Buffer<ffi::F32>>().Attr<float>("factor"));
"""
    library = ctypes.CDLL(str(build(kernel)))
    for host in HOSTS:
        host.register("lean", library)
        assert host.call("lean", ((2,), F32), np.ones(2, F32), factor=F32(3)).tolist() == [3, 3]


def test_both_headers_at_once_get_a_clear_answer(tmp_path: Path) -> None:
    ours, theirs = Path(fc.ffi.include_dir()), Path(jax.ffi.include_dir())
    shutil.copytree(ours / "xla", tmp_path / "ours" / "xla")

    def compiled(*includes: str) -> str:
        text = "".join(f'#include "{path}"\n' for path in includes)
        command = [COMPILER, "-std=c++17", "-w", "-fsyntax-only", "-x", "c++", "-"]
        folders = [f"-I{theirs}", f"-I{ours}"]
        done = subprocess.run(
            [*command, *folders], input=text, text=True, capture_output=True, check=False
        )
        return done.stderr

    # The first folder on the path is the one that counts, whole.
    header = "xla/ffi/api/ffi.h"
    assert compiled(header) == ""
    advice = "put one include folder of the two on the path"
    assert advice in compiled(f"{theirs}/{header}", f"{ours}/{header}")
    assert advice in compiled(f"{ours}/{header}")
    # After farcall's, XLA's are empty.
    assert compiled(f"{ours}/xla/ffi/api/c_api.h", f"{theirs}/xla/ffi/api/c_api.h") == ""


def test_libraries_of_the_two_headers_share_no_symbol(libraries: dict[str, ctypes.CDLL]) -> None:
    ours, theirs = (
        subprocess.run(
            ["nm", "-D", "--defined-only", libraries[header]._name],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for header in ("ours", "theirs")
    )
    assert any("3xla3ffi" in name for name in ours)
    assert not {name for name in set(ours) & set(theirs) if "3xla" in name}


def test_handlers_carry_their_signatures() -> None:
    """Of farcall's header: tools read them, and ``check`` needs no description."""
    library = build(SOURCE, "-fvisibility=default")
    command = shutil.which("farcall", path=str(Path(sysconfig.get_path("scripts"))))
    assert command is not None

    def run(*arguments: str) -> str:
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    text = run("inspect", str(library))
    for name, signature in {
        "names_norms_f32": "(f32[?,?]) {} -> (f32[?])",
        "names_optional": "(f32, optional f32) {} -> (f32, optional s64)",
        "names_future": "() {fail: s64 scalar, parts: s64 scalar} -> (s64[?])",
    }.items():
        shown = text[text.index(f"\n{name}\n") :].splitlines()[2]
        assert shown.split(maxsplit=1) == ["signature", signature], shown
    assert "names_norms_f32: clean" in run("check", f"{library}:names_norms_f32")
