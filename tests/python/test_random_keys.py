"""Arrays of keys: a dtype of its own that arrays are indexed, moved and carried with."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import dtypes, random

jax = pytest.importorskip("jax")


def words(keys: Any) -> np.ndarray:
    return np.asarray(random.key_data(keys))


def test_the_dtype_of_keys() -> None:
    dtype = random.key(0).dtype
    assert dtype == random.key_dtype() == random.key_dtype("threefry2x32")
    assert str(dtype) == dtype.name == "key<fry>" == str(jax.random.key(0).dtype)
    assert dtype.itemsize == 8
    assert hash(dtype) == hash(random.key_dtype())
    assert dtype != np.dtype("uint32")
    assert pickle.loads(pickle.dumps(dtype)) == dtype


def test_the_kinds_of_the_dtype() -> None:
    dtype = random.key(0).dtype
    for issubdtype in (dtypes.issubdtype, fnp.issubdtype):
        assert issubdtype(dtype, dtypes.prng_key)
        assert issubdtype(dtype, dtypes.extended)
        assert issubdtype(dtype, np.generic)
        assert issubdtype(dtype, dtype)
        assert not issubdtype(dtype, np.number)
        assert not issubdtype(np.uint32, dtypes.prng_key)
        assert not issubdtype(np.uint32, dtype)
        assert issubdtype(dtypes.bfloat16, np.floating)


def test_attributes_of_key_arrays() -> None:
    keys = random.split(random.key(0), (2, 3))
    assert (keys.shape, keys.ndim, keys.size, len(keys)) == ((2, 3), 2, 6, 2)
    assert keys.itemsize == 8
    assert keys.nbytes == 48
    assert random.key_impl(keys) == "threefry2x32"
    assert random.key_impl(random.key_data(keys)) == "threefry2x32"
    assert fc.eval_shape(lambda: random.key(0)) == fc.ShapeDtypeStruct((), keys.dtype)


def test_keys_show_their_words() -> None:
    assert repr(random.key(42)) == repr(jax.random.key(42))
    assert str(random.split(random.key(1))) == str(jax.random.split(jax.random.key(1)))
    assert f"{random.key(3)}" == str(random.key(3))


def test_keys_have_no_numbers() -> None:
    key = random.key(0)
    with pytest.raises(TypeError, match=r"random\.key_data"):
        np.asarray(key)
    with pytest.raises(TypeError, match="key<fry>"):
        key + 1
    with pytest.raises(TypeError, match=r"random\.key_data"):
        key.astype("uint32")
    with pytest.raises(TypeError, match="key<fry>"):
        fnp.sin(key)
    with pytest.raises(TypeError):
        bool(key)
    with pytest.raises(TypeError):
        int(key)
    with pytest.raises((TypeError, ValueError), match="key"):
        fnp.sort(random.split(key))
    with pytest.raises((TypeError, ValueError)):
        fnp.sum(random.split(key))


def test_equality() -> None:
    keys = random.split(random.key(0), 4)
    np.testing.assert_array_equal(keys == keys[2], [False, False, True, False])
    np.testing.assert_array_equal(keys != keys[2], [True, True, False, True])
    with pytest.raises((TypeError, ValueError)):
        keys < keys  # noqa: B015


MOVES = {
    "an element": lambda k, n: k[1, 2],
    "a slice": lambda k, n: k[:, 1:],
    "steps": lambda k, n: k[::-1, ::2],
    "positions": lambda k, n: k[np.array([1, 0, 1])],
    "a mask": lambda k, n: k[np.array([True, False])],
    "reshape": lambda k, n: k.reshape(3, 2),
    "ravel": lambda k, n: k.ravel(),
    "transpose": lambda k, n: k.T,
    "stack": lambda k, n: n.stack([k, k]),
    "concatenate": lambda k, n: n.concatenate([k, k[:1]]),
    "where": lambda k, n: n.where(np.array([[True, False, True]]), k, k[0, 0]),
    "take": lambda k, n: n.take(k, np.array([2, 0]), axis=1),
    "broadcast_to": lambda k, n: n.broadcast_to(k[0], (4, 3)),
    "expand_dims": lambda k, n: n.expand_dims(k, 1),
    "flip": lambda k, n: n.flip(k),
    "roll": lambda k, n: n.roll(k, 1),
    "at.set": lambda k, n: k.at[0, 1].set(k[1, 1]),
    "squeeze": lambda k, n: k[:1].squeeze(0),
}


@pytest.mark.parametrize("name", MOVES)
def test_keys_move_as_other_elements_do(name: str) -> None:
    move = MOVES[name]
    keys = random.split(random.key(7), (2, 3))
    jax_keys = jax.random.split(jax.random.key(7), (2, 3))
    expected = np.asarray(jax.random.key_data(move(jax_keys, jax.numpy)))
    np.testing.assert_array_equal(words(move(keys, fnp)), expected)
    if name != "a mask":
        got = fc.jit(lambda k: random.key_data(move(k, fnp)))(keys)
        np.testing.assert_array_equal(got, expected)


def test_iteration_and_unpacking() -> None:
    key, subkey = random.split(random.key(0))
    np.testing.assert_array_equal(words(key), words(random.split(random.key(0))[0]))
    assert bool(subkey == random.fold_in(random.key(0), 1))
    assert [k.shape for k in random.split(key, 3)] == [(), (), ()]


def test_keys_in_trees_and_containers() -> None:
    tree = {"key": random.key(1), "x": fnp.ones(3)}
    leaves, structure = fc.tree.flatten(tree)
    again = fc.tree.unflatten(structure, leaves)
    assert bool(again["key"] == tree["key"])
    assert bool(fc.jit(lambda t: t["key"])(tree) == tree["key"])


def test_keys_are_pickled_and_copied() -> None:
    keys = random.split(random.key(9), 3)
    for again in (pickle.loads(pickle.dumps(keys)), copy.copy(keys), copy.deepcopy(keys)):
        assert again.dtype == keys.dtype
        np.testing.assert_array_equal(words(again), words(keys))


def test_loops_and_branches_carry_keys() -> None:
    def step(key: Any, _: Any) -> Any:
        key, subkey = random.split(key)
        return key, random.bits(subkey)

    last, drawn = fc.lax.scan(step, random.key(0), None, length=4)
    key, expected = random.key(0), []
    for _ in range(4):
        key, bits = step(key, None)
        expected.append(int(bits))
    assert drawn.tolist() == expected
    assert bool(last == key)
    count = fc.lax.fori_loop(0, 4, lambda i, k: random.split(k)[0], random.key(0))
    assert bool(count == key)
    picked = fc.lax.cond(True, lambda k: k[0], lambda k: k[1], random.split(key))
    assert bool(picked == random.split(key)[0])
    mapped = fc.lax.map(random.bits, random.split(key, 3))
    np.testing.assert_array_equal(mapped, fc.vmap(random.bits)(random.split(key, 3)))
    _, reverse = fc.lax.scan(
        lambda c, k: (c, random.bits(k)), 0, random.split(key, 3), reverse=True
    )
    np.testing.assert_array_equal(reverse, mapped)


def test_vmap_moves_the_batch_of_keys_as_asked() -> None:
    keys = random.split(random.key(0), (2, 3))
    split = fc.vmap(fc.vmap(random.split), in_axes=1, out_axes=1)(keys)
    assert split.shape == (2, 3, 2)
    np.testing.assert_array_equal(words(split[1, 2]), words(random.split(keys[1, 2])))
    nested = fc.vmap(fc.vmap(lambda k, i: random.fold_in(k, i), (0, None)), (0, 0))(
        keys, np.arange(2, dtype="uint32")
    )
    np.testing.assert_array_equal(words(nested[1, 2]), words(random.fold_in(keys[1, 2], 1)))
    seeds = fc.vmap(random.key)(np.arange(5, dtype="int32"))
    np.testing.assert_array_equal(words(seeds[4]), words(random.key(4)))
    again = fc.vmap(random.wrap_key_data, in_axes=1)(words(keys))
    np.testing.assert_array_equal(words(again), words(keys.T))


def test_derivatives_pass_keys_by() -> None:
    def loss(x: Any, key: Any) -> Any:
        return fnp.sum(x * random.uniform(key, (3,)))

    x, key = fnp.arange(3.0), random.key(2)
    np.testing.assert_array_equal(fc.grad(loss)(x, key), random.uniform(key, (3,)))
    np.testing.assert_array_equal(fc.jit(fc.grad(loss))(x, key), random.uniform(key, (3,)))
    _, pullback = fc.vjp(loss, x, key)
    assert pullback(np.float32(1))[1].dtype == dtypes.float0
    with pytest.raises(TypeError):
        fc.grad(lambda k: random.uniform(k))(key)


def test_programs_with_keys_are_printed_parsed_and_saved(tmp_path: Any) -> None:
    def draw(key: Any) -> Any:
        key = random.fold_in(key, 3)
        other = random.wrap_key_data(random.key_data(random.split(key, 2)))
        return random.bits(other[0], (2,), "uint16"), random.bits(random.key(42))

    program = fc.make_program(draw)(random.key(0))
    text = str(program)
    assert "random_bits[bit_width=16 shape=(2,)]" in text
    assert "random_split[shape=(2,)]" in text
    assert "random_wrap[impl=fry]" in text
    assert "a:key<fry>[]" in text
    again = fc.parse_program(text)
    assert again == program
    assert str(again) == text
    expected = draw(random.key(0))
    for made in (program, again):
        for got, wanted in zip(made(random.key(0)), expected, strict=True):
            np.testing.assert_array_equal(got, wanted)


def test_a_key_is_written_as_its_seed() -> None:
    key = random.key(42)
    text = str(fc.make_program(lambda: random.bits(key))())
    assert "random_bits[bit_width=32 shape=()] 42:key<fry>[]" in text
    assert int(fc.parse_program(text)()[0]) == int(random.bits(key))


def seen_by_callbacks(x: Any, io_callback: Any, buffer_callback: Any, wrap: Any) -> Any:
    """What callbacks get for an array of keys, and what they return."""
    keys = x.random.split(x.random.key(3), 2)
    out = x.ShapeDtypeStruct((), np.float32)
    seen: list[Any] = []

    def see(*arrays: Any) -> Any:
        seen.extend((np.asarray(a).dtype, np.asarray(a).tolist()) for a in arrays)
        return np.float32(1)

    def see_buffers(_context: Any, out: Any, a: Any) -> None:
        np.asarray(out)[...] = see(a)

    def copy_buffer(_context: Any, out: Any, a: Any) -> None:
        np.asarray(out)[...] = np.asarray(a)

    wrap(lambda k: x.debug.callback(lambda a, b: (see(a, b), None)[1], k, b=k[1]))(keys)
    wrap(lambda k: x.pure_callback(see, out, k))(keys)
    wrap(lambda k: io_callback(see, out, k, ordered=True))(keys)
    wrap(x.vmap(lambda k: x.pure_callback(see, out, k, vmap_method="sequential")))(keys)
    wrap(buffer_callback(see_buffers, out))(keys)
    one = x.ShapeDtypeStruct((), keys.dtype)
    for method in ("sequential", "expand_dims"):
        results = wrap(x.vmap(buffer_callback(copy_buffer, one, vmap_method=method)))(keys)
        seen.append((results.shape, x.random.key_data(results).tolist()))
    return seen


@pytest.mark.parametrize("wrap", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_callbacks_get_and_return_the_words_of_keys_as_in_jax(wrap: Any) -> None:
    from jax.experimental import io_callback
    from jax.experimental.buffer_callback import buffer_callback

    ours = fc.experimental.buffer_callback.buffer_callback
    got = seen_by_callbacks(fc, fc.experimental.io_callback, ours, wrap)
    assert got == seen_by_callbacks(jax, io_callback, buffer_callback, jax.jit)


def test_a_key_is_printed_as_its_words(capfd: Any) -> None:
    fc.jit(lambda k: fc.debug.print("{}", k))(random.key(7))
    assert capfd.readouterr().out == "[0 7]\n"


@pytest.mark.parametrize("wrap", [lambda f: f, fc.jit], ids=["eager", "jit"])
def test_handlers_get_and_return_the_words_of_keys(handlers: Any, wrap: Any) -> None:
    keys = random.split(random.key(1), 3)
    to_words = fc.ffi.ffi_call("copy_all", fc.ShapeDtypeStruct((3, 2), "uint32"))
    np.testing.assert_array_equal(wrap(to_words)(keys), words(keys))
    to_keys = fc.ffi.ffi_call(
        "copy_all",
        fc.ShapeDtypeStruct((3,), keys.dtype),
        input_layouts=[(1, 0)],
        output_layouts=(1, 0),
        input_output_aliases={0: 0},
    )
    result = wrap(to_keys)(keys)
    assert (result.shape, result.dtype) == (keys.shape, keys.dtype)
    np.testing.assert_array_equal(words(result), words(keys))
    one = fc.ffi.ffi_call("copy_all", fc.ShapeDtypeStruct((), keys.dtype), vmap_method="sequential")
    np.testing.assert_array_equal(words(wrap(fc.vmap(one))(keys)), words(keys))


def test_where_keys_are_refused() -> None:
    key = random.key(0)
    for callback in (fc.pure_callback, fc.experimental.io_callback):
        with pytest.raises(TypeError, match=r"result 0 .*u32\[2\].*random\.wrap_key_data"):
            callback(lambda x: x, fc.ShapeDtypeStruct((), key.dtype), 1.0)
    scale = fc.ffi.ffi_call("scale", fc.ShapeDtypeStruct((2,), "float32"))
    text = str(fc.make_program(lambda x: scale(x, factor=2.0))(fc.numpy.ones(2, "float32")))
    with pytest.raises(ValueError, match=r'ffi_call\("scale"\): argument 0 .*random.key_data'):
        fc.parse_program(text.replace("a:f32[2]", "a:key<fry>[]"))
