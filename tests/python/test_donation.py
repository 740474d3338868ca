"""Donated arguments: their memory is used where nobody else sees it; the array is then deleted."""

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest


def add_twice(x, y):
    return x * 2 + y


@pytest.fixture
def x():
    return fnp.array(np.arange(8, dtype=np.float32))


@pytest.fixture
def y():
    return fnp.ones(8)


def test_the_result_lies_in_the_donated_memory(x, y):
    wanted = np.array(x) * 2 + 1
    x = x + 0
    pointer = x.unsafe_buffer_pointer()
    result = fc.jit(add_twice, donate_argnums=0)(x, y)
    np.testing.assert_array_equal(result, wanted)
    assert result.unsafe_buffer_pointer() == pointer


def test_a_donated_array_is_deleted(x, y):
    f = fc.jit(add_twice, donate_argnums=0)
    given = x + 0
    f(given, y)
    assert repr(given) == "Array(deleted f32[8])"
    for use in (
        lambda: given + 1,
        lambda: np.asarray(given),
        lambda: f(given, y),
        lambda: fc.jit(lambda a: a)(given),
        lambda: fc.vmap(lambda a: a)(given) + 1,
    ):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=f32\[8\]"):
            use()
    np.testing.assert_array_equal(f(x + 0, y), np.array(x) * 2 + 1)


def test_other_arguments_are_never_changed(x, y):
    before = np.array(y)
    fc.jit(add_twice, donate_argnums=0)(x + 0, y)
    np.testing.assert_array_equal(y, before)


def test_memory_that_numpy_sees_is_not_used(x, y):
    given = x + 0
    view = np.asarray(given)
    fc.jit(add_twice, donate_argnums=0)(given, y)
    np.testing.assert_array_equal(view, np.arange(8))
    np.testing.assert_array_equal(given, np.arange(8))


def test_an_array_that_is_passed_twice_is_not_used(x):
    given = x + 0
    result = fc.jit(add_twice, donate_argnums=0)(given, given)
    np.testing.assert_array_equal(result, np.arange(8) * 3)
    np.testing.assert_array_equal(given, np.arange(8))


def test_what_cannot_be_used_stays(x, y):
    given = x + 0
    f = fc.jit(lambda a, b: a.sum() + b.sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: f32\[8\]\."):
        total = f(given, y)
    assert float(total) == 36
    np.testing.assert_array_equal(given, np.arange(8))


def test_one_warning_names_all_that_cannot_be_used(x, y, recwarn):
    f = fc.jit(lambda a, b, c: (a["w"].sum() + b.sum(), c + 1), donate_argnums=(0, 1, 2))
    for _ in range(3):
        f({"w": x + 0}, fnp.ones((2, 3), "int32"), y + 0)
    (warning,) = recwarn
    assert "not usable: i32[2,3], f32[8]." in str(warning.message)
    assert warning.filename == __file__
    f.lower({"w": x}, fnp.ones((2, 3), "int32"), y).compile()
    assert len(recwarn) == 2


def test_no_warning_where_memory_is_used_or_nothing_is_donated(x, y, recwarn):
    fc.jit(add_twice, donate_argnums=0)(x + 0, y)
    fc.jit(lambda a: a, donate_argnums=0)(x + 0)
    fc.jit(lambda a: a.sum())(x)
    assert not recwarn.list


def test_donation_by_name_and_of_trees(x, y):
    f = fc.jit(lambda state, step: {"w": state["w"] + step}, donate_argnames="state")
    state = {"w": x + 0}
    old = state["w"]
    for _ in range(5):
        state = f(state, step=y)
    np.testing.assert_array_equal(state["w"], np.arange(8) + 5)
    with pytest.raises(RuntimeError, match="deleted"):
        old + 1


@pytest.mark.parametrize("make", [fnp.array, fnp.copy, lambda x: fnp.asarray(x, copy=True)])
def test_a_copy_is_donated_without_the_original(make):
    x = fnp.ones((8,)) + 1
    copied = make(x)
    assert copied is not x
    assert copied.unsafe_buffer_pointer() != x.unsafe_buffer_pointer()
    fc.jit(add_twice, donate_argnums=0)(copied, 1.0)
    assert copied.is_deleted()
    assert x.tolist() == [2.0] * 8


def test_copies_keep_a_weak_type():
    weak = fnp.asarray(3)
    assert weak.weak_type
    assert weak.copy().weak_type
    assert fnp.array(weak).weak_type


def test_two_donated_arguments_serve_two_results(x, y):
    f = fc.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0, 1))
    x, y = x + 0, y + 0
    memory = f.lower(x, y).compile().memory_analysis()
    assert memory.alias_size_in_bytes == memory.output_size_in_bytes == 64
    pointers = [x.unsafe_buffer_pointer(), y.unsafe_buffer_pointer()]
    results = f(x, y)
    assert sorted(r.unsafe_buffer_pointer() for r in results) == sorted(pointers)
    np.testing.assert_array_equal(results[0], np.arange(8) + 1)
    np.testing.assert_array_equal(results[1], np.full(8, 2))


def test_each_call_deletes_what_it_was_given():
    f = fc.jit(lambda x: x + 1, donate_argnums=0)
    for i in range(3):
        given = fnp.ones(8) + i
        np.testing.assert_array_equal(f(given), np.full(8, 2 + i))
        assert given.is_deleted()


def test_donated_numbers_count_static_arguments_too(x, y):
    f = fc.jit(lambda s, a, b: a * s + b, static_argnums=0, donate_argnums=2)
    x, y = x + 0, y + 0
    f(3, x, y)
    assert y.is_deleted()
    assert not x.is_deleted()


def test_memory_that_dlpack_gave_away_is_not_used(x):
    f = fc.jit(lambda a: a + 1, donate_argnums=0)
    x = x + 0
    view = np.from_dlpack(x)
    f(x)
    np.testing.assert_array_equal(view, np.arange(8))


def test_a_run_that_fails_deletes_what_it_may_have_overwritten(x):
    def fail(a):
        raise KeyError("no")

    given = x + 0
    like = fc.ShapeDtypeStruct(x.shape, x.dtype)
    f = fc.jit(lambda a: (a + 1, fc.pure_callback(fail, like, a + 1)), donate_argnums=0)
    with pytest.raises(KeyError, match="no"):
        f(given)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        given + 1


def test_a_call_that_fails_before_it_runs_deletes_nothing(x, y):
    f = fc.jit(lambda a, b: (a + 1, b * 2), donate_argnums=(0, 1))
    given, deleted = x + 0, y + 0
    f(x + 0, deleted)
    with pytest.raises(RuntimeError, match="Array has been deleted"):
        f(given, deleted)
    np.testing.assert_array_equal(given, x)
