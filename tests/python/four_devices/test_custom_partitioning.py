"""custom_partitioning: the same programs as in JAX, and errors in rules."""

from __future__ import annotations

import importlib
from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from farcall.experimental.custom_partitioning import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
    custom_partitioning,
)

X = np.arange(32, dtype=np.float32).reshape(8, 4) / 8
W = np.linspace(-1, 1, 4, dtype=np.float32)


class Library:
    """The common names of both libraries, and their meshes."""

    def __init__(self, library: Any, numpy: Any) -> None:
        self.np, self.lax, self.jit, self.put = numpy, library.lax, library.jit, library.device_put
        name = library.__name__
        self.sharding = importlib.import_module(f"{name}.sharding")
        self.custom = importlib.import_module(f"{name}.experimental.custom_partitioning")
        self.tree = library.tree
        automatic = self.sharding.AxisType.Auto
        self.mesh = library.make_mesh((4,), ("x",), axis_types=(automatic,))
        self.grid = library.make_mesh((2, 2), ("a", "b"), axis_types=(automatic,) * 2)

    def over(self, mesh: Any, *spec: Any) -> Any:
        return self.sharding.NamedSharding(mesh, self.sharding.PartitionSpec(*spec))

    def as_given(self, args: Any) -> tuple[Any, ...]:
        return tuple(self.tree.map(lambda arg: arg.sharding, args))


def rows_of_product(lib: Library, seen: list[Any]) -> Any:
    @lib.custom.custom_partitioning
    def product(x: Any, w: Any) -> Any:
        return lib.np.einsum("nd,d->n", x, w)

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append([list(part.sharding.spec) for part in (*args, result)])
        seen.append([part.shape for part in (*args, result)])

        def local(x: Any, w: Any) -> Any:
            partial = lib.np.einsum("nd,d->n", x, w)
            split = args[0].sharding.spec[1]
            return partial if split is None else lib.lax.psum(partial, split)

        return mesh, local, result.sharding, lib.as_given(args)

    product.def_partition(
        partition, sharding_rule="n d, d -> n", reduction_factors=("d",), decode_shardings=True
    )
    return lib.jit(product)(lib.put(X, lib.over(lib.mesh, "x")), W)


def sum_over_columns(lib: Library, seen: list[Any]) -> Any:
    @lib.custom.custom_partitioning
    def product(x: Any, w: Any) -> Any:
        return lib.np.einsum("nd,d->n", x, w)

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append([list(part.sharding.spec) for part in (*args, result)])

        def local(x: Any, w: Any) -> Any:
            return lib.lax.psum(lib.np.einsum("nd,d->n", x, w), "b")

        return mesh, local, result.sharding, lib.as_given(args)

    rule = lib.custom.SdyShardingRule(
        (lib.custom.ArrayMapping("n", "d"), lib.custom.ArrayMapping("d")),
        (lib.custom.ArrayMapping("n"),),
        reduction_factors=("d",),
    )
    product.def_partition(partition, sharding_rule=rule)
    return lib.jit(product)(lib.put(X, lib.over(lib.grid, "a", "b")), W)


def wanted_rows(lib: Library, seen: list[Any]) -> Any:
    """Only the wanted result is split."""

    @lib.custom.custom_partitioning
    def double(x: Any) -> Any:
        return x * 2

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append([list(part.sharding.spec) for part in (*args, result)])
        return mesh, lambda x: x * 2, result.sharding, lib.as_given(args)

    double.def_partition(partition, sharding_rule="... n -> ... n")
    return lib.jit(lambda x: double(x + 1), out_shardings=lib.over(lib.mesh, "x", None))(X)


def compound(lib: Library, seen: list[Any]) -> Any:
    @lib.custom.custom_partitioning
    def apart(x: Any) -> Any:
        return x.reshape(2, 4, 4)

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append([list(part.sharding.spec) for part in (*args, result)])
        return mesh, lambda x: x.reshape(1, 2, 4), result.sharding, lib.as_given(args)

    apart.def_partition(partition, sharding_rule="(n m) d -> n m d")
    return lib.jit(apart)(lib.put(X, lib.over(lib.grid, ("a", "b"))))


