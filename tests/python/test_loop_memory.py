"""Loops whose arrays stay in memory, read and changed at positions that the loop computes."""

from __future__ import annotations

import random
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import lax
from loop_code import FLOATS, INTS, MARKS, assert_same, check, corners, loops_of, same_without_code

pytestmark = MARKS

ROWS = np.arange(300.0, dtype="float32").reshape(50, 6) / 7


def values(n: int, dtype: str = "float32") -> np.ndarray:
    return (np.random.default_rng(n).normal(size=n) * 9).astype(dtype)


# ---- programs ------------------------------------------------------------------------------------


def test_recurrences_over_one_array() -> None:
    def recurrence(x: Any) -> Any:
        return lax.fori_loop(1, 100, lambda i, x: x.at[i].set(x[i - 1] * 0.5 + x[i]), x)

    def by_slices(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            before = lax.dynamic_slice(x, (i - 2,), (2,))
            return lax.dynamic_update_slice(x, before * 0.25 + x[i], (i,))

        return lax.fori_loop(2, 99, step, x)

    for dtype in FLOATS:
        check(recurrence, values(100, dtype))
        check(by_slices, values(100, dtype))


def test_loops_over_rows_and_columns() -> None:
    def shortest_paths(costs: Any) -> Any:
        def row(i: Any, costs: Any) -> Any:
            def column(j: Any, costs: Any) -> Any:
                return costs.at[i, j].add(fnp.minimum(costs[i - 1, j], costs[i, j - 1]))

            return lax.fori_loop(1, costs.shape[1], column, costs)

        return lax.fori_loop(1, costs.shape[0], row, costs)

    check(shortest_paths, ROWS)


def test_branches_that_change_an_array_or_not() -> None:
    def sieve(is_prime: Any) -> Any:
        size = is_prime.shape[0]

        def strike(i: Any, is_prime: Any) -> Any:
            return lax.while_loop(
                lambda c: c[0] < size,
                lambda c: (c[0] + i, c[1].at[c[0]].set(False)),
                (i * i, is_prime),
            )[1]

        def step(carry: Any) -> Any:
            i, is_prime = carry
            return i + 1, lax.cond(is_prime[i], lambda p: strike(i, p), lambda p: p, is_prime)

        return lax.while_loop(lambda c: c[0] * c[0] < size, step, (2, is_prime))[1]

    check(sieve, np.ones(200, bool))

    def three(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            changes = [
                lambda x: x.at[i].add(1).at[i // 2].mul(3),
                lambda x: x,
                lambda x: x.at[0].set(x[i]),
            ]
            return lax.switch(i % 3, changes, x)

        return lax.fori_loop(0, 40, step, x)

    check(three, values(40))


def test_tables_are_read_where_they_are() -> None:
    starts = np.arange(0, 91, 3, dtype="int32")
    columns = np.random.default_rng(3).integers(0, 40, 90).astype("int32")

    def product_with_sparse_matrix(x: Any, elements: Any) -> Any:
        begins, places = fnp.asarray(starts), fnp.asarray(columns)

        def row(i: Any, y: Any) -> Any:
            def add(c: Any) -> Any:
                k, total = c
                return k + 1, total + elements[k] * x[places[k]]

            total = lax.while_loop(lambda c: c[0] < begins[i + 1], add, (begins[i], x[0] * 0))[1]
            return y.at[i].set(total)

        return lax.fori_loop(0, 30, row, fnp.zeros(30, x.dtype))

    for dtype in FLOATS:
        check(product_with_sparse_matrix, values(40, dtype), values(90, dtype))


def test_scans_read_arrays_and_slices_of_them() -> None:
    def f(table: Any, rows: Any, at: Any) -> Any:
        def step(seen: Any, x: Any) -> Any:
            row, k = x
            found = table[k] + row[k % 3]
            return seen.at[k].add(found), (found, seen[k], row.sum())

        return lax.scan(step, fnp.zeros(64, table.dtype), (rows, at))

    at = np.random.default_rng(1).integers(0, 64, 50).astype("int32")
    check(f, values(64), ROWS, at)

    def walk(rows: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            return c + row[c % 6], c

        return lax.scan(step, 0, rows)

    check(walk, ROWS.astype("int32"))

    def long_slices(reverse: bool) -> Any:
        """Slices that stay in memory, as the next carry and as results."""

        def step(c: Any, x: Any) -> Any:
            before, total, k = c
            return (x, total * 0.5 + before[k] + x[k + 1], (k + 7) % 40), (x, x[k], total)

        return lambda rows: lax.scan(step, (rows[0], fnp.float32(0), 0), rows, reverse=reverse)

    for reverse in (False, True):
        for size in (50, 200):
            rows = values(30 * size).reshape(30, size)
            loop = long_slices(reverse)
            check(loop, rows)
            same_without_code(fc.jit(lambda r, loop=loop: loop(r * 2)[1]), rows)


def test_while_conditions_read_the_array() -> None:
    def first_above(x: Any, limit: Any) -> Any:
        return lax.while_loop(
            lambda c: c[1][c[0]] < limit, lambda c: (c[0] + 1, c[1].at[c[0]].set(0)), (0, x)
        )

    check(first_above, np.arange(50.0), 33.0)
    check(first_above, np.arange(50.0), -1.0)


def test_rows_of_several_elements() -> None:
    def smooth(rows: Any) -> Any:
        return lax.fori_loop(
            1, rows.shape[0], lambda i, r: r.at[i].set(r[i - 1] * 0.5 + fnp.tanh(r[i])), rows
        )

    def sums(rows: Any) -> Any:
        return lax.fori_loop(0, 20, lambda i, r: r.at[i * 3 % 50].add(r[i] + 1), rows)

    for width in (2, 6, 16, 20, 64):
        rows = values(50 * width).reshape(50, width)
        check(smooth, rows)
        check(sums, rows.astype("float64"))
    columns = values(150).reshape(3, 50)
    check(lambda c: lax.fori_loop(0, 50, lambda i, c: c.at[:, i].mul(c[1, i]), c), columns)


# ---- arrays for kernels --------------------------------------------------------------------------


def test_equations_that_only_kernels_compute() -> None:
    """Loops with machine code call kernels for sums, sorts, long rows and the like."""

    def triangular_solve(matrix: Any, b: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return x.at[i].set((b[i] - fnp.dot(matrix[i], x)) / (matrix[i, i] + 90))

        return lax.fori_loop(0, b.shape[0], step, fnp.zeros_like(b))

    for size in (5, 40, 200):
        for dtype in FLOATS:
            check(
                triangular_solve,
                values(size * size, dtype).reshape(size, size),
                values(size, dtype),
            )

    def ranks(rows: Any, x: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            total, seen = c
            order = fnp.sort(row * total)
            k = fnp.argmax(order[::-1] < 0.5)
            seen = seen.at[k].add(order[1])
            new = fnp.tanh(total + order[k] / (1 + i32(k)))
            return (new, seen), (fnp.cumsum(order), k, order.sum() > 0)

        def i32(k: Any) -> Any:
            return k.astype("int32")

        return lax.scan(step, (fnp.float32(1), x), rows)

    check(ranks, values(50 * 12).reshape(50, 12), values(12))
    check(ranks, values(50 * 40).reshape(50, 40), values(40))

    def ring(x: Any) -> Any:
        def step(window: Any, v: Any) -> Any:
            window = fnp.roll(window, 1).at[0].set(v)
            return window, (window.mean(), window[-1], window.at[3].get())

        return lax.scan(step, fnp.zeros(16, x.dtype), x)

    check(ring, values(90))
    check(ring, values(90, "float64"))


def test_arrays_that_steps_make() -> None:
    def counts(x: Any) -> Any:
        def step(total: Any, v: Any) -> Any:
            seen = lax.fori_loop(
                0, 5, lambda j, s: s.at[(v + j) % 50].add(j + 1), fnp.zeros(50, "int32")
            )
            small = lax.fori_loop(0, 3, lambda j, s: s.at[(v * j) % 4].set(v), fnp.arange(4))
            return total + seen[v % 50] + small[1], seen[3:6]

        return lax.scan(step, 0, x)

    check(counts, np.arange(40) * 7 % 23)

    def rows(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            x, total = c
            best = lax.cond(total > 0, lambda: x[i] * 2, lambda: fnp.full(60, total))
            return x.at[i + 1].set(best + 1), total + best[i] - 1

        return lax.fori_loop(0, 20, step, (x, fnp.float32(0.5)))

    check(rows, values(30 * 60).reshape(30, 60))

    def swapped(x: Any, y: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            x, y, n = c
            x, y = lax.cond(n[i % 3] > 0, lambda: (y, x), lambda: (x, y))
            return x.at[i].add(1), y, n.at[i % 3].add(-1)

        return lax.fori_loop(0, 9, step, (x, y, fnp.arange(3)))

    same_without_code(swapped, values(60), values(60)[::-1].copy())

    def twice(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            x, y = lax.cond(i % 2 == 0, lambda x: (x, x), lambda x: (x, x + 1), c[0].at[i].set(i))
            return x, y

        return lax.fori_loop(0, 9, step, (x, x))

    for size in (6, 60):
        same_without_code(twice, values(size))

    def own_positions(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            x, total = c
            # Also the indices are in the memory that changes.
            x = x.at[x].add(i + 1).at[i].set(i * 7 % 50)
            return x % 50, total * 0.5 + x[i] + x[i + 1] * 2 - 1

        return lax.fori_loop(0, 20, step, (x, 0.0))

    same_without_code(own_positions, np.arange(50)[::-1].copy())


# ---- positions and elements ----------------------------------------------------------------------

UPDATES = ("set", "add", "multiply", "min", "max")


@pytest.mark.parametrize("dtype", [*FLOATS, *INTS])
def test_updates_give_the_bits_of_their_kernels(dtype: str) -> None:
    x = corners(dtype)
    pairs = np.random.default_rng(2).integers(0, len(x), (3, 200)).astype("int32")
    for update in UPDATES:

        def f(x: Any, to: Any, first: Any, second: Any, update: str = update) -> Any:
            def step(x: Any, at: Any) -> Any:
                a, b, c = at
                return getattr(x.at[a], update)(x[b], mode="drop"), x[c]

            return lax.scan(step, x, (to, first, second))

        check(f, x, *pairs, what=update)


@pytest.mark.parametrize("index", ["int32", "int64", "uint32"])
@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds", None])
def test_positions_outside_of_the_array(index: str, mode: str | None) -> None:
    info = np.iinfo(index)
    at = np.array([0, 1, 39, 40, 41, info.max, info.min, 39, 3, 3, 100, info.max - 40], index)
    if info.min < 0:
        at = np.concatenate([at, np.array([-1, -39, -40, -41, -100], index)])
    rows = values(120).reshape(40, 3)

    def f(x: Any, rows: Any, at: Any) -> Any:
        def step(c: Any, k: Any) -> Any:
            x, rows = c
            read = x.at[k].get(mode=mode if mode != "drop" else "fill")
            filled = rows.at[k].get(mode="fill", fill_value=7)
            start = lax.dynamic_slice(x, (k,), (3,))
            x = x.at[k].add(read * 0 + 1, mode=mode)
            rows = rows.at[k, 1].set(5, mode=mode)
            x = lax.dynamic_update_slice(x, start[::-1], (k,))
            return (x, rows), (read, filled)

        return lax.scan(step, (x, rows), at)

    if mode == "promise_in_bounds":
        at = at[(at >= 0) & (at < 38)]
    check(f, values(40), rows, at)


def test_windows_of_batches() -> None:
    """vmap gives windows with batch dimensions, and starts of several components."""

    def f(x: Any, at: Any) -> Any:
        def each(row: Any, k: Any) -> Any:
            return row.at[k].add(row[(k + 1) % 12])

        return lax.fori_loop(0, 9, lambda i, x: fc.vmap(each)(x, (at + i) % 12), x)

    check(f, values(36).reshape(3, 12), np.array([3, 7, 11], "int32"))
    check(
        lambda x: lax.fori_loop(
            0, 5, lambda i, x: x.at[fnp.array([i, 2, i])].add(fnp.array([1, 2, 4], "float32")), x
        ),
        values(40),
    )


# ---- what may not be done in place ---------------------------------------------------------------


def test_values_from_before_a_change() -> None:
    x = values(50)

    def reads_old(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            new = x.at[i].set(1)
            return new.at[i + 1].set(x[i])

        return lax.fori_loop(0, 40, step, x)

    def keeps_old(x: Any) -> Any:
        return lax.fori_loop(0, 40, lambda i, c: (c[0], c[1] + c[0].at[i].set(0)[i + 1]), (x, 0.0))

    def swaps(x: Any, y: Any) -> Any:
        return lax.fori_loop(0, 7, lambda i, c: (c[1].at[i].add(1), c[0]), (x, y))

    def twice(x: Any) -> Any:
        return lax.fori_loop(0, 7, lambda i, c: (c[0].at[i].add(1), c[0]), (x, x))

    def same(x: Any) -> Any:
        return lax.fori_loop(0, 7, lambda i, c: (c[0].at[i].add(1), c[1].at[i].mul(2)), (x, x))

    def condition(x: Any) -> Any:
        return lax.while_loop(
            lambda c: c[1].at[c[0]].set(0).sum() * 0 + c[0] < 9, lambda c: (c[0] + 1, c[1]), (0, x)
        )

    def changes_constant(x: Any) -> Any:
        def step(i: Any, total: Any) -> Any:
            return total + x.at[i].set(0)[i + 1]

        return lax.fori_loop(0, 20, step, 0.0)

    def inner_changes_constant(x: Any) -> Any:
        def step(i: Any, c: Any) -> Any:
            x, total = c
            total = lax.fori_loop(0, 5, lambda j, t: t + x.at[j].set(t)[j + 1], total)
            return x.at[i].set(total), total

        return lax.fori_loop(0, 20, step, (x, 0.0))

    def branch_reads_old(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            new = lax.cond(i % 2 == 0, lambda x: x.at[i].set(0), lambda x: x, x)
            return new.at[i + 1].add(x[i])

        return lax.fori_loop(0, 40, step, x)

    def branch_without_result(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            y = lax.cond(i % 2 == 0, lambda x: x.at[i].set(0)[i], lambda x: x[i], x)
            return x.at[i + 1].add(y)

        return lax.fori_loop(0, 40, step, x)

    def carried_into_inner(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            y = lax.fori_loop(0, 3, lambda j, y: y.at[j].add(1), x)
            return y.at[i].set(x[0])

        return lax.fori_loop(0, 10, step, x)

    for f in (reads_old, keeps_old, twice, same, condition, changes_constant):
        same_without_code(f, x)
    for f in (inner_changes_constant, branch_reads_old, branch_without_result, carried_into_inner):
        same_without_code(f, x)
    same_without_code(swaps, x, values(50)[::-1].copy())
    small = values(6)
    for f in (twice, same):
        same_without_code(lambda x, f=f: f(x), np.concatenate([small, small]))


def test_small_arrays_at_positions_and_as_a_whole() -> None:
    def f(x: Any) -> Any:
        return lax.fori_loop(0, 30, lambda i, x: x.at[i % 6].add(x.sum()) * 0.5, x)

    def branches(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return lax.cond(i % 2 == 0, lambda x: x.at[i % 6].set(0), lambda x: x[::-1] * 2, x)

        return lax.fori_loop(0, 30, step, x)

    def other_way(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return lax.cond(i % 2 == 0, lambda x: x[::-1] * 2, lambda x: x.at[i % 6].set(0), x)

        return lax.fori_loop(0, 30, step, x)

    for g in (f, branches, other_way):
        check(g, values(6))
        check(g, values(6, "float64"))


def test_arguments_stay_as_they_were() -> None:
    x = values(64)
    array = fnp.asarray(x)

    def f(x: Any) -> Any:
        return lax.fori_loop(0, 60, lambda i, x: x.at[i].set(x[i + 1]), x), x[3]

    compiled, _ = loops_of(f, array)
    first = compiled(array)
    np.testing.assert_array_equal(np.asarray(array), x)
    assert_same(compiled(array), first)
    donated = fc.jit(lambda x: f(x)[0], donate_argnums=0)
    assert_same(donated(fnp.asarray(x)), first[0])


# ---- random programs -----------------------------------------------------------------------------


def random_step(rng: random.Random, depth: int) -> Any:
    """A step i, (x, rows, s) -> (x, rows, s) of random reads and changes."""

    def position(i: Any, s: Any, size: int) -> Any:
        kind = rng.randrange(4)
        if kind == 0:
            return (i * rng.randrange(1, 5) + rng.randrange(size)) % size
        if kind == 1:
            return i - rng.randrange(size)
        if kind == 2:
            return rng.randrange(size)
        return fnp.clip(s * 3, -50, 50).astype("int32")

    choices = [
        rng.choice((0, 1, 2, 3, 4, 5, 8, 9, 10, 11, *((6, 7) if depth else ())))
        for _ in range(rng.randrange(1, 6))
    ]
    seeds = [rng.randrange(1 << 30) for _ in choices]

    def step(i: Any, c: Any) -> Any:
        x, rows, s = c
        for choice, seed in zip(choices, seeds, strict=True):
            rng.seed(seed)
            at, row = position(i, s, x.shape[0]), position(i, s, rows.shape[0])
            if choice == 0:
                s = fnp.clip(s * 0.5 + x[at], -9, 9)
            elif choice == 1:
                x = getattr(x.at[at], rng.choice(UPDATES))(s + 0.5)
            elif choice == 2:
                rows = rows.at[row].add(rows[position(i, s, rows.shape[0])] * 0.25)
            elif choice == 3:
                rows = rows.at[row, rng.randrange(rows.shape[1])].set(x[at])
            elif choice == 4:
                x = lax.dynamic_update_slice(x, rows[row], (at,))
            elif choice == 5:
                s = s + lax.dynamic_slice(x, (at,), (3,)).sum() * 0.125
            elif choice == 6:
                inner = random_step(rng, depth - 1)
                x, rows, s = lax.fori_loop(0, rng.randrange(4), inner, (x, rows, s))
            elif choice == 7:
                branches = [random_step(rng, depth - 1), random_step(rng, depth - 1)]
                x, rows, s = lax.cond(s > rng.random(), *branches, i, (x, rows, s))
            elif choice == 8:
                before = x
                x = x.at[at].set(rng.random())
                s = s + before[at]  # a value from before the change
            elif choice == 9:
                s = s * 0.5 + fnp.sort(rows[row])[0] * 0.01
            elif choice == 10:
                x = fnp.where(fnp.arange(x.shape[0]) == at, s, x)
            else:
                fresh = fnp.full(x.shape, s).at[at].mul(2)
                s = s * 0.5 + fresh[position(i, s, x.shape[0])] * 0.125
        return x, rows, s

    return step


@pytest.mark.parametrize("seed", range(80))
def test_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    size, width = rng.choice([(9, 2), (40, 4), (70, 5)])
    x, rows = values(size), values(size * width).reshape(size, width)
    step = random_step(rng, 2)
    steps = rng.randrange(1, 12)
    same_without_code(lambda *c: lax.fori_loop(0, steps, step, c), x, rows, np.float32(0.5))


@pytest.mark.parametrize("seed", range(80))
def test_random_scans_of_arrays(seed: int) -> None:
    """Carries and results that are old, new, swapped, sliced or constant arrays."""
    rng = random.Random(seed)
    size = rng.choice((5, 20, 50, 200))
    length, reverse = rng.randrange(1, 9), rng.random() < 0.5
    program = [(rng.randrange(8), rng.random(), rng.random()) for _ in range(rng.randrange(1, 6))]
    ends = [rng.random() for _ in range(5)]

    def choose(pool: list[Any], where: float) -> Any:
        return pool[int(where * len(pool))]

    def f(a: Any, b: Any, constant: Any, xs: Any) -> Any:
        def step(c: Any, x: Any) -> Any:
            a, b, i = c
            pool = [a, b, constant, x]
            for kind, one, other in program:
                p, q = choose(pool, one), choose(pool, other)
                k = (i * 3 + int(other * 50)) % size
                if kind == 0:
                    pool.append(p.at[k].set(q[0]))
                elif kind == 1:
                    pool.append(p.at[k].add(1))
                elif kind == 2:
                    pool.append(p * 0.5 + q)
                elif kind == 3:
                    pool.append(lax.cond(i % 2 == 0, lambda p, q: p, lambda p, q: q, p, q))
                elif kind == 4:
                    pool.append(lax.fori_loop(0, 2, lambda j, v, q=q: v.at[j].add(q[j + 1]), p))
                elif kind == 5:
                    pool.append(lax.dynamic_update_slice(p, q[1:4] + 1, (k,)))
                elif kind == 6:
                    pool.append(p[::-1])
                else:
                    pool.append(p.at[k].mul(lax.dynamic_slice(q, (k,), (1,))[0]))
            results = [choose(pool, end) for end in ends]
            return (results[0], results[1], i + 1), (results[2], results[3][1], results[4])

        return lax.scan(step, (a, b, 0), xs, reverse=reverse)

    arrays = [values(size + i)[i:] for i in range(3)]
    same_without_code(f, *arrays, values(length * size).reshape(length, size))
    same_without_code(
        fc.jit(lambda a, b, x: f(a * 2, a + b, b, x * 2)),
        arrays[0],
        arrays[1],
        values(length * size).reshape(length, size),
    )


@pytest.mark.parametrize("count", [2, 8, 16, 40])
@pytest.mark.parametrize("width", [1, 4, 16, 64])
def test_rows_at_several_indices(count: int, width: int) -> None:
    """A register may hold several of the indices, which are then not taken for one each."""
    table = values(40 * width).reshape(40, width)
    places = np.random.default_rng(count).integers(0, 40, (30, count)).astype("int32")

    def read(table: Any, places: Any) -> Any:
        def step(total: Any, at: Any) -> Any:
            return total * 0.5 + table[at].sum(0), table[at][0]

        return lax.scan(step, table[0], places)

    def changed(table: Any, places: Any) -> Any:
        def step(carry: Any, at: Any) -> Any:
            return carry.at[at].multiply(0.5), carry[at].sum(0)

        return lax.scan(step, table, places)

    same_without_code(read, table, places)
    same_without_code(changed, table, places)
