"""What compiling did for foreign calls: each copy is listed with its reason, and there is none
where none is needed."""

from __future__ import annotations

import farcall as fc
import farcall.lax as flax
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi

pytestmark = pytest.mark.usefixtures("handlers")

V = fc.ShapeDtypeStruct((4,), "float32")
M = fc.ShapeDtypeStruct((2, 3), "float32")
CONSTANT = np.arange(4, dtype=np.float32)
COLUMNS = {"input_layouts": [(1, 0)], "output_layouts": [(1, 0)]}


def in_place(x, **options):
    call = ffi.ffi_call(
        "add_one_in_place",
        fc.ShapeDtypeStruct(x.shape, x.dtype),
        input_output_aliases={0: 0},
        **options,
    )
    return call(x)


def copy(x, **layouts):
    return ffi.ffi_call("copy_all", fc.ShapeDtypeStruct(x.shape, x.dtype), **layouts)(x)


def report_of(f, *args, **options):
    return fc.jit(f, **options).lower(*args).compile().report()


def copies_of(f, *args, **options):
    return [(c.what, c.why) for call in report_of(f, *args, **options) for c in call.copies]


STILL_NEEDED = ("operand 0", "the handler overwrites the operand, which is still needed")


# ---- the report ----


def test_text_of_a_call_with_a_copy():
    report = report_of(in_place, V)
    file, line, function = report[0].location
    assert str(report) == (
        f'ffi_call("add_one_in_place") at {file}:{line} ({function})\n'
        "  copy of operand 0, 16 bytes: the handler overwrites the operand, which is still needed\n"
        "  alias of operand 0 and result 0: needs a copy, as the operand is an argument of the "
        "program that was not donated\n"
        "  scratch: 0 bytes\n"
    )
    assert (file, function) == (__file__, "in_place")


def test_text_of_a_call_without_copies():
    report = report_of(lambda x: in_place(x * 2), V)
    assert str(report).split("\n", 1)[1] == (
        "  copies: none\n  alias of operand 0 and result 0: honoured\n  scratch: 0 bytes\n"
    )


def test_text_of_layouts():
    report = report_of(lambda x: copy(x, **COLUMNS), M)
    assert str(report).split("\n", 1)[1] == (
        "  copy of operand 0, 24 bytes: the handler needs another layout than the value's\n"
        "  copy of result 0, 24 bytes: the program returns it row-major, the handler writes "
        "another layout\n"
        "  scratch: 0 bytes\n"
    )


def test_text_without_foreign_calls():
    report = report_of(lambda x: x + 1, V)
    assert (len(report), str(report)) == (0, "no foreign calls\n")


def test_the_report_as_values():
    report = report_of(lambda x: (in_place(x), copy(x)), V)
    assert [call.target_name for call in report] == ["add_one_in_place", "copy_all"]
    (copied,) = report[0].copies
    assert (copied.what, copied.nbytes, copied.why) == ("operand 0", 16, STILL_NEEDED[1])
    (alias,) = report[0].aliases
    assert (alias.input, alias.output, alias.is_honoured) == (0, 0, False)
    assert alias.why == "the operand is an argument of the program that was not donated"
    assert report[-1].copies == report[-1].aliases == []
    assert repr(copied) == f"CopyReport(what='operand 0', nbytes=16, why='{copied.why}')"
    assert repr(alias) == (f"AliasReport(input=0, output=0, is_honoured=False, why='{alias.why}')")
    with pytest.raises(IndexError, match="report: there are 2 foreign calls, asked for 2"):
        report[2]


def test_calls_come_in_program_order_those_of_loops_and_branches_too():
    def f(x):
        x = ffi.ffi_call("scale", V)(x, factor=np.float32(2))
        x = flax.fori_loop(0, 3, lambda _, c: copy(c), x)
        return in_place(x)

    names = [call.target_name for call in report_of(f, V)]
    assert names == ["scale", "copy_all", "add_one_in_place"]


