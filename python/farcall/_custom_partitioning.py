"""custom_partitioning: functions with custom rules for their division among devices."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from farcall import _core, tree
from farcall._custom_rules import CustomFunction
from farcall._functions import P, R, check_callable
from farcall._mesh import Mesh
from farcall._partition_spec import PartitionSpec
from farcall._placement import spread
from farcall._sharding import NamedSharding, from_core
from farcall._sharding_rule import rule_in_core

# Of one function: for static arguments or shapes that are new at each call.
_MOST_RULES = 256


class SpreadShape(_core.ShapeDtypeStruct):
    """The shape and dtype of a whole array, and its sharding over a mesh."""

    def __init__(self, shape: Any, dtype: Any, sharding: NamedSharding) -> None:
        super().__init__(shape, dtype)
        self._sharding = sharding

    @property
    def sharding(self) -> NamedSharding:  # type: ignore[override]
        """Its sharding; the spec has an entry for each dimension."""
        return self._sharding

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class custom_partitioning(CustomFunction[P, R]):  # noqa: N801
    """A function with custom rules for its division in programs on arrays over a mesh.

    On whole arrays, inside shard_map, and under derivatives and vmap, it is the function itself.
    With a custom_vjp around it, the forward and the backward pass are both divided.

    Args:
      fun: takes and returns pytrees of arrays.
      static_argnums: arguments that are not arrays; they must be hashable. Rules get them first.

    Raises:
      ValueError: at a call, if it has no rules (``def_partition``).
    """

    _kind: str = "custom_partitioning"

    def __init__(self, fun: Callable[P, R], static_argnums: Sequence[int] = ()) -> None:
        super().__init__(fun, static_argnums)
        self.static_argnums = self.nondiff_argnums
        self.partition: Callable[..., Any] | None = None
        self._made: dict[Any, Any] = {}

    def def_partition(
        self,
        partition: Callable[..., Any],
        infer_sharding_from_operands: Callable[..., Any] | None = None,
        propagate_user_sharding: Callable[..., Any] | None = None,
        decode_shardings: bool = True,
        sharding_rule: Any = None,
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> Callable[..., Any]:
        """Sets the rules. Returns ``partition``, so that it can be used as a decorator.

        Rules get the shapes, dtypes and shardings of arrays, in the structure of the arguments and
        of the result. They are called when a program is compiled.

        Args:
          partition: ``partition(*static, mesh, arg_shapes, result_shape)`` returns the mesh, the
            function that each device runs on its shards of the arguments, the shardings of the
            result, and those of the arguments (a tuple). Arguments are moved to these shardings.
            Collectives in the function can use the axes of the mesh.
          infer_sharding_from_operands: used without a ``sharding_rule``:
            ``infer(*static, mesh, arg_shapes, result_shape)`` returns the shardings of the result.
          propagate_user_sharding: used instead if all arguments are whole:
            ``propagate(*static, mesh, result_shape)`` returns the shardings of the result, given
            the wanted ones.
          decode_shardings: for compatibility with JAX; shardings are always NamedShardings.
          sharding_rule: how the dimensions are related: text (``"... n, n -> ... n"``), an
            SdyShardingRule, or ``rule(*static, mesh, arg_shapes, result_shapes)``, which gets
            shapes as flat lists and returns an SdyShardingRule, text, or text with a dict of the
            options below.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: options
            of a rule given as text; see SdyShardingRule. If a reduction factor is divided, the
            function of ``partition`` must sum the results.

        Raises:
          ValueError: for an invalid rule.
          TypeError: for an object that is not a rule.
        """
        del decode_shardings
        where = f"custom_partitioning({self._name}).def_partition"
        check_callable(partition, f"{where}: partition")
        for name, rule in (
            ("infer_sharding_from_operands", infer_sharding_from_operands),
            ("propagate_user_sharding", propagate_user_sharding),
        ):
            if rule is not None:
                check_callable(rule, f"{where}: {name}")
        options: dict[str, Any] = {
            "reduction_factors": reduction_factors,
            "need_replication_factors": need_replication_factors,
            "permutation_factors": permutation_factors,
            **factor_sizes,
        }
        self._rule: Any = sharding_rule
        if sharding_rule is None or callable(sharding_rule):
            if any(options.values()):
                raise ValueError(f"{where}: kinds and sizes of factors are for a rule that is text")
        else:
            self._rule = rule_in_core(sharding_rule, f"{where}: sharding_rule", **options)
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        self.sharding_rule = sharding_rule
        self._made = {}
        return partition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Calls the function; programs on arrays over a mesh divide the call."""
        where = f"custom_partitioning({self._name})"
        if self.partition is None:
            raise ValueError(f"{where}: it has no rules; call its def_partition first")
        resolved = self._resolve(args, kwargs)
        static = tuple(resolved[i] for i in self.static_argnums)
        dynamic = tuple(resolved[i] for i in self._dynamic(resolved))
        leaves, structure = tree.flatten(dynamic)
        # The structure of the result may depend on the types of the arrays.
        types = tuple(
            (getattr(leaf, "shape", ()), str(getattr(leaf, "dtype", type(leaf)))) for leaf in leaves
        )
        key = (static, tuple(map(type, static)), structure, types)
        try:
            made = self._made.get(key)
            if made is None:
                made = self._make_rules(static, structure)
                if len(self._made) >= _MOST_RULES:
                    self._made.pop(next(iter(self._made)), None)  # the oldest entry
                self._made[key] = made
        except TypeError as error:
            raise ValueError(f"{where}: static arguments must be hashable: {error}") from None

        rules, in_core = made

        @functools.wraps(self.fun)
        def function(*arrays: Any) -> Any:
            rest = iter(arrays)
            result = self.fun(
                *(  # type: ignore[arg-type]
                    arg if i in self.static_argnums else next(rest)
                    for i, arg in enumerate(resolved)
                )
            )
            rules.results = tree.structure(result)
            return result

        return _core.sharding.custom_partitioning(function, where, in_core, dynamic)

    def _make_rules(self, static: tuple[Any, ...], structure: Any) -> tuple[_Rules, Any]:
        assert self.partition is not None
        rules = _Rules(
            f"custom_partitioning({self._name})",
            static,
            structure,
            self.partition,
            self._rule,
            self.infer_sharding_from_operands,
            self.propagate_user_sharding,
        )
        in_core = _core.sharding.make_partitioning(
            self._name,
            rules.partition_flat,
            None if rules.rule is None else rules.rule_flat,
            rules.infer and rules.infer_flat,
            rules.propagate and rules.propagate_flat,
        )
        return rules, in_core


