"""Programs, saved functions and calls of targets that were made to do harm, and long kernels."""

import json
import os
import signal
import stat
import threading

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import _core


def exported():
    return fc.export(lambda x: {"a": (x, [x + 1])})(fnp.ones(3))


# ---- saved functions ----


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "nonsense",
        "[]",
        "7",
        "{}",
        '["set"]',
        '["dict", 1]',
        '["dict", [[], "*"]]',
        '["namedtuple"]',
        '["namedtuple", "os", 3]',
        '["namedtuple", "builtins", "tuple", "*"]',
        '["namedtuple", "no.module", "Name"]',
        "[" * 100_000,
        '["list",' * 50_000 + '"*"' + "]" * 50_000,
        '["list", "*", "*", "*"]',
        '"\\ud800"',
    ],
)
@pytest.mark.parametrize("name", ["in_tree", "out_tree"])
def test_hostile_structures_are_value_errors(name, text):
    program = exported().program
    trees = {n: json.dumps(["list"]) for n in ("in_tree", "out_tree")}
    trees[name] = text
    with pytest.raises(ValueError, match=r"deserialize: (in|out)_tree"):
        fc.deserialize(program._serialize(trees))


def test_metadata_without_the_other_structure_is_a_value_error():
    with pytest.raises(ValueError, match="deserialize: "):
        fc.deserialize(exported().program._serialize({"in_tree": '["list", "*"]'}))


@pytest.mark.parametrize("value", [1, 2.5, [1, 2], {"a": 1}])
def test_structures_that_are_no_text_are_value_errors(value):
    with pytest.raises(ValueError, match="deserialize: in_tree is not a valid structure"):
        fc.deserialize(exported().program._serialize({"in_tree": value, "out_tree": '"*"'}))


# ---- save ----


def test_save_destroys_no_other_file_and_leaves_none(tmp_path):
    path, bystander = tmp_path / "f", tmp_path / "f.part"
    bystander.write_text("mine")
    fc.save(path, exported())
    fc.save(path, exported())
    assert bystander.read_text() == "mine"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["f", "f.part"]


def test_save_keeps_permissions_and_gives_those_of_the_process(tmp_path):
    path = tmp_path / "f"
    old = os.umask(0o027)
    try:
        fc.save(path, exported())
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    fc.save(path, exported())
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


def test_save_through_a_link_keeps_the_link(tmp_path):
    path, link = tmp_path / "f", tmp_path / "link"
    fc.save(path, exported())
    before = path.stat().st_ino
    link.symlink_to(path)
    fc.save(link, exported())
    assert link.is_symlink()
    assert path.stat().st_ino != before
    assert fc.load(link).program == exported().program


def test_save_to_what_is_no_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        fc.save(tmp_path / "nowhere" / "f", exported())
    with pytest.raises(IsADirectoryError):
        fc.save(tmp_path, exported())
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="pipe"):
        fc.save(tmp_path / "pipe", exported())
    with pytest.raises(OSError, match="Invalid argument"):
        fc.save(f"{tmp_path}/f\0g", exported())
    assert not (tmp_path / "f").exists()
    (tmp_path / "dangling").symlink_to(tmp_path / "gone" / "f")
    with pytest.raises(FileNotFoundError):
        fc.save(tmp_path / "dangling", exported())


def test_readers_and_savers_at_the_same_time_see_whole_files(tmp_path):
    path = tmp_path / "f"
    functions = [fc.export(lambda x, n=n: x * n)(fnp.ones(50 * n)) for n in range(1, 5)]
    programs = {str(f.program) for f in functions}
    fc.save(path, functions[0])
    seen, errors = set(), []

    def save(function):
        try:
            for _ in range(40):
                fc.save(path, function)
        except Exception as error:
            errors.append(error)

    savers = [threading.Thread(target=save, args=(f,)) for f in functions]
    for saver in savers:
        saver.start()
    while any(saver.is_alive() for saver in savers):
        seen.add(str(fc.load(path).program))
    for saver in savers:
        saver.join()
    assert not errors
    assert seen <= programs
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


# ---- programs in programs ----


def tower(levels):
    f = fc.jit(lambda x: fnp.sin(x))
    for _ in range(levels):
        f = fc.jit(lambda x, g=f: g(g(x)))
        f.lower(1.0)  # recorded from the inside, so that Python's own stack stays small
    return f


def test_programs_that_share_a_function_beyond_counting():
    a, b = tower(50).lower(1.0).program, tower(50).lower(1.0).program
    assert a == b
    assert len(str(a)) < 100_000
    assert _core.parse_program(str(a)) == a
    with pytest.raises(MemoryError, match=r"would give \d+ equations"):
        tower(50)(1.0)
    np.testing.assert_allclose(tower(3)(1.0), np.float32(_sin(8)), rtol=1e-5)


def _sin(times):
    x = 1.0
    for _ in range(times):
        x = np.sin(x)
    return x


def test_functions_nested_beyond_the_bound_are_refused():
    f = fc.jit(lambda x: x + 1)
    for _ in range(255):
        f = fc.jit(lambda x, g=f: g(x))
        f.lower(1.0)
    deeper = fc.jit(lambda x, g=f: g(x))
    with pytest.raises(ValueError, match="nested more than 256 deep"):
        deeper.lower(1.0)


# ---- targets ----


def test_lapack_targets_check_their_buffers():
    a = fnp.ones((2, 2), "float64")
    call = fc.ffi.ffi_call("farcall_cholesky", fc.ShapeDtypeStruct((2, 2), "float32"))
    with pytest.raises(ValueError, match=r"are \(f64\[2,2\]\) by the shape rule .* \(f32\[2,2\]\)"):
        call(a)


# ---- Ctrl-C ----


def test_one_call_is_interrupted():
    # One kernel of many seconds: what is asserted is that it ends by the signal.
    x = fnp.arange(60_000_000, 0, -1) % 99991
    sort = fc.jit(fnp.sort).lower(x).compile()
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            sort(x)
    finally:
        timer.join()
