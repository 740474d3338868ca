"""Profiles, and what reports tell of clusters."""

from __future__ import annotations

import json
import threading

import farcall as fc
import farcall.lax as lax
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi

pytestmark = pytest.mark.usefixtures("handlers")

X = np.ones((8, 8), np.float32)


def scale(x):
    return ffi.ffi_call("scale", fc.ShapeDtypeStruct(x.shape, x.dtype))(x, factor=np.float32(2))


def program(x):
    y = scale(x @ x)
    y = fnp.tanh(y) * y + 1
    y = fc.pure_callback(lambda v: np.asarray(v) * 2, fc.ShapeDtypeStruct(y.shape, y.dtype), y)
    return lax.fori_loop(0, 100, lambda i, c: scale(c), y)


def rows_of(profile):
    return {(row.category, row.name): row for row in profile.rows}


def events_of(path):
    return [e for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"]


def test_a_trace_has_every_kind_of_event(tmp_path):
    path = tmp_path / "trace.json"
    with fc.profile(path):
        fc.jit(program)(X)
    events = events_of(path)
    of = {}
    for event in events:
        of.setdefault(event["cat"], []).append(event)
    assert {
        "trace",
        "compile",
        "run",
        "product",
        "cluster",
        "callback",
        "foreign_call",
        "loop",
    } <= (of.keys())
    assert [e["name"] for e in of["cluster"]] == ["cluster(tanh, mul, add)"]
    call = of["foreign_call"][0]
    assert call["name"] == "ffi_call scale"
    assert call["args"]["bytes"] == 2 * X.nbytes
    assert call["args"]["types"] == "f32[8,8] -> f32[8,8]"
    assert call["args"]["device"] == "cpu:0"
    assert call["args"]["at"] == f"{__file__}:{scale.__code__.co_firstlineno + 1} (scale)"
    (loop,) = of["loop"]
    assert loop["args"]["steps"] == 100
    # One call before the loop, and the first eight steps of it.
    assert len(of["foreign_call"]) == 9
    for event in of["foreign_call"][1:]:
        assert loop["ts"] <= event["ts"] <= event["ts"] + event["dur"] <= loop["ts"] + loop["dur"]
    (run,) = [e for e in of["run"] if e["name"] == "program"]
    assert all(
        run["ts"] <= e["ts"] and e["ts"] + e["dur"] <= run["ts"] + run["dur"] + 1e-3
        for e in of["foreign_call"]
    )
    assert {e["tid"] for e in events} == {threading.get_native_id()}


def test_the_table_counts_every_step():
    f = fc.jit(program)
    f(X)
    with fc.profile() as profile:
        for _ in range(3):
            f(X)
    rows = rows_of(profile)
    calls = rows["foreign_call", "ffi_call scale"]
    assert (calls.calls, calls.bytes) == (3 * 101, 3 * 101 * 2 * X.nbytes)
    assert rows["run", "program"].calls == 3
    assert ("trace", "program") not in rows
    loop = rows["loop", "while"] if ("loop", "while") in rows else rows["loop", "scan"]
    assert loop.calls == 3
    assert 0 <= loop.self_seconds < loop.seconds <= rows["run", "program"].seconds
    # What ran inside is told once.
    total = sum(r.self_seconds for r in profile.rows)
    assert total == pytest.approx(rows["run", "program"].seconds)
    assert [r.self_seconds for r in profile.rows] == sorted(
        (r.self_seconds for r in profile.rows), reverse=True
    )
    lines = str(profile).splitlines()
    assert lines[0].split() == ["name", "calls", "total", "mean", "bytes", "share"]
    assert len(lines) == 1 + len(profile.rows)
    assert any(line.startswith("ffi_call scale ") and " 303 " in line for line in lines)


def test_steps_of_while_loops_are_counted():
    f = fc.jit(lambda n: lax.while_loop(lambda c: c < n, lambda c: c + 1, 0))
    f(3)
    with fc.profile() as profile:
        assert f(7) == 7
    events = json.loads(profile.to_json())["traceEvents"]
    (loop,) = [e for e in events if e.get("cat") == "loop"]
    assert (loop["name"], loop["args"]["steps"]) == ("while", 7)
    assert rows_of(profile)["operation", "lt"].calls == 8


def test_runs_that_a_callback_makes_are_not_counted_twice():
    inner = fc.jit(scale)
    inner(X)
    spec = fc.ShapeDtypeStruct(X.shape, X.dtype)
    outer = fc.jit(lambda x: fc.pure_callback(lambda v: inner(v), spec, x))
    outer(X)
    with fc.profile() as profile:
        outer(X)
    rows = rows_of(profile)
    (callback,) = [row for (category, _), row in rows.items() if category == "callback"]
    inside = rows["run", "scale"]
    assert inside.calls == rows["run", "<lambda>"].calls == 1
    assert callback.self_seconds == pytest.approx(callback.seconds - inside.seconds)


def test_threads_have_numbers_of_their_own():
    f = fc.jit(lambda x: scale(x))
    f(X)
    with fc.profile() as profile:
        threads = [threading.Thread(target=f, args=(X,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        f(X)
    events = json.loads(profile.to_json())["traceEvents"]
    numbers = {e["tid"] for e in events if e.get("cat") == "run"}
    assert threading.get_native_id() in numbers
    assert rows_of(profile)["foreign_call", "ffi_call scale"].calls == 4


def test_copies_are_told():
    spec = fc.ShapeDtypeStruct(X.shape, X.dtype)
    f = fc.jit(lambda x: ffi.ffi_call("add_one_in_place", spec, input_output_aliases={0: 0})(x) + x)
    f(X)
    with fc.profile() as profile:
        f(X)
    assert rows_of(profile)["copy", "copy for ffi_call add_one_in_place"].calls == 1


def test_nothing_is_recorded_outside(tmp_path):
    f = fc.jit(lambda x: scale(x))
    profile = fc.profile(tmp_path / "trace.json")
    assert profile.rows == []
    assert str(profile) == ""
    with profile:
        pass
    f(X)
    assert profile.rows == []
    assert events_of(tmp_path / "trace.json") == []


def test_an_error_inside_ends_the_profile(tmp_path):
    path = tmp_path / "trace.json"
    f = fc.jit(lambda x: scale(x) / (1 // 0))
    with pytest.raises(ZeroDivisionError), fc.profile(path):
        f(X)
    assert [event["cat"] for event in events_of(path)] == ["trace"]
    with fc.profile():
        pass


def test_a_run_that_fails_is_recorded():
    spec = fc.ShapeDtypeStruct(X.shape, X.dtype)
    f = fc.jit(lambda x: ffi.ffi_call("fail", spec)(scale(x), code=np.int64(3), text="no"))
    with fc.profile() as profile, pytest.raises(fc.FfiError, match="no"):
        f(X)
    rows = rows_of(profile)
    assert rows["foreign_call", "ffi_call scale"].calls == 1
    assert ("foreign_call", "ffi_call fail") not in rows  # it has not ended
    with fc.profile() as profile, pytest.raises(fc.FfiError, match="no"):
        f(X)


def test_wrong_uses(tmp_path):
    with fc.profile() as profile:
        with pytest.raises(RuntimeError, match="another profile records already"):
            fc.profile().__enter__()
        with pytest.raises(RuntimeError, match="a profile is used once"):
            profile.__enter__()
    with pytest.raises(ValueError, match="is a folder; give the path of a file"):
        fc.profile(tmp_path).__enter__()
    with pytest.raises(ValueError, match=r"there is no folder .*missing that this process may"):
        fc.profile(tmp_path / "missing" / "trace.json").__enter__()


def test_names_that_are_no_text_are_written():
    def f(x):
        return x + 1

    f.__name__ = 'a "b"\n\\'
    with fc.profile() as profile:
        fc.jit(f)(X)
    names = [e["name"] for e in json.loads(profile.to_json())["traceEvents"]]
    assert any('a "b"' in name for name in names)


# ---- what runs together, and why not ----


def report_of(f, *args):
    return fc.jit(f).lower(*args).compile().report()


def reasons(f, *args):
    return [(b.operation, b.operand, b.why) for b in report_of(f, *args).unfused]


def test_clusters_with_their_operations_and_lines():
    def f(x):
        return fnp.tanh(x) * x + 1

    report = report_of(f, X)
    (cluster,) = report.clusters
    assert cluster.operations == ["tanh", "mul", "add"]
    assert cluster.location == (__file__, f.__code__.co_firstlineno + 1, "f")
    assert (report.num_clusters, report.num_clustered_equations) == (1, 3)
    assert str(report) == (
        "no foreign calls\n"
        f"cluster of 3 equations at {__file__}:{f.__code__.co_firstlineno + 1} (f): "
        "tanh, mul, add\n"
    )
    assert repr(cluster) in str(report)


def test_a_foreign_call_between():
    def f(x):
        y = fnp.tanh(x) * x
        return scale(y) + y * 2

    assert ("mul", "mul", "ffi_call stands between them") in reasons(f, X)


def test_a_reader_that_ends_the_cluster():
    why = "reduce_sum needs all rows of that cluster, which ends it"

    def f(x):
        y = fnp.tanh(x) * x
        return y.sum(axis=0), fnp.exp(y)

    found = reasons(f, X)
    assert ("exp", "mul", why) in found
    report = report_of(f, X)
    assert "exp at" in str(report)
    assert f"is not in the cluster of mul, which it reads: {why}\n" in str(report)


def test_other_elements():
    x = np.ones((4, 16), np.float32)
    found = reasons(lambda x: (fnp.exp(x).sum(axis=-1) + 1)[:, None] * np.ones((4, 3), "f"), x)
    assert any("4 rows of 16 elements, which f32[4,3] does not fit" in why for *_, why in found)
    big = np.ones(100_000, np.float32)
    (only,) = reasons(lambda x: (fnp.exp(x) * 2).sum(), big)
    assert only == (
        "reduce_sum",
        "mul",
        "its rows of 100000 elements are longer than the 8192 that a cluster reduces",
    )


def test_only_reductions_are_called_reductions():
    x = np.ones((4, 16, 8), np.float32)
    why = "a cluster reduces along the first or the last dimensions only"
    assert reasons(lambda x: fnp.exp(x).sum(axis=1), x) == [("reduce_sum", "exp", why)]
    assert reasons(lambda x: lax.reduce_window(fnp.exp(x), 0.0, lax.add, (1, 2, 1)), x) == []


def test_loops_are_reported_too():
    def f(x):
        return lax.fori_loop(0, 3, lambda i, c: scale(fnp.sin(c) * 2) + c * 1.5, x)

    report = report_of(f, X)
    assert ["sin", "mul"] in [cluster.operations for cluster in report.clusters]


def test_nothing_is_unfused_where_all_is_one():
    assert reasons(lambda x: fnp.exp(x - x.max(-1, keepdims=True)) * 2, X) == []


def test_dimensions_of_one_element_are_added_without_a_copy():
    places, x = np.arange(40, dtype=np.int32), X.astype(np.int8)
    taken = fc.jit(lambda x, i: x.ravel()[i] * 2)
    expected = taken(x, places)
    with fc.profile() as profile:
        assert (np.asarray(taken(x, places)) == np.asarray(expected)).all()
    names = {name for _, name in rows_of(profile)}
    assert "gather" in names
    assert "broadcast_in_dim" not in names