def test_scratch_that_the_handler_asked_for():
    call = ffi.ffi_call("takes_scratch", fc.ShapeDtypeStruct((), "int64"))
    compiled = fc.jit(lambda: (call(size=np.int64(100)), call(size=np.int64(5000)))).lower()
    compiled = compiled.compile()
    assert [c.scratch_bytes for c in compiled.report()] == [0, 0]
    compiled()
    compiled()
    assert [c.scratch_bytes for c in compiled.report()] == [200, 10000]
    assert "scratch: 10000 bytes" in str(compiled.report())


# ---- aliases ----


@pytest.mark.parametrize(
    ("function", "copies"),
    [
        (lambda x: in_place(x * 2), 0),
        (lambda x: in_place(in_place(x * 2)), 0),
        (lambda x: in_place((x * 2).reshape(2, 2)), 0),
        (lambda x: in_place(x), 1),
        (lambda x: in_place(in_place(x)), 1),
        (lambda x: (lambda y: (y, in_place(y)))(x * 2), 1),
        (lambda x: (lambda y: in_place(y) + y)(x * 2), 1),
        (lambda x: in_place(CONSTANT) + x, 1),
    ],
)
def test_an_alias_is_copied_once_where_its_operand_is_still_needed_and_else_never(function, copies):
    x = fnp.arange(4.0)
    assert copies_of(function, x) == [STILL_NEEDED] * copies
    fc.jit(function)(x)
    np.testing.assert_array_equal(x, np.arange(4))


def test_a_donated_argument_is_written_in_place():
    assert copies_of(in_place, V, donate_argnums=0) == []
    assert copies_of(lambda x: (in_place(x), x), V, donate_argnums=0) == [STILL_NEEDED]
    x = fnp.arange(4.0) + 0
    address = x.unsafe_buffer_pointer()
    result = fc.jit(in_place, donate_argnums=0)(x)
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(result, np.arange(4) + 1)


@pytest.mark.parametrize("donate", [(), (0,)])
def test_memory_of_the_caller_never_changes(donate):
    ours = np.arange(4, dtype=np.float32)
    shared = fnp.asarray(ours)
    kept = fnp.arange(4.0)
    view = np.asarray(kept)
    f = fc.jit(in_place, donate_argnums=donate)
    for given in (ours, shared, kept):
        np.testing.assert_array_equal(f(given), np.arange(4) + 1)
    for seen in (ours, view):
        np.testing.assert_array_equal(seen, np.arange(4))


# ---- layouts ----


@pytest.mark.parametrize(
    ("function", "copies"),
    [
        (lambda x: copy(x), []),
        (lambda x: copy(copy(x, **COLUMNS), **COLUMNS), ["operand 0", "result 0"]),
        (lambda x: copy(x.T, **COLUMNS).T, []),
        (lambda x: copy(x, output_layouts=[(1, 0)]), ["result 0"]),
        (lambda x: copy(x, output_layouts=[(1, 0)]) * 2, ["result 0"]),
        (lambda x: copy(x, input_layouts=[(1, 0)]), ["operand 0"]),
        (lambda x: copy(copy(x, output_layouts=[(1, 0)])), ["operand 0"]),
        (lambda x: copy(x.reshape(1, 6), input_layouts=[(1, 0)]), []),
    ],
)
def test_a_layout_is_copied_once_where_the_order_in_memory_differs(function, copies):
    assert [what for what, _ in copies_of(function, M)] == copies


@pytest.mark.parametrize("donate", [(), (0,)])
def test_a_handler_writes_over_an_operand_in_its_layout_that_dies(donate):
    """Its result is copied because of the layout, not because of the alias."""

    def f(x):
        y = copy(x, output_layouts=[(1, 0)])
        return in_place(y, **COLUMNS)

    x = fnp.arange(6.0).reshape(2, 3)
    report = report_of(f, x, donate_argnums=donate)
    (copied,) = report[1].copies
    assert copied.what == "result 0"
    assert copied.why.startswith("the program returns it row-major")
    assert report[1].aliases[0].is_honoured
    result = fc.jit(f, donate_argnums=donate)(x)
    np.testing.assert_array_equal(result, np.arange(6.0).reshape(2, 3, order="F") + 1)


