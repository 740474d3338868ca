"""Every elementwise function against exact values, for every dtype, within so many units of the
last place as the tables in ``values`` say."""

from __future__ import annotations

import elementwise_rows
import pytest
from values import complex_tables, integer_tables, more_tables, real_tables, rows

SEED = 20
REAL = [
    row for table in (*real_tables.TABLES.values(), *more_tables.TABLES.values()) for row in table
]
COMPLEX = [row for table in complex_tables.TABLES.values() for row in table]
INTEGER = [*integer_tables.UNARY, *integer_tables.BINARY]


def name_of(row: rows.Row | complex_tables.ComplexRow) -> str:
    return row.name


def test_every_function_of_one_real_number_has_a_row():
    operations = {r.name: r.operation for r in (*elementwise_rows.NUMPY, *elementwise_rows.SPECIAL)}
    tried = {"neg"} | {row.name for row in REAL}  # as "negative"
    tried |= {operations.get(name, name) for name in tried}
    functions = [row.name for row in elementwise_rows.unary("F") if row.result != "kBool"]
    assert [name for name in functions if name not in tried] == []


@pytest.mark.parametrize("row", REAL, ids=name_of)
def test_real_functions_are_exact_to_the_last_places(row):
    rows.compare(row, 8, SEED).check()


@pytest.mark.parametrize("row", COMPLEX, ids=name_of)
def test_complex_functions_are_exact_to_the_last_places(row):
    complex_tables.compare(row, 8, SEED).check()


@pytest.mark.parametrize("name", INTEGER)
def test_functions_of_integers_are_exact(name):
    for dtype in integer_tables.DTYPES:
        assert not integer_tables.misses(name, dtype, 30, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("row", REAL, ids=name_of)
def test_real_functions_at_many_points(row, record_property):
    done = rows.compare(row, 1000, SEED + 1)
    record_property("worst", str((done.count, done.worst)))
    done.check()


@pytest.mark.slow
@pytest.mark.parametrize("row", COMPLEX, ids=name_of)
def test_complex_functions_at_many_points(row, record_property):
    done = complex_tables.compare(row, 1000, SEED + 1)
    record_property("worst", str((done.count, done.worst)))
    done.check()


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGER)
def test_functions_of_integers_at_many_points(name):
    for dtype in integer_tables.DTYPES:
        assert not integer_tables.misses(name, dtype, 5000, SEED + 1)
