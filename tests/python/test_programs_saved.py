"""Programs and functions saved and loaded."""

from __future__ import annotations

import collections
import pickle
import subprocess
import sys
import warnings

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi
from hypothesis import given, settings
from hypothesis import strategies as st

V = fc.ShapeDtypeStruct((3,), "float32")
Point = collections.namedtuple("Point", "x y")


@pytest.fixture
def x() -> fc.Array:
    return fnp.array([1.0, 2.0, 3.0])


def test_an_exported_function_is_called_as_the_function_was(x, tmp_path):
    def function(a, b, *, k=1.0):
        return {"r": (a + b[0] * k, None), "p": Point(b[1], [a.sum()])}

    exported = fc.export(function)(x, (x, 2), k=3.0)
    assert exported.in_avals[0][0] == V
    assert exported.out_avals["r"][0] == V
    fc.save(tmp_path / "f.farcall", exported)
    loaded = fc.load(str(tmp_path / "f.farcall"))
    assert [p.name for p in tmp_path.iterdir()] == ["f.farcall"]
    assert loaded.program == exported.program
    assert (loaded.in_tree, loaded.out_tree) == (exported.in_tree, exported.out_tree)
    result = loaded(x, (x, 5), k=2.0)
    np.testing.assert_array_equal(result["r"][0], np.asarray(x) * 3)
    assert result["r"][1] is None
    assert isinstance(result["p"], Point)
    assert (int(result["p"].x), float(result["p"].y[0])) == (5, 6.0)
    assert loaded.call(x, (x, 5), k=2.0)["r"][1] is None
    with pytest.raises(TypeError, match="exported function: it takes arguments of structure"):
        loaded(x, x)
    with pytest.raises(ValueError, match=r"input 0 should be f32\[3\], got f32\[2\]"):
        loaded(x[:2], (x, 5), k=2.0)


def test_a_loaded_function_can_be_transformed(x):
    exported = fc.export(lambda a: (fnp.sin(a) * a).sum())(x)
    loaded = fc.deserialize(exported.serialize())
    expected = np.cos(x) * np.asarray(x) + np.sin(x)
    np.testing.assert_allclose(fc.grad(loaded)(x), expected, rtol=1e-6)
    assert fc.vmap(loaded)(fnp.stack([x, x])).shape == (2,)
    assert fc.jit(lambda a: loaded(a) + 1)(x).shape == ()


def test_static_arguments_are_part_of_the_program(x):
    jitted = fc.jit(lambda a, n: a * n, static_argnums=1)
    loaded = fc.deserialize(jitted.lower(x, 3).serialize())
    np.testing.assert_array_equal(loaded(x), np.asarray(x) * 3)


def test_programs_are_saved_as_they_are(x, tmp_path):
    program = fc.make_jaxpr(lambda a: a + np.array([1, np.nan, -0.0], np.float32))(x)
    fc.save(tmp_path / "p", program)
    loaded = fc.load(tmp_path / "p")
    assert type(loaded) is fc.Program
    assert loaded == program
    assert hash(loaded) == hash(program)
    assert pickle.loads(pickle.dumps(program)) == program


def test_constants_are_compact():
    big = fnp.array(np.arange(100_000, dtype=np.float64))
    program = fc.make_jaxpr(lambda a: (a + big) * big)(big)
    assert len(program.serialize()) < big.nbytes + 1000


def test_what_cannot_be_saved(x):
    with pytest.raises(TypeError, match=r"save: expected a program, .* got <function"):
        fc.save("nowhere", lambda a: a)
    with pytest.raises(TypeError, match=r"keys of dicts must be str or int, got 1\.5"):
        fc.export(lambda a: {1.5: a})(x).serialize()
    with pytest.raises(FileNotFoundError):
        fc.load("/nowhere/at/all")


def test_a_namedtuple_that_is_gone(x, monkeypatch):
    data = fc.export(lambda a: Point(a, a))(x).serialize()
    monkeypatch.delattr(sys.modules[__name__], "Point")
    with pytest.raises(ValueError, match=r"uses the namedtuple .*Point, which does not exist"):
        fc.deserialize(data)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_changed_bytes_are_refused(data):
    program = fc.make_jaxpr(lambda a: a * 2 + np.ones(3, np.float32))(np.ones(3, np.float32))
    good = program.serialize()
    at = data.draw(st.integers(0, len(good) - 1))
    changed = bytearray(good)
    changed[at] ^= data.draw(st.integers(1, 255))
    for bad in (changed, good[:at], good + b"\0"):
        with pytest.raises((ValueError, NotImplementedError), match="saved program: "):
            fc.deserialize(bad)