def test_an_operand_in_its_layout_that_is_read_again_is_copied():
    def f(x):
        y = copy(x, output_layouts=[(1, 0)])
        return in_place(y, **COLUMNS), copy(y, **COLUMNS)

    x = fnp.arange(6.0).reshape(2, 3)
    assert STILL_NEEDED in copies_of(f, x)
    changed, same = fc.jit(f)(x)
    np.testing.assert_array_equal(same, np.arange(6.0).reshape(2, 3, order="F"))
    np.testing.assert_array_equal(changed, np.asarray(same) + 1)


def test_who_reads_a_result_row_major_is_told():
    copies = copies_of(lambda x: copy(x, output_layouts=[(1, 0)]) * 2, M)
    assert copies == [("result 0", "mul reads it row-major, the handler writes another layout")]


def test_of_several_results_the_one_that_is_copied_is_named():
    call = ffi.ffi_call("copy_all", (M, M), output_layouts=[None, (1, 0)])
    copies = copies_of(lambda x: call(x, x)[1] * 2, M)
    assert copies == [("result 1", "mul reads it row-major, the handler writes another layout")]


# ---- loops ----


def test_a_carry_is_updated_in_place_at_each_step():
    def f(x):
        return flax.scan(lambda c, _: (in_place(c), None), x, length=5)[0]

    x = fnp.arange(4.0)
    assert copies_of(f, x) == []
    np.testing.assert_array_equal(fc.jit(f)(x), np.arange(4) + 5)
    np.testing.assert_array_equal(x, np.arange(4))
    assert copies_of(lambda x: flax.fori_loop(0, 5, lambda _, c: in_place(c), x), x) == []


def test_a_carry_that_is_still_read_is_copied_once_at_each_step():
    def f(x):
        def step(c, _):
            total = c.sum()
            return in_place(c), total

        return flax.scan(step, x, length=3)

    def after(x):
        def step(c, _):
            new = in_place(c)
            return new, (new * c).sum()

        return flax.scan(step, x, length=3)

    x = fnp.ones(4)
    assert copies_of(after, x) == [STILL_NEEDED]
    last, sums = fc.jit(after)(x)
    np.testing.assert_array_equal(last, np.full(4, 4))
    np.testing.assert_array_equal(sums, [8, 24, 48])
    # Read before the call, it is not.
    assert copies_of(f, x) == []
    np.testing.assert_array_equal(fc.jit(f)(x)[1], [4, 8, 12])
    np.testing.assert_array_equal(x, np.ones(4))


def test_rows_of_a_scan_are_never_written_over():
    def f(xs):
        return flax.scan(lambda c, x: (c, in_place(x)), 0.0, xs)[1]

    xs = fnp.zeros((3, 4))
    assert copies_of(f, xs) == [STILL_NEEDED]
    (alias,) = report_of(f, xs)[0].aliases
    assert alias.why == "the operand comes from outside of the loop or branch"
    np.testing.assert_array_equal(fc.jit(f)(xs), np.ones((3, 4)))
    np.testing.assert_array_equal(xs, np.zeros((3, 4)))


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_die_with_a_scan_are_written_over(reverse):
    def f(xs):
        def step(c, x):
            return c + 1, (in_place(in_place(x)), c)

        return flax.scan(step, 0.0, xs * 2, reverse=reverse)

    def twice(xs):
        def step(c, x):
            return c, (in_place(x[0]), x[1])

        ys = xs * 2
        return flax.scan(step, 0.0, (ys, ys))[1]

    def again(xs):
        ys = xs * 2
        return flax.scan(lambda c, x: (c, in_place(x)), 0.0, ys)[1], ys

    def to_carry(xs):
        def step(_, x):
            return in_place(x), x[0]

        return flax.scan(step, fnp.zeros(4), xs * 2)

    xs = fnp.arange(12.0).reshape(3, 4)
    wanted = np.arange(12.0).reshape(3, 4) * 2
    assert copies_of(f, xs) == []
    np.testing.assert_array_equal(fc.jit(f)(xs)[1][0], wanted + 2)
    for function in (twice, again):
        assert copies_of(function, xs) == [STILL_NEEDED]
        changed, same = fc.jit(function)(xs)
        np.testing.assert_array_equal(changed, wanted + 1)
        np.testing.assert_array_equal(same, wanted)
    last, firsts = fc.jit(to_carry)(xs)
    np.testing.assert_array_equal(last, wanted[-1] + 1)
    np.testing.assert_array_equal(firsts, wanted[:, 0])
    np.testing.assert_array_equal(xs, np.arange(12).reshape(3, 4))


