"""Attributes of repeated calls of one ffi_call, which are converted once."""

from __future__ import annotations

import ctypes
import enum
import gc
import os
import subprocess
import sys
import weakref

import farcall as fc
import numpy as np
import pytest
from farcall import ffi
from handler_library import build, load

pytestmark = pytest.mark.usefixtures("handlers")
TEXT = fc.ShapeDtypeStruct((300,), "uint8")


class Whole(int):
    """A subclass, which may hold more than the number."""


class Single(np.float32):
    """The same of numpy's."""


class Choice(enum.IntEnum):
    TWO = 2


def describe(call: ffi.FfiCall, **attributes: object) -> str:
    return bytes(np.asarray(call(**attributes))).decode().strip()


# Handlers that allocate nothing.
SMALL = """
#include <cstring>
#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

ffi::Error Bits(double value, ffi::Result<ffi::BufferR0<ffi::U64>> bits) {
  std::memcpy(bits->typed_data(), &value, sizeof(value));
  return {};
}
FARCALL_DEFINE_HANDLER(bits, Bits, "value");

ffi::Error Count(ffi::Dictionary attributes, ffi::Result<ffi::BufferR0<ffi::U64>> count) {
  *count->typed_data() = attributes.size();
  return {};
}
FARCALL_DEFINE_HANDLER(count, Count, ffi::all_attributes);
"""


LOOKALIKES = {
    "one": (True, 1, 1.0, np.bool_(True), np.int8(1), np.uint8(1), np.int64(1), np.float64(1)),
    "zero": (0.0, -0.0, 0, False, np.float32(0.0), np.float32(-0.0), np.float64(-0.0)),
    "large": (2**63, 2**63 - 1, -(2**63), 2**64 - 1, 2.0**63, np.uint64(2**63)),
    "text": ("1", "", "é", "e", b"1", "x" * 280, "x" * 279 + "y"),
    "subclass": (2, Whole(2), Choice.TWO, 2.5, np.float32(2.5), Single(2.5), np.float64(2.5)),
}


@pytest.mark.parametrize("values", LOOKALIKES.values(), ids=LOOKALIKES)
def test_equal_values_of_another_type_or_sign_are_told_apart_in_repeated_calls(values):
    call = ffi.ffi_call("describe_attributes", TEXT)
    for _ in range(3):
        for value in values:
            alone = ffi.ffi_call("describe_attributes", TEXT)
            assert describe(call, value=value) == describe(alone, value=value)


def test_each_nan_keeps_its_bits_in_repeated_calls():
    ffi.register_ffi_target("bits_of_attribute", ffi.pycapsule(load(SMALL).bits))
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001], np.uint64)
    with fc.enable_x64():
        call = ffi.ffi_call("bits_of_attribute", fc.ShapeDtypeStruct((), "uint64"))
        for _ in range(3):
            for bits in nans:
                nan = bits.view(np.float64)
                assert int(call(value=nan)) == int(call(value=float(nan))) == bits


def test_the_order_of_names_and_how_they_are_given_do_not_matter():
    call = ffi.ffi_call("describe_attributes", TEXT)
    for _ in range(2):
        assert describe(call, a=1, b=2) == "a=s64:1 b=s64:2"
        assert describe(call, b=2, a=1) == "a=s64:1 b=s64:2"
        assert describe(call, b=1, a=2) == "a=s64:2 b=s64:1"
        made = {"".join(["a"]): 1, "".join(["", "b"]): 2}  # names that are not interned
        assert describe(call, **made) == "a=s64:1 b=s64:2"
        assert describe(call, a=1) == "a=s64:1"
        assert describe(call, aa=1) == "aa=s64:1"


def test_a_value_that_was_changed_is_read_again():
    call = ffi.ffi_call("describe_attributes", TEXT)
    numbers, array, names = [1], np.array([1]), {"x": 1}
    for i in (1, 2, 3):
        numbers[0], array[0], names["x"] = i, i, i
        assert describe(call, n=numbers) == f"n=s64[1]:{i},"
        assert describe(call, n=array) == f"n=s64[1]:{i},"
        assert describe(call, n=names) == f"n={{x=s64:{i} }}"


def test_a_later_definition_holds_for_repeated_calls(handler_library: ctypes.CDLL):
    target = "repeated_attributes"
    ffi.register_ffi_target(target, ffi.pycapsule(handler_library.describe_attributes))
    call = ffi.ffi_call(target, TEXT)
    for _ in range(2):
        assert describe(call, value=2) == "value=s64:2"
    ffi.define(target, shape="-> u8[300]", attributes={"value": np.int8(1)})
    for _ in range(2):
        assert describe(call, value=2) == "value=s8:2"


def test_repeated_calls_keep_no_object_that_can_be_large_or_part_of_a_cycle():
    call = ffi.ffi_call("describe_attributes", TEXT)
    value = Single(2.5)
    watched = weakref.ref(value)
    long = "x" * 5000
    held = sys.getrefcount(long)
    for _ in range(2):
        describe(call, value=value)
        describe(call, value=long[:])
    del value
    gc.collect()
    assert watched() is None
    assert sys.getrefcount(long) == held


def test_a_deleted_call_releases_the_values_of_its_calls():
    call = ffi.ffi_call("describe_attributes", TEXT)
    value = float("2.75")
    held = sys.getrefcount(value)
    for i in range(40):  # more than are kept at a time
        describe(call, value=value, other=float(i))
    assert sys.getrefcount(value) > held
    del call
    assert sys.getrefcount(value) == held


COUNTER = r"""
#include <dlfcn.h>
#include <cstddef>
static long count;
extern "C" __attribute__((visibility("default"))) void* malloc(size_t size) {
  using Malloc = void* (*)(size_t);
  static Malloc real = reinterpret_cast<Malloc>(dlsym(RTLD_NEXT, "malloc"));
  __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
  return real(size);
}
extern "C" __attribute__((visibility("default"))) long count_mallocs() {
  return __atomic_load_n(&count, __ATOMIC_RELAXED);
}
"""
COUNTED = """
import ctypes
import sys
import farcall as fc
import numpy as np
from farcall import ffi

count = ctypes.CDLL(None).count_mallocs
count.restype = ctypes.c_long
ffi.register_ffi_target("count", ffi.pycapsule(ctypes.CDLL(sys.argv[1]).count))
call = ffi.ffi_call("count", fc.ShapeDtypeStruct((), "uint64"))
factor = np.float32(2)

def per_call(run):
    for _ in range(100):
        run()
    before = count()
    for _ in range(1000):
        run()
    return round((count() - before) / 1000)

with fc.enable_x64():
    print(per_call(lambda: call()))
    print(per_call(lambda: call(a=1)))
    print(per_call(lambda: call(a=factor, b=2.5, c="a text of more than a few letters")))
"""


def test_a_warm_call_allocates_as_often_with_attributes_as_without():
    done = subprocess.run(
        [sys.executable, "-c", COUNTED, str(build(SMALL))],
        env={**os.environ, "LD_PRELOAD": str(build(COUNTER, "-ldl"))},
        capture_output=True,
        text=True,
        check=True,
    )
    without, *given = done.stdout.split()
    assert given == [without, without]