def static_and_trees(lib: Library, seen: list[Any]) -> Any:
    def scale(factor: float, parts: Any) -> Any:
        return {"scaled": parts["x"] * factor, "sum": parts["x"].sum()}

    scaled = lib.custom.custom_partitioning(scale, static_argnums=(0,))

    def partition(factor: float, mesh: Any, args: Any, result: Any) -> Any:
        seen.append([factor, list(args[0]["x"].sharding.spec), sorted(result)])
        shardings = {name: part.sharding for name, part in result.items()}

        def local(parts: Any) -> Any:
            total = lib.lax.psum(parts["x"].sum(), "x")
            return {"scaled": parts["x"] * factor, "sum": total}

        return mesh, local, shardings, ({"x": args[0]["x"].sharding},)

    def rule(factor: float, mesh: Any, operands: Any, results: Any) -> Any:
        seen.append([factor, [list(one.shape) for one in (*operands, *results)]])
        return "n d -> n d, ", {"need_replication_factors": ("d",)}

    scaled.def_partition(partition, sharding_rule=rule)
    return lib.jit(scaled, static_argnums=0)(3.0, {"x": lib.put(X, lib.over(lib.mesh, "x"))})


def moved_arguments(lib: Library, seen: list[Any]) -> Any:
    """The partition rule returns other shardings than it got."""

    @lib.custom.custom_partitioning
    def softmax(x: Any) -> Any:
        e = lib.np.exp(x)
        return e / e.sum(-1, keepdims=True)

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        seen.append([list(part.sharding.spec) for part in (*args, result)])
        rows = lib.over(mesh, "x", None)

        def local(x: Any) -> Any:
            e = lib.np.exp(x)
            return e / e.sum(-1, keepdims=True)

        return mesh, local, rows, (rows,)

    softmax.def_partition(partition, sharding_rule="... n d -> ... n d")
    return lib.jit(softmax)(lib.put(X, lib.over(lib.mesh, None, "x")))


PROGRAMS = [
    rows_of_product,
    sum_over_columns,
    wanted_rows,
    compound,
    static_and_trees,
    moved_arguments,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_as_in_jax(program: Any) -> None:
    seen: dict[str, list[Any]] = {"farcall": [], "jax": []}
    results = {}
    for library, numpy in ((fc, fnp), (jax, jnp)):
        name = library.__name__
        result = program(Library(library, numpy), seen[name])
        results[name] = library.tree.leaves(result)
    # JAX calls the rule more than once.
    told = {
        name: [one for i, one in enumerate(all) if one not in all[:i]] for name, all in seen.items()
    }
    assert told["farcall"] == told["jax"]
    for mine, theirs in zip(results["farcall"], results["jax"], strict=True):
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=1e-5)
        sizes = [shard.data.shape for shard in mine.addressable_shards]
        assert sizes == [shard.data.shape for shard in theirs.addressable_shards]


# ---- beyond JAX ----------------------------------------------------------------------------------

jit: Any = fc.jit
MESH = fc.make_mesh((4,), ("x",))
ROWS = fc.NamedSharding(MESH, fc.P("x"))


def shifted(**rules: Any) -> Any:
    """x + 1, and another 100 if devices compute it in parts."""

    @custom_partitioning
    def f(x: Any) -> Any:
        return x + 1

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        return mesh, lambda x: x + 101, result.sharding, (result.sharding,)

    f.def_partition(**{"partition": partition, **rules})
    return f


def rows() -> Any:
    return fc.device_put(X, ROWS)


def test_the_function_itself_runs_elsewhere() -> None:
    f = shifted(sharding_rule="n d -> n d")
    for wrap in (jit, lambda g: g):
        np.testing.assert_array_equal(wrap(f)(X), X + 1)
        np.testing.assert_array_equal(wrap(f)(rows()), X + 101)
        np.testing.assert_array_equal(wrap(f)(x=rows()), X + 101)
    inside = fc.shard_map(f, mesh=MESH, in_specs=fc.P("x"), out_specs=fc.P("x"))
    np.testing.assert_array_equal(inside(X), X + 1)
    gradient = jit(fc.grad(lambda x: (f(x) ** 2).sum()))
    np.testing.assert_array_equal(gradient(rows()), 2 * (X + 1))
    np.testing.assert_array_equal(jit(fc.vmap(f))(np.stack([X, X])), np.stack([X, X]) + 1)


