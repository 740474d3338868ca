"""Foreign calls on arrays that are spread over devices: each device calls the handler on its part.

The handlers tell the sizes that they see in what they compute.
"""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import pytest
from farcall import ffi, lax, scipy
from farcall.experimental.custom_partitioning import ArrayMapping, SdyShardingRule
from handler_library import load

SOURCE = r"""
#include <cstdint>

#include <farcall/ffi.h>

namespace ffi = farcall::ffi;

// y = x * (its leading size).
ffi::Error TimesSize(ffi::AnyBuffer x, ffi::ResultBuffer<ffi::F32> y) {
  const auto size = x.dimensions().empty() ? 1.f : static_cast<float>(x.dimensions()[0]);
  for (size_t i = 0; i < y->element_count(); ++i) {
    y->typed_data()[i] = x.typed_data<float>()[i] * size;
  }
  return {};
}
FARCALL_DEFINE_HANDLER(times_size, TimesSize);

// The scalar product, and 100 for each call.
ffi::Error Product(ffi::Buffer<ffi::F32, 1> x, ffi::Buffer<ffi::F32, 1> w,
                   ffi::ResultBuffer<ffi::F32, 0> sum) {
  float total = 100;
  for (size_t i = 0; i < x.element_count(); ++i) total += x.typed_data()[i] * w.typed_data()[i];
  *sum->typed_data() = total;
  return {};
}
FARCALL_DEFINE_HANDLER(product, Product);
"""

X = np.arange(16, dtype=np.float32).reshape(8, 2)


def register(name: str, symbol: str) -> None:
    ffi.register_ffi_target(name, ffi.pycapsule(getattr(load(SOURCE), symbol)))


@pytest.fixture(scope="module", autouse=True)
def targets() -> None:
    for name in ("plain", "by_rule", "by_columns", "by_mappings", "by_batch"):
        register(f"divided_{name}", "times_size")
    register("divided_product", "product")
    ffi.define("divided_by_rule", sharding_rule="n d -> n d")
    ffi.define("divided_by_columns", sharding_rule="... d -> ... d")
    register("divided_with_derivatives", "times_size")
    ffi.define("divided_product", sharding_rule="n, n -> ")
    ffi.register_ffi_target_as_batch_partitionable("divided_by_batch")


def call(name: str, **options: Any) -> Any:
    def function(x: Any) -> Any:
        result = fc.ShapeDtypeStruct(x.shape, x.dtype)
        return ffi.ffi_call(f"divided_{name}", result, **options)(x)

    return function


def over(*spec: Any, mesh: Any = None) -> Any:
    return fc.NamedSharding(mesh or fc.make_mesh((4,), ("x",)), fc.P(*spec))


@pytest.fixture
def rows() -> Any:
    return fc.device_put(X, over("x"))


@pytest.mark.parametrize("name", ["by_rule", "by_batch"])
@pytest.mark.parametrize("wrap", [lambda f: f, fc.jit, lambda f: fc.jit(fc.jit(f))])
def test_each_device_calls_the_handler_on_its_part(rows: Any, name: str, wrap: Any) -> None:
    result = wrap(call(name))(rows)
    np.testing.assert_array_equal(result, X * 2)  # of two rows each
    assert result.sharding.spec == fc.P("x")
    np.testing.assert_array_equal(wrap(call(name))(X), X * 8)


def test_dimensions_that_a_rule_keeps_whole_are_not_divided(rows: Any) -> None:
    lines = ArrayMapping("n", "d")
    ffi.define(
        "divided_by_mappings",
        sharding_rule=SdyShardingRule((lines,), (lines,), need_replication_factors=("n",)),
    )
    np.testing.assert_array_equal(fc.jit(call("by_mappings"))(rows), X * 8)
    columns = fc.device_put(X.T.copy(), over(None, "x"))
    divided = fc.jit(call("by_mappings"))(columns)
    np.testing.assert_array_equal(divided, X.T * 2)
    assert divided.sharding.spec == fc.P(None, "x")


def test_dimensions_that_nobody_spoke_of_are_not_divided(rows: Any) -> None:
    np.testing.assert_array_equal(fc.jit(call("plain"))(rows), X * 8)
    columns = fc.device_put(X.T.copy(), over(None, "x"))
    np.testing.assert_array_equal(fc.jit(call("by_batch"))(columns), X.T * 2)
    assert np.asarray(fc.jit(call("by_columns"))(columns)).shape == (2, 8)


