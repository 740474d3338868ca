"""Registering targets and types."""

from __future__ import annotations

import ctypes
import datetime
import mmap
import os
import subprocess
import sys
from platform import machine

import farcall as fc
import numpy as np
import pytest
from farcall import ffi

V = fc.ShapeDtypeStruct((3,), "float32")
CODE: list[mmap.mmap] = []  # of targets, which live as long as the process


@pytest.fixture
def capsule(handler_library):
    return ffi.pycapsule(handler_library.scale)


def test_the_same_handler_may_be_registered_twice_and_another_may_not(handler_library, capsule):
    for _ in range(2):
        ffi.register_ffi_target("registered_twice", capsule)
        ffi.register_ffi_target("registered_twice", {"execute": capsule})
    with pytest.raises(
        RuntimeError,
        match='registry: "registered_twice" on platform "cpu" is registered already, '
        "with another execute handler",
    ):
        ffi.register_ffi_target("registered_twice", ffi.pycapsule(handler_library.throws))
    assert "registered_twice" in ffi.registered_targets()


def test_platforms_in_any_case_and_gpu_means_two(capsule):
    ffi.register_ffi_target("on_gpu", capsule, platform="GPU")
    for platform in ("cuda", "ROCm", "gpu"):
        assert "on_gpu" in ffi.registered_targets(platform)
    assert "on_gpu" not in ffi.registered_targets("cpu")
    ffi.register_ffi_target("on_host", capsule, platform="Host")
    assert "on_host" in ffi.registered_targets("CPU")
    with pytest.raises(ValueError, match=r'unknown platform "quantum". Known ones: cpu'):
        ffi.register_ffi_target("on_quantum", capsule, platform="quantum")


def test_a_target_of_another_platform_is_not_called(capsule):
    ffi.register_ffi_target("cuda_only", capsule, platform="cuda")
    with pytest.raises(
        fc.FfiError, match=r'no target "cuda_only" on platform "cpu".*registered for cuda'
    ):
        ffi.ffi_call("cuda_only", V)(1.0)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("t", None), TypeError, r'register_ffi_target\("t"\): fn must be a PyCapsule, got None'),
        (
            ("t", 3),
            TypeError,
            "fn must be a PyCapsule, got 3 of type int. Make one of a ctypes function",
        ),
        (("t", {}), ValueError, 'registry: "t" on platform "cpu" has no execute stage'),
        (
            ("t", {"execute": 3}),
            TypeError,
            r'register_ffi_target\("t"\): execute must be a PyCapsule',
        ),
        ((3, None), TypeError, "register_ffi_target: name must be a string, got 3 of type int"),
        (("t", None, None), TypeError, "platform must be a string, got None"),
        (("t", None, "cpu", "1"), TypeError, "api_version must be an integer, got '1'"),
    ],
    ids=repr,
)
def test_what_cannot_be_registered(arguments, error, message):
    with pytest.raises(error, match=message):
        ffi.register_ffi_target(*arguments)
    assert "t" not in ffi.registered_targets()


def test_more_that_cannot_be_registered(capsule, handler_library):
    with pytest.raises(TypeError, match=r"fn must be a PyCapsule.*farcall.ffi.pycapsule"):
        ffi.register_ffi_target("t", handler_library.scale)
    with pytest.raises(
        ValueError, match='unknown stage "exec"; must be one of instantiate, prepare'
    ):
        ffi.register_ffi_target("t", {"exec": capsule})
    with pytest.raises(
        ValueError, match=r"api_version must be 0 \(untyped\) or 1 \(typed\), got 3"
    ):
        ffi.register_ffi_target("t", capsule, api_version=3)
    with pytest.raises(ValueError, match="the name of a target is empty"):
        ffi.register_ffi_target("", capsule)
    with pytest.raises(TypeError, match="unexpected keyword argument 'trait'"):
        ffi.register_ffi_target("t", capsule, trait=1)
    ffi.register_ffi_target("with_traits", capsule, traits=1)