# ---- foreign targets ----


def test_a_missing_target_is_an_error_or_a_warning(x):
    call = ffi.ffi_call("saved_but_missing", V)
    data = fc.export(lambda a: call(a))(x).serialize()
    with pytest.raises(RuntimeError, match='the program calls "saved_but_missing": registry: no'):
        fc.deserialize(data)
    with pytest.warns(UserWarning, match='the program calls "saved_but_missing"'):
        loaded = fc.deserialize(data, strict=False)
    assert loaded.program.equations[0].params["target_name"] == "saved_but_missing"


def test_a_target_whose_signature_changed_is_an_error_that_shows_both(handler_library, x, tmp_path):
    name = "saved_and_changed"
    call = fc.export(lambda a: ffi.ffi_call(name, V)(a, factor=np.float32(2)))
    ffi.register_ffi_target(name, ffi.pycapsule(handler_library.scale))
    fc.save(tmp_path / "f", call(x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(fc.load(tmp_path / "f")(x), np.asarray(x) * 2)
    # Another process has another handler under that name.
    code = f"""
import ctypes, farcall as fc
library = ctypes.CDLL({handler_library._name!r})
fc.ffi.register_ffi_target({name!r}, fc.ffi.pycapsule(library.sleep_for))
try:
    fc.load({str(tmp_path / "f")!r})
except RuntimeError as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == (
        f'saved program: "{name}" on platform "cpu" has another signature than when the program '
        "was saved:\n"
        "  saved: execute (f32) {factor: f32 scalar} -> (f32); traits 0\n"
        "  found: execute (f32) {milliseconds: s64 scalar} -> (f32); traits 0\n"
    )


# ---- random programs ----

UNARY = ("sin", "negative", "exp", "abs", "floor")
BINARY = ("add", "multiply", "subtract", "maximum")
NUMBERS = st.floats(width=32)
ATTRIBUTES = st.one_of(
    st.booleans(), st.integers(-(2**63), 2**64 - 1), st.floats(), st.text(), st.binary()
)


@st.composite
def steps_of_programs(draw: st.DrawFn) -> list[tuple]:
    """What is done, step by step, with which of the values before."""
    steps = []
    for i in range(draw(st.integers(1, 12))):
        value = draw(st.integers(0, i))
        rest = {
            "unary": st.sampled_from(UNARY),
            "call": st.sampled_from(UNARY),
            "binary": st.tuples(st.sampled_from(BINARY), st.integers(0, i)),
            "number": NUMBERS,
            "constant": st.lists(NUMBERS, min_size=3, max_size=3),
            "foreign": st.tuples(st.text(min_size=1), ATTRIBUTES),
        }
        kind = draw(st.sampled_from(sorted(rest)))
        steps.append((kind, value, draw(rest[kind])))
    return steps


def step(values: list[fc.Array], kind: str, index: int, rest) -> fc.Array:
    a = values[index]
    if kind == "unary":
        return getattr(fnp, rest)(a)
    if kind == "call":
        return fc.jit(lambda b: getattr(fnp, rest)(b) + 1)(a)
    if kind == "binary":
        return getattr(fnp, rest[0])(a, values[rest[1]])
    if kind == "number":
        return a + rest
    if kind == "constant":
        return a * np.array(rest, np.float32)
    return ffi.ffi_call(rest[0], V)(a, attribute=rest[1])


def build(steps: list[tuple]) -> fc.Program:
    def function(a):
        values = [a]
        for one in steps:
            values.append(step(values, *one))
        return values[-1], values[len(values) // 2]

    return fc.make_jaxpr(function)(np.ones(3, np.float32))


@given(steps_of_programs())
@settings(max_examples=150, deadline=None)
def test_random_programs_come_back_as_they_were(steps):
    program = build(steps)
    program.verify()
    text = program.to_text()
    parsed = fc.parse_program(text)
    assert parsed.to_text() == text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the targets are not there
        loaded = fc.deserialize(program.serialize(), strict=False)
    assert loaded == program
    assert hash(loaded) == hash(program)
    assert loaded.to_text() == text
    assert pickle.loads(pickle.dumps(program)) == program
    if "nan" not in text:  # text has one nan, arrays many
        assert parsed == program
    assert program.to_svg().count("<g ") == program.to_svg().count("</g>")