def test_what_has_effects_runs_once(rows: Any) -> None:
    with_effects = call("by_rule", has_side_effect=True)
    np.testing.assert_array_equal(fc.jit(with_effects)(rows), X * 8)


def test_a_dimension_that_no_result_has_gives_addends() -> None:
    x, w = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    scalar = fc.ShapeDtypeStruct((), np.float32)
    product = fc.jit(lambda x, w: ffi.ffi_call("divided_product", scalar)(x, w))
    assert product(x, w) == 128
    assert product(fc.device_put(x, over("x")), w) == 28 + 400  # w is cut as x is


def test_only_axes_that_divide_it_repeat_a_call() -> None:
    mesh = fc.make_mesh((2, 2), ("x", "y"))
    x = np.arange(8, dtype=np.float32)
    scalar = fc.ShapeDtypeStruct((), np.float32)
    product = fc.jit(lambda x: ffi.ffi_call("divided_product", scalar)(x, x))
    expected = float((x * x).sum())
    assert product(fc.device_put(x, over("x", mesh=mesh))) == expected + 200
    assert product(fc.device_put(x, over(("x", "y"), mesh=mesh))) == expected + 400
    assert product(fc.device_put(x, over(mesh=mesh))) == expected + 100


@pytest.mark.parametrize("method", ["broadcast_all", "expand_dims"])
def test_dimensions_of_vmap_are_divided_without_a_rule(rows: Any, method: str) -> None:
    mapped = fc.jit(fc.vmap(call("plain", vmap_method=method)))
    np.testing.assert_array_equal(mapped(rows), X * 2)
    # The rule of the target speaks of one element; the batch is the second dimension.
    columns = fc.device_put(X.T.copy(), over(None, "x"))
    one = fc.vmap(call("by_rule", vmap_method=method), in_axes=1, out_axes=1)
    with pytest.raises(ValueError, match='sharding rule "n d -> n d"'):
        one(columns)


def test_operations_around_it_carry_the_division_to_it(rows: Any) -> None:
    @fc.jit
    def program(x: Any, w: Any) -> Any:
        y = fnp.tanh(x @ w) + 1
        return call("by_rule")(y).sum(0)

    w = np.ones((2, 3), np.float32)
    expected = ((np.tanh(X @ w) + 1) * 2).sum(0)
    np.testing.assert_allclose(program(rows, w), expected, rtol=1e-6)


def test_a_constraint_in_a_program_divides_what_is_computed_from_it() -> None:
    whole = fc.device_put(X, over())

    def program(x: Any) -> Any:
        return call("by_rule")(lax.with_sharding_constraint(x + 1, over("x"))) - 1

    result = fc.jit(program)(whole)
    np.testing.assert_array_equal(result, (X + 1) * 2 - 1)  # of two rows each
    assert result.sharding.spec == fc.P("x")
    # An argument on no mesh is put on that of the constraint; over other axes it says nothing.
    np.testing.assert_array_equal(fc.jit(program)(X), (X + 1) * 2 - 1)
    on_grid = fc.device_put(X, over(mesh=fc.make_mesh((2, 2), ("a", "b"))))
    np.testing.assert_array_equal(fc.jit(program)(on_grid), (X + 1) * 8 - 1)
    # The other way round: rows of the argument are put together.
    rows = fc.device_put(X, over("x"))
    gathered = fc.jit(lambda x: call("by_rule")(lax.with_sharding_constraint(x, over())))(rows)
    np.testing.assert_array_equal(gathered, X * 8)
    with pytest.raises(ValueError, match="must be a multiple of 4"):
        fc.jit(program)(X[:6])


def test_a_constraint_has_derivatives_and_batches() -> None:
    def f(x: Any) -> Any:
        return (lax.with_sharding_constraint(x * x, over("x")) * X).sum()

    rows = fc.device_put(X, over("x"))
    for x in (X, rows):
        np.testing.assert_array_equal(fc.jit(fc.grad(f))(x), 2 * X * X)
        np.testing.assert_array_equal(
            fc.jit(fc.vmap(f, in_axes=1))(np.stack([X, 2 * X], 1)), [f(X), f(2 * X)]
        )
        assert fc.jvp(fc.jit(f), (x,), (x,))[1] == 2 * f(X)