def test_the_structure_of_the_result_may_depend_on_shapes() -> None:
    @custom_partitioning
    def f(x: Any) -> Any:
        return x + 1 if x.ndim == 1 else {"sum": x + 1, "product": 2 * x}

    def partition(mesh: Any, args: Any, result: Any) -> Any:
        def local(x: Any) -> Any:
            return x + 101 if x.ndim == 1 else {"sum": x + 101, "product": 3 * x}

        return mesh, local, fc.tree.map(lambda r: r.sharding, result), (args[0].sharding,)

    f.def_partition(
        partition,
        infer_sharding_from_operands=lambda mesh, args, result: fc.tree.map(
            lambda _: args[0].sharding, result
        ),
    )
    column = fc.device_put(X[:, 0], fc.NamedSharding(MESH, fc.P("x")))
    both = jit(lambda x, y: (f(x), f(y)))(column, rows())
    np.testing.assert_array_equal(both[0], X[:, 0] + 101)
    np.testing.assert_array_equal(both[1]["sum"], X + 101)
    np.testing.assert_array_equal(both[1]["product"], 3 * X)


def test_callbacks_in_place_of_a_rule() -> None:
    def infer(mesh: Any, args: Any, result: Any) -> Any:
        assert result.shape == (8, 4)
        return args[0].sharding

    def propagate(mesh: Any, result: Any) -> Any:
        assert result.sharding.spec == fc.P("x", None)
        return result.sharding

    f = shifted(infer_sharding_from_operands=infer, propagate_user_sharding=propagate)
    result = jit(f)(rows())
    np.testing.assert_array_equal(result, X + 101)
    assert result.sharding.spec == fc.P("x")
    wanted = jit(f, out_shardings=ROWS)
    np.testing.assert_array_equal(wanted(X), X + 101)


def test_it_keeps_both_halves_of_a_custom_vjp_divided() -> None:
    forward, backward = shifted(sharding_rule="n d -> n d"), shifted(sharding_rule="n d -> n d")

    @fc.custom_vjp
    def f(x: Any) -> Any:
        return forward(x)

    f.defvjp(lambda x: (forward(x), None), lambda _, ct: (backward(ct),))
    value, gradient = jit(fc.value_and_grad(lambda x: (f(x) ** 2).sum()))(rows())
    np.testing.assert_allclose(value, ((X + 101) ** 2).sum(), rtol=1e-6)
    np.testing.assert_array_equal(gradient, 2 * (X + 101) + 101)


def test_a_function_may_close_over_arrays() -> None:
    w = fnp.asarray(W)
    f = custom_partitioning(lambda x: x @ w)
    f.def_partition(
        lambda mesh, args, result: (mesh, lambda x: x @ w, result.sharding, (args[0].sharding,)),
        sharding_rule="n d -> n",
    )
    for x in (X, rows()):
        np.testing.assert_allclose(jit(f)(x), X @ W, rtol=1e-6)
        np.testing.assert_allclose(f(x), X @ W, rtol=1e-6)


def test_reports_tell_of_it() -> None:
    f = shifted(sharding_rule="n d -> n d")
    report = jit(f).lower(rows()).compile().report()
    (call,) = report.divisions
    assert call.is_divided
    assert call.rule == "its partition over x"
    assert "custom_partitioning" in str(report)


@pytest.mark.parametrize(
    ("partition", "error", "text"),
    [
        (lambda mesh, a, r: None, TypeError, r"partition must return \(mesh, function"),
        (
            lambda mesh, a, r: (fc.make_mesh((4,), ("y",)), abs, r.sharding, (a[0].sharding,)),
            ValueError,
            "must return the mesh that it got",
        ),
        (
            lambda mesh, a, r: (mesh, 3, r.sharding, (a[0].sharding,)),
            TypeError,
            "the function of the shards",
        ),
        (
            lambda mesh, a, r: (mesh, abs, fc.devices()[0], (a[0].sharding,)),
            TypeError,
            "result shardings: expected NamedShardings",
        ),
        (
            lambda mesh, a, r: (mesh, abs, r.sharding, (a[0].sharding, None)),
            ValueError,
            "argument shardings: it must be a tree prefix",
        ),
        (
            lambda mesh, a, r: (mesh, lambda x: x[:1], r.sharding, (a[0].sharding,)),
            ValueError,
            r"must return one shard of each result, \(f32\[2,4\]\), got \(f32\[1,4\]\)",
        ),
        (
            lambda mesh, a, r: (mesh, lambda x: (x, x), r.sharding, (a[0].sharding,)),
            ValueError,
            "the function that partition returned must return",
        ),
        (
            lambda mesh, a, r: (mesh, abs, fc.P(None, None, "x"), (a[0].sharding,)),
            ValueError,
            "partition: result 0: the spec .* has 3 entries",
        ),
        (lambda mesh, a, r: 1 / 0, ZeroDivisionError, "division"),
    ],
)
def test_partitions_that_do_not_fit(partition: Any, error: type[Exception], text: str) -> None:
    f = shifted(partition=partition, sharding_rule="n d -> n d")
    with pytest.raises(error, match=text):
        jit(f)(rows())
    np.testing.assert_array_equal(jit(f)(X), X + 1)


