"""The parameters of functions: those of JAX's functions of the same names, and what they do."""

from __future__ import annotations

import importlib
import inspect
import io
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from both import FARCALL, JAX, Modules, assert_same

MODULES = [
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "lax",
    "lax.linalg",
    "nn",
    "nn.initializers",
    "ops",
]
MODULES += [
    "random",
    "image",
    "scipy.linalg",
    "scipy.special",
    "scipy.stats",
    "scipy.signal",
    "scipy.fft",
]

# Of explicit axes; of ufuncs; of approximations that a compiler may use.
LEFT_OUT = {"out_sharding", "accuracy"}
UFUNCS = {"out", "where"}
# What functions leave out besides.
LEFT_OUT_OF = {
    "numpy.argsort": {"dtype"},
    "numpy.einsum": {"_dot_general"},
    "lax.all_gather": {"to"},
    "lax.cond": {"true_fun", "false_fun"},
    "lax.igamma": {"a"},
    "lax.igamma_grad_a": {"a"},
    "lax.igammac": {"a"},
    "lax.mul": {"out_dtype"},
    "lax.nextafter": {"x1", "x2"},
    "lax.polygamma": {"m"},
    "lax.scan": {"_split_transpose"},
    "lax.scatter_sub": {"indices_are_sorted", "unique_indices", "mode"},
    "lax.zeta": {"q"},
    "random.key_dtype": {"impl_spec"},
    "scipy.special.log_ndtr": {"series_order"},
}


def parameters(function: Any) -> dict[str, Any]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def missing_parameters(module: str) -> dict[str, set[str]]:
    ours, theirs = (importlib.import_module(f"{root}.{module}") for root in ("farcall", "jax"))
    missing = {}
    for name in {*dir(ours)} & {*dir(theirs)}:
        function, model = getattr(ours, name), getattr(theirs, name)
        own = parameters(function)
        if name.startswith("_") or inspect.ismodule(model) or not callable(model) or not own:
            continue
        skipped = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        skipped.add(inspect.Parameter.POSITIONAL_ONLY)
        wanted = {key for key, p in parameters(model).items() if p.kind not in skipped}
        allowed = LEFT_OUT | (UFUNCS if isinstance(model, jnp.ufunc) else set())
        lacking = wanted - {*own} - allowed
        if lacking:
            missing[f"{module}.{name}"] = lacking
    return missing


def test_functions_have_the_parameters_of_jaxs() -> None:
    missing: dict[str, set[str]] = {}
    for module in MODULES:
        missing |= missing_parameters(module)
    assert missing == LEFT_OUT_OF


X = np.array([[3, 1, 2, 5], [np.nan, 4, 0, 1]], np.float32)
KEPT = np.array([[True, False, True, True], [False, True, True, True]])


# By name: what both modules compute.
CASES: dict[str, Any] = {
    "argmax": lambda m: (m.np.argmax(X[0], 0, None, True), m.np.argmin(X[0], out=None)),
    "array_order": lambda m: (m.np.array(X, order="K"), m.np.asarray(X[0], "int8", "K")),
    "compress": lambda m: m.np.compress(KEPT[0, :2], X, axis=0, out=None),
    "copy_order": lambda m: m.np.copy(X, "K"),
    "dft": lambda m: m.scipy.linalg.dft(4, dtype="complex64"),
    "digitize": lambda m: m.np.digitize(X[0], np.array([1, 2, 4], np.float32), method="scan"),
    "empty_like": lambda m: m.np.empty_like(prototype=X).shape,
    "full": lambda m: m.lax.full((2, 2), 3.0, sharding=None),
    "nanstd": lambda m: m.np.nanstd(X, 1, mean=np.array([[2], [3]], np.float32)),
    "nanvar": lambda m: m.np.nanvar(
        X, 1, None, None, 1, True, KEPT, np.array([[2], [3]], np.float32)
    ),
    "reshape": lambda m: m.lax.reshape(X, (8,), (1, 0)),
    "standardize": lambda m: m.nn.standardize(X[:1], -1, None, None, 1e-3, KEPT[:1]),
    "standardize_stable": lambda m: m.nn.standardize(X[:1], algorithm="stable"),
    "standardize_known": lambda m: m.nn.standardize(X[:1], mean=2.0, where=KEPT[:1]),
    "svd": lambda m: m.lax.linalg.svd(
        X[:, 1:], compute_uv=False, algorithm=m.lax.linalg.SvdAlgorithm.DEFAULT
    ),
    "eigh": lambda m: m.lax.linalg.eigh(
        X[:, 1:3], implementation=m.lax.linalg.EighImplementation.QR
    )[1],
    "unique": lambda m: m.np.unique(X[0], sorted=True),
}


class Everything:
    """The modules of functions with parameters."""

    def __init__(self, modules: Modules) -> None:
        name = modules.root.__name__
        self.np, self.lax = modules.np, modules.lax
        self.nn = importlib.import_module(f"{name}.nn")
        self.scipy = importlib.import_module(f"{name}.scipy")
        importlib.import_module(f"{name}.scipy.linalg")
        importlib.import_module(f"{name}.lax.linalg")


@pytest.mark.parametrize("name", CASES)
def test_parameters_do_what_they_do_in_jax(name: str) -> None:
    assert_same(CASES[name](Everything(FARCALL)), CASES[name](Everything(JAX)))


def test_values_of_parameters_that_are_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"argmax: .* argument out must be None"):
        fnp.argmax(X, out=X)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"asarray: order must be 'K', .* got 'F'"):
        fnp.asarray(X, order="F")
    with pytest.raises(ValueError, match="standardize: algorithm must be"):
        fc.nn.standardize(X, algorithm="slow")
    with pytest.raises(ValueError, match="digitize: method must be"):
        fnp.digitize(X, X[0], method="fast")
    with pytest.raises(ValueError, match="is not a permutation of the dimensions"):
        fc.lax.reshape(X, (8,), (0, 0))


def test_files_take_the_parameters_of_numpys() -> None:
    stream = io.BytesIO()
    fnp.savez(stream, X, allow_pickle=False)
    stream.seek(0)
    np.testing.assert_array_equal(np.load(stream)["arr_0"], X)


class Pair:
    def __init__(self, first: Any, second: Any) -> None:
        self.parts = (first, second)


def test_containers_are_registered_with_keys() -> None:
    key = fc.tree_util.GetAttrKey
    fc.tree_util.register_pytree_node(
        Pair,
        lambda pair: (pair.parts, None),
        lambda _, parts: Pair(*parts),
        lambda pair: (((key("first"), pair.parts[0]), (key("second"), pair.parts[1])), None),
    )
    paths, _ = fc.tree_util.tree_flatten_with_path(Pair(1, {"a": 2}))
    assert [fc.tree_util.keystr(path) for path, _ in paths] == [".first", ".second['a']"]
    assert jax.tree_util.keystr((jax.tree_util.GetAttrKey("first"),)) == ".first"