def test_in_loops_and_branches(rows: Any) -> None:
    def in_scan(x: Any) -> Any:
        return lax.scan(lambda c, _: (call("by_rule")(c), None), x, None, length=3)[0]

    def in_while(x: Any) -> Any:
        return lax.fori_loop(0, fnp.asarray(3), lambda _, c: call("by_rule")(c), x)

    def in_branch(x: Any) -> Any:
        return lax.cond(x.sum() > 0, call("by_rule"), lambda y: y, x)

    def of_slices(x: Any) -> Any:
        return lax.map(call("by_rule"), x[None])[0]

    for function, factor in ((in_scan, 8), (in_while, 8), (in_branch, 2), (of_slices, 2)):
        np.testing.assert_array_equal(fc.jit(function)(rows), X * factor)


def test_a_carry_that_does_not_stay_divided_runs_whole(rows: Any) -> None:
    def step(c: Any, _: Any) -> Any:
        return call("by_rule")(c)[::-1] + c.sum(), None

    def run(x: Any) -> Any:
        return lax.scan(step, x, None, length=2)[0]

    # Reversed rows have the shape of the rows, and are taken to lie as these do.
    expected = X
    for _ in range(2):
        expected = (expected * 2)[::-1] + expected.sum()
    np.testing.assert_allclose(fc.jit(run)(rows), expected, rtol=1e-6)


def test_derivatives_of_a_divided_call(rows: Any) -> None:
    # The call is its own transpose, as a product with a number is.
    shaped = ffi.define(
        "divided_with_derivatives",
        shape="[n, d] -> [n, d]",
        sharding_rule="n d -> n d",
        linear_in=[0],
        transpose=lambda call, cotangents, x: (call(cotangents[0]),),
    )
    for wrap in (fc.jit, lambda f: f):
        gradient = wrap(fc.grad(lambda x: (shaped(x) ** 2).sum() / 2))
        np.testing.assert_array_equal(gradient(X), X * 64)
        np.testing.assert_array_equal(gradient(rows), X * 4)
        _, tangent = wrap(lambda x: fc.jvp(shaped, (x,), (x,)))(rows)
        np.testing.assert_array_equal(tangent, X * 2)


def test_linear_algebra_of_a_batch_is_divided() -> None:
    a = np.random.default_rng(0).normal(size=(8, 3, 3)).astype(np.float32)
    spread = fc.device_put(a, over("x"))
    for function in (fnp.linalg.inv, lambda x: fnp.linalg.eigh(x @ x.mT)[0]):
        jitted = fc.jit(function)
        result = jitted(spread)
        np.testing.assert_allclose(result, function(a), rtol=2e-4, atol=1e-5)
        assert result.sharding.spec == fc.P("x")
        with fc.profile() as profile:
            jitted(spread)
        calls = [row.calls for row in profile.rows if row.name.startswith("ffi_call farcall_")]
        assert calls
        assert set(calls) == {4}
    gradient = fc.jit(fc.grad(lambda x: fnp.linalg.inv(x).sum()))(spread)
    np.testing.assert_allclose(gradient, fc.grad(lambda x: fnp.linalg.inv(x).sum())(a), rtol=1e-3)


def spd(*batch: int) -> np.ndarray[Any, Any]:
    """Positive definite matrices of 8 rows."""
    a = np.random.default_rng(0).normal(size=(*batch, 8, 8)).astype(np.float32) / 4
    return a @ np.swapaxes(a, -1, -2) + np.eye(8, dtype=np.float32)


def signless(q: Any) -> Any:
    return fnp.abs(q)  # the signs of vectors are free