@pytest.mark.parametrize(
    ("rules", "error", "text"),
    [
        ({"sharding_rule": "n d"}, ValueError, 'expected a name, "," or "->"'),
        ({"sharding_rule": "(n) -> n"}, ValueError, "brackets hold two names or more"),
        ({"sharding_rule": "n -> n (a b)"}, ValueError, "the size of the factor a is not known"),
        (
            {"sharding_rule": "n -> n", "n": 2},
            ValueError,
            "factor_sizes names the factor n, whose size",
        ),
        (
            {"sharding_rule": "n -> n", "m": 2},
            ValueError,
            "factor_sizes names the factor m, which is not",
        ),
        (
            {"sharding_rule": "n -> n", "reduction_factors": ("m",)},
            ValueError,
            "reduction_factors names the factor m",
        ),
        (
            {
                "sharding_rule": "n -> n",
                "reduction_factors": ("n",),
                "permutation_factors": ("n",),
            },
            ValueError,
            "the factor n is both in reduction_factors and in permutation_factors",
        ),
        ({"sharding_rule": 3}, TypeError, "expected a string, an SdyShardingRule"),
        ({"m": 3}, ValueError, "for a rule that is text"),
        ({"partition": 3}, TypeError, "partition"),
    ],
)
def test_rules_that_cannot_be_read(rules: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        shifted(**rules)


def test_rules_that_do_not_fit_the_arrays() -> None:
    f = shifted(sharding_rule="n -> n")
    with pytest.raises(ValueError, match=r"custom_partitioning\(f\): sharding rule .* operand 0"):
        jit(f)(rows())
    f = shifted(sharding_rule=lambda mesh, operands, results: 3)
    with pytest.raises(TypeError, match="expected a string, an SdyShardingRule"):
        jit(f)(rows())
    with pytest.raises(ValueError, match="it has no rules; call its def_partition first"):
        custom_partitioning(lambda x: x)(X)
    g = custom_partitioning(lambda x, n: x, static_argnums=(1,))
    g.def_partition(lambda *_: None)
    with pytest.raises(ValueError, match="static arguments must be hashable"):
        g(X, [1])


def test_factors_and_mappings() -> None:
    rule = SdyShardingRule(
        (ArrayMapping(BATCHING, CompoundFactor("a", "b")),), (ArrayMapping(BATCHING, "a", "b"),)
    )
    assert rule.operand_mappings == ((BATCHING, ("a", "b")),)
    assert str(rule) == "SdyShardingRule((('…', ('a', 'b')),), (('…', 'a', 'b'),), {})"
    for make, text in (
        (lambda: CompoundFactor("a"), "two names or more"),
        (lambda: CompoundFactor("a", 2), "expected names, got 2"),  # type: ignore[arg-type]
        (lambda: ArrayMapping("a", BATCHING), "sharding rule"),
        (lambda: ArrayMapping("2a"), "sharding rule"),
        (lambda: ArrayMapping(3), "expected names and CompoundFactors, got 3"),  # type: ignore[arg-type]
    ):
        with pytest.raises(ValueError, match=text):
            make()
    groups = SdyShardingRule(
        (ArrayMapping(f"{BATCHING}1", "n"), ArrayMapping(f"{BATCHING}2", "n")),
        (ArrayMapping(f"{BATCHING}1", "n"),),
    )
    assert "…2" in repr(groups)