def test_a_capsule_of_data_is_refused_and_does_not_end_the_process(capsule):
    with pytest.raises(TypeError, match=r'"t"\): fn: a PyCapsule named "dltensor" holds an array'):
        ffi.register_ffi_target("t", np.zeros(2).__dlpack__())
    variable = ctypes.c_char.in_dll(ctypes.pythonapi, "PyBool_Type")
    data = ffi.pycapsule(ctypes.addressof(variable))
    for wrong in (datetime.datetime_CAPI, data, ffi.pycapsule(1)):
        for fn in (wrong, {"prepare": wrong, "execute": capsule}):
            with pytest.raises(
                ValueError,
                match=r'on platform "cpu": its (execute|prepare) handler is '
                r"at 0x[0-9a-f]+, where there is no code",
            ):
                ffi.register_ffi_target("t", fn)
        with pytest.raises(ValueError, match="its function is at 0x"):
            ffi.register_ffi_target("t", wrong, api_version=0)
        with pytest.raises(ValueError, match="its execute handler is at 0x"):
            ffi.register_ffi_target("t", wrong, isolate=True)
    assert "t" not in ffi.registered_targets()


@pytest.mark.skipif(machine() != "x86_64", reason="the code is for x86-64")
def test_code_that_is_in_no_library_is_registered():
    # As compilers make it at run time: xor eax, eax; ret. It returns success.
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(b"\x31\xc0\xc3")
    CODE.append(page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ffi.register_ffi_target("made_at_run_time", ffi.pycapsule(address))
    assert ffi.ffi_call("made_at_run_time", V)().shape == (3,)


def test_types_are_registered_by_capsules(handler_library):
    with pytest.raises(
        ValueError, match=r'register_ffi_type\("t"\): expected a dict with keys type_id'
    ):
        ffi.register_ffi_type("t", {})
    with pytest.raises(ValueError, match="expected a dict with keys"):
        ffi.register_ffi_type("t", {"type_id": 1, "size": 2})
    with pytest.raises(TypeError, match="type_id must be a PyCapsule, got 3"):
        ffi.register_ffi_type("t", {"type_id": 3})
    type_id = ctypes.c_int64(0)
    capsule = ffi.pycapsule(ctypes.cast(ctypes.pointer(type_id), ctypes.c_void_p))
    ffi.register_ffi_type("a_type_of_python", {"type_id": capsule})
    assert type_id.value != 0


def test_pycapsule_takes_ctypes_functions_and_addresses_alone():
    for bad in (3.5, None, lambda: 0, "scale"):
        with pytest.raises(TypeError, match="pycapsule: expected a ctypes function"):
            ffi.pycapsule(bad)
    with pytest.raises(ValueError, match="the function's address is null"):
        ffi.pycapsule(ctypes.c_void_p())


def test_the_headers_are_in_the_package():
    assert os.path.exists(os.path.join(ffi.include_dir(), "farcall", "ffi.h"))
    assert os.path.exists(os.path.join(ffi.include_dir(), "xla", "ffi", "api", "ffi.h"))


def test_the_import_loads_little_beyond_numpy():
    """What it may cost is in the benchmarks; here, which of the slow modules it must not load."""
    code = "import numpy, sys; before = set(sys.modules); import farcall\n"
    code += "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert {"farcall", "ml_dtypes"} <= loaded
    assert not loaded & {
        "asyncio",
        "email",
        "importlib_metadata",
        "jax",
        "scipy",
        "torch",
        "typing_extensions",
    }
    assert "importlib.metadata" not in done.stdout.split()


def test_the_version_is_said():
    assert fc.__version__.count(".") == 2


def test_a_target_can_be_marked_as_batch_partitionable_in_any_order():
    assert not ffi.is_batch_partitionable("marked")
    ffi.register_ffi_target_as_batch_partitionable("marked")
    ffi.register_ffi_target_as_batch_partitionable("marked")
    assert ffi.is_batch_partitionable("marked")