SQUARE: dict[str, Any] = {
    "cholesky": fnp.linalg.cholesky,
    "det": fnp.linalg.det,
    "eig": lambda a: fnp.sort(fnp.linalg.eig(a)[0].real),
    "eigh": lambda a: (fnp.linalg.eigh(a)[0], signless(fnp.linalg.eigh(a)[1])),
    "eigvals": lambda a: fnp.sort(fnp.linalg.eigvals(a).real),
    "inv": fnp.linalg.inv,
    "lstsq": lambda a: fnp.linalg.lstsq(a, a[:, :2])[0],
    "lu": lambda a: scipy.linalg.lu(a),
    "lu_factor": scipy.linalg.lu_factor,
    "norm": lambda a: fnp.linalg.norm(a, 2, axis=(-2, -1)),
    "pinv": fnp.linalg.pinv,
    "qr": lambda a: fnp.linalg.qr(a),
    "schur": lambda a: signless(scipy.linalg.schur(a)[0]),
    "slogdet": fnp.linalg.slogdet,
    "solve": lambda a: fnp.linalg.solve(a, a + 1),
    "cho_solve": lambda a: scipy.linalg.cho_solve((fnp.linalg.cholesky(a), True), a),
    "expm": scipy.linalg.expm,
    "solve_triangular": lambda a: scipy.linalg.solve_triangular(a, a + 1),
    "svd": lambda a: [signless(part) for part in fnp.linalg.svd(a)],
    "gradient of det": fc.grad(lambda a: fnp.linalg.slogdet(a)[1].sum()),
}
OF_ONE_MATRIX = {"lstsq", "schur"}


def with_specs(names: Any, *specs: Any) -> Any:
    """Each name with each spec; with one of them on pjrt, where compiling takes long."""
    is_native = fc.devices()[0].engine == "native"
    return pytest.mark.parametrize(
        ("name", "spec"),
        [
            (name, spec)
            for i, name in enumerate(names)
            for j, spec in enumerate(specs)
            if is_native or i % len(specs) == j
        ],
    )


def on_one_device(function: Any, a: Any) -> Any:
    return fc.tree.leaves(function(fc.device_put(a, fc.devices("native")[0])))


@with_specs(SQUARE, ("x",), (None, "x"), ("x", "y"), (("x", "y"),))
def test_linear_algebra_of_one_matrix_that_is_split_is_that_of_the_whole(
    name: str, spec: Any
) -> None:
    a, mesh = spd(), fc.make_mesh((2, 2), ("x", "y"))
    expected = on_one_device(SQUARE[name], a)
    for wrap in (fc.jit, lambda f: f):
        results = fc.tree.leaves(wrap(SQUARE[name])(fc.device_put(a, over(*spec, mesh=mesh))))
        assert [r.shape for r in results] == [e.shape for e in expected]
        for result, wanted in zip(results, expected, strict=True):
            np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)


@with_specs(
    sorted(SQUARE.keys() - OF_ONE_MATRIX), ("x",), ("x", "y"), ("x", None, "y"), (None, "y")
)
def test_linear_algebra_of_stacks_is_divided_by_matrices_only(name: str, spec: Any) -> None:
    a, mesh = spd(4), fc.make_mesh((2, 2), ("x", "y"))
    expected = on_one_device(SQUARE[name], a)
    spread = fc.device_put(a, over(*spec, mesh=mesh))
    jitted = fc.jit(SQUARE[name])
    for result, wanted in zip(fc.tree.leaves(jitted(spread)), expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=2e-4, atol=2e-4)
    divisions = jitted.lower(spread).compile().report().divisions
    assert divisions
    for call in divisions:
        assert call.is_divided == (spec[0] == "x"), call.why_not
        assert not call.is_divided or call.rule.endswith("over x"), call.rule


def test_stacks_of_stacks_are_divided_over_both_dimensions() -> None:
    a, mesh = spd(2, 4), fc.make_mesh((2, 2), ("x", "y"))
    spread = fc.device_put(a, over("x", "y", mesh=mesh))
    inverse = fc.jit(fnp.linalg.inv)
    np.testing.assert_allclose(inverse(spread), fnp.linalg.inv(a), rtol=1e-4, atol=1e-5)
    for call in inverse.lower(spread).compile().report().divisions:
        assert call.is_divided
        assert call.rule.endswith("over x, y")


def test_matrices_mapped_by_vmap_are_not_divided_by_rows() -> None:
    a = spd(4)
    rows = fc.device_put(a, over(None, "x"))
    for function in (fnp.linalg.inv, fnp.linalg.det):
        result = fc.jit(fc.vmap(function))(rows)
        np.testing.assert_allclose(result, fc.vmap(function)(a), rtol=1e-4, atol=1e-5)


def test_donated_arrays_may_be_divided(rows: Any) -> None:
    donating = fc.jit(call("by_rule"), donate_argnums=0)
    np.testing.assert_array_equal(donating(rows), X * 2)
    np.testing.assert_array_equal(donating(fc.device_put(X, over("x"))), X * 2)