def test_rows_of_a_donated_argument_are_written_over():
    def f(xs):
        return flax.scan(lambda c, x: (c, in_place(x)), 0.0, xs)[1]

    xs = fnp.zeros((3, 4)) + 0
    assert copies_of(f, xs, donate_argnums=0) == []
    address = xs.unsafe_buffer_pointer()
    result = fc.jit(f, donate_argnums=0)(xs)
    assert result.unsafe_buffer_pointer() == address
    np.testing.assert_array_equal(result, np.ones((3, 4)))
    ours = np.zeros((3, 4), np.float32)
    np.testing.assert_array_equal(fc.jit(f, donate_argnums=0)(ours), np.ones((3, 4)))
    np.testing.assert_array_equal(ours, np.zeros((3, 4)))


# ---- vmap ----


# A loop copies it once at each step, an unrolled one once for each element; one call of all has
# an operand of its own.
@pytest.mark.parametrize(
    ("method", "copies"), [("sequential", 1), ("sequential_unrolled", 3), ("broadcast_all", 0)]
)
def test_an_aliased_operand_that_is_not_batched_is_not_written(method, copies):
    call = ffi.ffi_call(
        "sum_and_difference", (V, V), vmap_method=method, input_output_aliases={0: 0}
    )
    x, ys = fnp.arange(4.0), fnp.ones((3, 4))
    f = fc.vmap(lambda x, y: call(x, y), (None, 0))
    assert copies_of(f, x, ys) == [STILL_NEEDED] * copies
    total, _ = fc.jit(f)(x, ys)
    np.testing.assert_array_equal(total, np.tile(np.arange(4) + 1, (3, 1)))
    np.testing.assert_array_equal(x, np.arange(4))


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled"])
def test_a_batch_that_dies_is_written_over_element_by_element(method):
    def f(xs):
        return fc.vmap(lambda x: in_place(x, vmap_method=method))(xs * 2)

    xs = fnp.arange(12.0).reshape(3, 4)
    assert copies_of(f, xs) == []
    np.testing.assert_array_equal(fc.jit(f)(xs), np.arange(12.0).reshape(3, 4) * 2 + 1)


def test_a_batch_is_aliased_as_a_whole():
    f = fc.vmap(lambda x: in_place(x * 2, vmap_method="broadcast_all"))
    assert copies_of(f, fc.ShapeDtypeStruct((3, 4), "float32")) == []


def test_the_optimized_program_has_the_clusters_and_parses_back():
    def f(x):
        doubled = flax.fori_loop(0, 3, lambda i, c: fnp.sin(c) * x + i, x)
        return fnp.tanh(x) * x - doubled

    compiled = fc.jit(f).lower(V).compile()
    program = compiled.optimized_program
    text = str(program)
    # One in the body of the loop.
    assert text.count("= cluster[") == 2
    assert "= cluster[" not in compiled.as_text()
    assert "= cluster[" not in str(compiled.program)
    parsed = fc.parse_program(text)
    assert parsed == program
    x = fnp.arange(4.0)
    np.testing.assert_array_equal(fc.jit(parsed)(x)[0], compiled(x))


def test_clusters_are_counted():
    report = report_of(lambda x: fnp.tanh(x) * x + 1, V)
    assert len(report) == 0
    assert (report.num_clusters, report.num_clustered_equations) == (1, 3)
    report = report_of(lambda x: flax.scan(lambda c, _: (fnp.exp(-c), None), x, length=3)[0], V)
    assert (report.num_clusters, report.num_clustered_equations) == (1, 2)
    assert report_of(lambda x: -x, V).num_clusters == 0
