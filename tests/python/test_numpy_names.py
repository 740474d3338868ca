"""Functions of numpy that read, print, join and pack, against numpy; the names of JAX's numpy."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest

BYTES = np.random.default_rng(0).integers(0, 256, (3, 5), dtype=np.uint8)

# What JAX's numpy has and farcall's has not, and why: docs/jax_programs.md.
LEFT_OUT = {"frompyfunc", "ufunc", "float6_e2m3fn", "float6_e3m2fn"}


def test_every_name_of_jax_is_there() -> None:
    missing = {n for n in dir(jnp) if not n.startswith("_") and not hasattr(fnp, n)}
    assert missing == LEFT_OUT


# ---- files, bytes --------------------------------------------------------------------------------


def test_arrays_are_written_and_read(tmp_path: Path) -> None:
    x = fnp.array([[1, 2], [3, 4]], "int8")
    fnp.save(tmp_path / "x.npy", x)
    back = fnp.load(tmp_path / "x.npy")
    assert isinstance(back, fc.Array)
    assert back.dtype == np.int8
    np.testing.assert_array_equal(back, np.load(tmp_path / "x.npy"))
    fnp.savez(tmp_path / "x.npz", x, named=np.float64([1.5]))
    with fnp.load(tmp_path / "x.npz") as loaded:
        assert set(loaded) == set(loaded.files) == {"arr_0", "named"}
        assert len(loaded) == 2
        assert loaded["named"].dtype == np.float64
        np.testing.assert_array_equal(loaded["arr_0"], x)
    stream = io.BytesIO()
    fnp.save(stream, x)
    assert stream.getvalue()[:6] == b"\x93NUMPY"
    with pytest.raises(FileNotFoundError):
        fnp.load(tmp_path / "none.npy")


def test_numbers_are_read_from_memory_text_and_iterators(tmp_path: Path) -> None:
    memory = bytearray(np.int16([1, 2, 3]).tobytes())
    made = fnp.frombuffer(memory, "int16", offset=2)
    memory[2:4] = b"\0\0"
    np.testing.assert_array_equal(made, [2, 3])
    assert fnp.fromiter((i * i for i in range(4)), int).tolist() == [0, 1, 4, 9]
    assert fnp.fromiter(range(2), float).dtype == np.float32
    assert fnp.fromstring("1 2.5", sep=" ").tolist() == [1.0, 2.5]
    np.float32([1, 2]).tofile(tmp_path / "raw")
    assert fnp.fromfile(tmp_path / "raw", np.float32).tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="buffer"):
        fnp.frombuffer(b"abc", "int16")


# ---- text ----------------------------------------------------------------------------------------


def test_arrays_are_printed_with_numpys_options() -> None:
    x = fnp.array([1.23456, 2.0])
    assert fnp.array_repr(x, precision=2) == "Array([1.23, 2.  ], dtype=float32)"
    assert fnp.array_str(x, precision=3) == np.array_str(np.asarray(x), precision=3)
    with fnp.printoptions(precision=1):
        assert fnp.get_printoptions()["precision"] == 1
        assert fnp.array_str(x) == "[1.2 2. ]"
    texts = []
    fc.jit(lambda y: texts.append((fnp.array_repr(y), fnp.array_str(y))) or y)(x)
    assert all("f32[2]" in text for pair in texts for text in pair)


# ---- brackets ------------------------------------------------------------------------------------

KEYS: dict[str, Any] = {
    "range": np.s_[1:5],
    "steps": np.s_[0:1:5j, 7],
    "mixed": (np.int32([1, 2]), 0, np.s_[3:9:2]),
    "matrices": (np.ones((2, 2), np.float32), np.zeros((2, 2), np.float32)),
    "axis": ("-1", np.ones((2, 2), np.float32), np.zeros((2, 1), np.float32)),
    "rank": ("0,2", np.int32([1, 2, 3]), np.int32([4, 5, 6])),
    "place": ("0,2,0", np.int32([1, 2, 3]), np.int32([4, 5, 6])),
    "column": ("1,2,0", np.int32([1, 2, 3]), np.int32([4, 5, 6])),
}


@pytest.mark.parametrize("name", KEYS)
def test_brackets_join_as_in_numpy(name: str) -> None:
    np.testing.assert_allclose(fnp.r_[KEYS[name]], np.r_[KEYS[name]], rtol=1e-6)
    if name in ("range", "matrices"):
        np.testing.assert_allclose(fnp.c_[KEYS[name]], np.c_[KEYS[name]], rtol=1e-6)


def test_brackets_take_traced_arrays_and_refuse_other_strings() -> None:
    np.testing.assert_array_equal(fc.jit(lambda x: fnp.r_[x, 0, x])(np.float32([1])), [1, 0, 1])
    np.testing.assert_array_equal(fnp.c_[[1, 2], [3, 4]], np.c_[[1, 2], [3, 4]])
    for key in ("best", "1,2,3,4"):
        with pytest.raises(ValueError, match="of up to three numbers"):
            fnp.r_[key, [1]]
    assert fnp.s_[1:2, ...] == np.s_[1:2, ...]
    assert fnp.index_exp[3] == (3,)


def test_places_of_masks_and_trimmed_arrays() -> None:
    for ours, theirs in zip(
        fnp.mask_indices(3, fnp.triu, 1), np.mask_indices(3, np.triu, 1), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    x = [0, 0, 1, 0, 2, 0]
    for trim in ("fb", "f", "b"):
        np.testing.assert_array_equal(fnp.trim_zeros(x, trim), np.trim_zeros(np.array(x), trim))
    assert fnp.trim_zeros([0, 0]).shape == (0,)
    with pytest.raises(ValueError, match="trim must be of"):
        fnp.trim_zeros(x, "x")
    matrix = np.zeros((5, 6), np.float32)
    matrix[1:3, 2:5] = np.float32([[0, 1, 0], [2, 0, 0]])
    for trim in ("fb", "f", "b"):
        for axis in (None, 0, -1, (0, 1)):
            np.testing.assert_array_equal(
                fnp.trim_zeros(matrix, trim, axis), jnp.trim_zeros(matrix, trim, axis)
            )
    assert fnp.trim_zeros(matrix * 0, axis=1).shape == (5, 0)
    with pytest.raises(ValueError, match="axis 2 is out of range for rank 2"):
        fnp.trim_zeros(matrix, axis=2)


# ---- bits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_bits_are_packed_and_unpacked_as_in_numpy(axis: int | None, bitorder: Any) -> None:
    bits = BYTES & 1
    np.testing.assert_array_equal(
        fnp.packbits(bits, axis, bitorder), np.packbits(bits, axis, bitorder)
    )
    for count in (None, 3, 50, -3):
        np.testing.assert_array_equal(
            fnp.unpackbits(BYTES, axis, count, bitorder),
            np.unpackbits(BYTES, axis, count, bitorder),
        )


def test_what_bits_refuse() -> None:
    with pytest.raises(TypeError, match="expected integers or bools"):
        fnp.packbits(np.float32([1]))
    with pytest.raises(TypeError, match="expected uint8, got int32"):
        fnp.unpackbits(np.int32([1]))
    with pytest.raises(ValueError, match="bitorder must be"):
        fnp.packbits(np.int8([1]), bitorder="middle")


@pytest.mark.filterwarnings("ignore")
def test_spacing_and_sort_complex_are_those_of_numpy() -> None:
    for dtype in (np.float32, np.float64):
        x = np.array([0.0, -0.0, 1.0, -1.0, 3.5, -1e-3, np.inf, np.nan], dtype)
        np.testing.assert_array_equal(fnp.spacing(fnp.array(x, dtype)), np.spacing(x))
    z = np.complex64([3 + 1j, 1 + 2j, 1 - 2j, 0])
    np.testing.assert_array_equal(fnp.sort_complex(z), np.sort_complex(z))
    assert fnp.sort_complex(np.int8([3, 1])).dtype == np.complex64
    with pytest.raises(ValueError, match="complex"):
        fnp.spacing(z)


# ---- the array API -------------------------------------------------------------------------------


def test_the_namespace_describes_itself_as_that_of_jax() -> None:
    assert fnp.__array_api_version__ == jnp.__array_api_version__
    assert fnp.zeros(1).__array_namespace__(api_version=fnp.__array_api_version__) is fnp
    for x64 in (False, True):
        with fc.enable_x64(x64), jax.enable_x64(x64):
            ours, theirs = fnp.__array_namespace_info__(), jnp.__array_namespace_info__()
            assert ours.default_dtypes() == theirs.default_dtypes()
            assert ours.dtypes() == theirs.dtypes()
            for kind in ("bool", "integral", "real floating", ("unsigned integer", "numeric")):
                assert ours.dtypes(kind=kind) == theirs.dtypes(kind=kind)
    assert ours.devices() == [None, *fc.devices()]
    assert ours.default_device() is None
    assert ours.capabilities().keys() == theirs.capabilities().keys()
    with pytest.raises(ValueError, match="kind must be among"):
        ours.dtypes(kind="text")
    rank = ours.capabilities()["max dimensions"]
    assert fnp.zeros((1,) * rank).ndim == rank
    with pytest.raises(ValueError, match=str(rank)):
        fnp.zeros((1,) * (rank + 1))


# ---- arguments -----------------------------------------------------------------------------------


def _fill(row: Any, width: Any, axis: int, options: Any) -> Any:
    row = row.at[: width[0]].set(7 + axis + options.get("a", 0))
    return row.at[row.shape[0] - width[1] :].set(row[width[0]])


ARGUMENTS: dict[str, Any] = {
    "pad by a function": lambda m: m.numpy.pad(
        m.numpy.arange(6.0).reshape(2, 3), ((1, 2), (0, 1)), mode=_fill
    ),
    "pad with options": lambda m: m.numpy.pad(m.numpy.arange(3), 2, mode=_fill, a=3),
    "bytearray": lambda m: m.numpy.array(bytearray(b"ab")),
    "take by bools": lambda m: m.numpy.take(m.numpy.arange(5.0), np.array([True, False, True])),
    "take along": lambda m: m.numpy.take(
        m.numpy.arange(6.0).reshape(2, 3), np.array([[True], [False]]), axis=1
    ),
    "sort": lambda m: m.numpy.sort(np.int32([3, 1, 2]), kind=None, order=None),
    "argsort": lambda m: m.numpy.argsort(np.int32([3, 1, 2]), kind=None, order=None),
    "broadcast_like": lambda m: m.lax.broadcast_like(np.float32([1, 2, 3]), np.ones((2, 3))),
    "shape_as_value": lambda m: m.lax.shape_as_value((2, 3)),
    "num_nodes": lambda m: m.tree.structure({"a": [1, (2, None)], "b": {}}).num_nodes,
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_mean_what_they_mean_in_jax(name: str) -> None:
    ours, theirs = ARGUMENTS[name](fc), ARGUMENTS[name](jax)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    np.testing.assert_array_equal(ours, theirs)


def test_other_forms_of_arguments_and_results() -> None:
    assert fc.lax.create_token(None).dtype == fc.lax.create_token().dtype
    shapes = np.ones((2, 3)), np.ones((3, 4)), np.ones((4, 5))
    path, text = fnp.einsum_path("ij,jk,kl->il", *shapes)
    assert path == [(1, 2), (0, 1)]
    assert "ij,jk,kl->il" in text
    assert fnp.einsum("ij,jk,kl->il", *shapes, optimize=path).shape == (2, 5)
    for values in ((1, 2.0), (1, np.int8(2)), (fnp.float16, 1)):
        ours = fc.dtypes.result_type(*values, return_weak_type_flag=True)
        assert ours == jax.dtypes.result_type(*values, return_weak_type_flag=True)
    for name in ("kind", "order"):
        with pytest.raises(TypeError, match=f"sort: {name} must be None"):
            fnp.argsort(np.int32([1]), **{name: "x"})  # type: ignore[arg-type]


# ---- trees ---------------------------------------------------------------------------------------


def test_neighbours_of_a_tree_are_combined_first() -> None:
    tree = {"a": "1", "b": ["2", "3", ("4", "5")]}
    assert fc.tree.reduce_associative(lambda a, b: f"({a}{b})", tree) == "(((12)(34))5)"
    assert fc.tree.reduce_associative(max, [], identity=3) == 3
    with pytest.raises(TypeError, match="the tree has no leaves"):
        fc.tree.reduce_associative(max, [])


def test_a_reduction_takes_its_start_by_position_and_by_name() -> None:
    def add(a: Any, b: Any) -> Any:
        return a + b

    assert fc.tree.reduce(add, [1, (2, 3)]) == 6
    assert fc.tree.reduce(add, [1, (2, 3)], 10) == fc.tree.reduce(add, [1, 5], initializer=10) == 16
    assert fc.tree.reduce(add, [], initializer=None) is None
    assert fc.tree_util.tree_reduce(add, ([1], [2]), [], lambda x: isinstance(x, list)) == [1, 2]


def test_structures_are_taken_apart_and_put_together() -> None:
    util = fc.tree_util
    both = fc.tree.structure(({"a": 1}, 2))
    assert util.treedef_tuple(util.treedef_children(both)) == both
    assert util.treedef_is_leaf(util.treedef_children(both)[1])
    assert util.is_tree_node({})
    assert util.is_tree_node(None)
    assert not util.is_tree_node(1)