def _mesh_of(sharding: Any) -> Mesh:
    mesh = from_core(sharding).mesh
    assert isinstance(mesh, Mesh)
    return mesh


@dataclasses.dataclass
class _Rules:
    """The rules for one signature of a call, as functions of flat lists for the core."""

    where: str
    static: tuple[Any, ...]
    operands: Any  # the structure of the arguments; `results` is set when the function runs
    partition: Callable[..., Any]
    rule: Any
    infer: Callable[..., Any] | None
    propagate: Callable[..., Any] | None
    results: Any = None

    def _shapes(self, mesh: Mesh, arrays: Any) -> list[SpreadShape]:
        return [
            SpreadShape(shape, dtype, NamedSharding(mesh, PartitionSpec(*entries)))
            for shape, dtype, entries in arrays
        ]

    def _entries(self, shardings: Any, structure: Any, mesh: Mesh, what: str) -> list[Any]:
        """Converts a rule's shardings to specs of the core, one for each leaf of a structure."""
        blank = structure.unflatten([0] * structure.num_leaves)
        found = []
        for sharding in spread(shardings, blank, f"{self.where}: {what}"):
            if isinstance(sharding, PartitionSpec):
                sharding = NamedSharding(mesh, sharding)
            if not isinstance(sharding, NamedSharding):
                raise TypeError(
                    f"{self.where}: {what}: expected NamedShardings or PartitionSpecs, got "
                    f"{sharding!r}"
                )
            if sharding.mesh != mesh:
                raise ValueError(
                    f"{self.where}: {what}: the mesh must be that of the call, {mesh!r}, got "
                    f"{sharding.mesh!r}"
                )
            found.append(sharding.entries())
        return found

    def partition_flat(self, sharding: Any, operands: Any, results: Any) -> tuple[Any, Any, Any]:
        mesh = _mesh_of(sharding)
        arg_shapes = self.operands.unflatten(self._shapes(mesh, operands))
        result_shape = self.results.unflatten(self._shapes(mesh, results))
        given = self.partition(*self.static, mesh, arg_shapes, result_shape)
        if not isinstance(given, tuple) or len(given) != 4:
            raise TypeError(
                f"{self.where}: partition must return (mesh, function, result shardings, argument "
                f"shardings), got {given!r}"
            )
        if given[0] != mesh:
            raise ValueError(
                f"{self.where}: partition must return the mesh that it got, {mesh!r}, got "
                f"{given[0]!r}"
            )
        check_callable(given[1], f"{self.where}: partition: the function of the shards")

        def local(shards: list[Any]) -> Any:
            result = given[1](*self.operands.unflatten(shards))
            if tree.structure(result) != self.results:
                raise ValueError(
                    f"{self.where}: the function that partition returned must return "
                    f"{self.results}, got {tree.structure(result)}"
                )
            return tree.leaves(result)

        arguments = given[3]
        if isinstance(arguments, list):
            arguments = tuple(arguments)
        return (
            local,
            self._entries(arguments, self.operands, mesh, "partition: argument shardings"),
            self._entries(given[2], self.results, mesh, "partition: result shardings"),
        )

    def rule_flat(self, sharding: Any, operands: Any, results: Any) -> tuple[Any, ...]:
        rule = self.rule
        if isinstance(rule, tuple):
            return rule
        mesh = _mesh_of(sharding)
        given = rule(*self.static, mesh, self._shapes(mesh, operands), self._shapes(mesh, results))
        options: dict[str, Any] = {}
        if isinstance(given, (tuple, list)) and len(given) == 2:
            given, options = given
        return rule_in_core(given, f"{self.where}: sharding_rule", **options)

    def infer_flat(self, sharding: Any, operands: Any, results: Any) -> list[Any]:
        mesh = _mesh_of(sharding)
        assert self.infer is not None
        shapes = [_core.ShapeDtypeStruct(shape, dtype) for shape, dtype, _ in results]
        given = self.infer(
            *self.static,
            mesh,
            self.operands.unflatten(self._shapes(mesh, operands)),
            self.results.unflatten(shapes),
        )
        return self._entries(given, self.results, mesh, "infer_sharding_from_operands")

    def propagate_flat(self, sharding: Any, operands: Any, results: Any) -> list[Any]:
        del operands
        mesh = _mesh_of(sharding)
        assert self.propagate is not None
        wanted = self.results.unflatten(self._shapes(mesh, results))
        given = self.propagate(*self.static, mesh, wanted)
        return self._entries(given, self.results, mesh, "propagate_user_sharding")
