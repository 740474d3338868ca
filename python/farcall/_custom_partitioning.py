"""custom_partitioning: functions that say themselves how they are divided among devices."""

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

#: Stands for any leading dimensions in an ArrayMapping; followed by a digit, for another group.
BATCHING: str = "…"

_KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")


class CompoundFactor(tuple[str, ...]):
    """Two factors or more that make one dimension, the slowest first.

    Raises:
      ValueError: for fewer, and for what is no name.
    """

    def __new__(cls, *factors: str) -> CompoundFactor:
        for factor in factors:
            if not isinstance(factor, str):
                raise ValueError(f"CompoundFactor: expected names, got {factor!r}")
        return super().__new__(cls, factors)

    def __init__(self, *factors: str) -> None:
        _check_mapping((self,))


class ArrayMapping(tuple[Any, ...]):
    """The factor or CompoundFactor of each dimension of an array; BATCHING may come first.

    Raises:
      ValueError: for BATCHING elsewhere, and for what is no name.
    """

    def __new__(cls, *dim_mappings: str | CompoundFactor) -> ArrayMapping:
        for entry in dim_mappings:
            if not isinstance(entry, (str, CompoundFactor)):
                raise ValueError(f"ArrayMapping: expected names and CompoundFactors, got {entry!r}")
        return super().__new__(cls, dim_mappings)

    def __init__(self, *dim_mappings: str | CompoundFactor) -> None:
        _check_mapping(self)


def _text_of(mapping: tuple[Any, ...]) -> str:
    return " ".join(
        f"({' '.join(entry)})" if isinstance(entry, tuple) else entry.replace(BATCHING, "...")
        for entry in mapping
    )


def _check_mapping(mapping: tuple[Any, ...]) -> None:
    """Raises for what cannot stand in a rule. Sizes are not known yet."""
    whole = {entry for entry in mapping if isinstance(entry, str)}
    inside = {factor for entry in mapping if isinstance(entry, tuple) for factor in entry}
    sizes = dict.fromkeys(inside - whole, 1)
    _core.sharding.check_sharding_rule(f"{_text_of(mapping)} ->", sizes, (), (), ())


class SdyShardingRule:
    """How the dimensions of a function's arrays may be divided among devices.

    Dimensions (factors) of one name are divided together. By default what is computed of a part of
    such a dimension is that part of the results.

    Args:
      operand_mappings, result_mappings: an ArrayMapping for each operand and result.
      reduction_factors: factors over which results are sums.
      need_replication_factors: factors that are not divided.
      permutation_factors: factors along which parts need each other.
      **factor_sizes: the sizes of factors that are nowhere a whole dimension.

    Raises:
      ValueError: for a factor of several kinds, one that no mapping has, and a size that is missing
        or one too many.
    """

    def __init__(
        self,
        operand_mappings: tuple[ArrayMapping, ...],
        result_mappings: tuple[ArrayMapping, ...],
        *,
        reduction_factors: tuple[str, ...] = (),
        need_replication_factors: tuple[str, ...] = (),
        permutation_factors: tuple[str, ...] = (),
        **factor_sizes: int,
    ) -> None:
        self.operand_mappings, self.result_mappings = operand_mappings, result_mappings
        self.reduction_factors = reduction_factors
        self.need_replication_factors = need_replication_factors
        self.permutation_factors = permutation_factors
        self.factor_sizes = factor_sizes
        _core.sharding.check_sharding_rule(*self._in_core())

    def _in_core(self) -> tuple[Any, ...]:
        operands, results = (
            ", ".join(map(_text_of, mappings))
            for mappings in (self.operand_mappings, self.result_mappings)
        )
        return (
            f"{operands} -> {results}",
            self.factor_sizes,
            self.reduction_factors,
            self.need_replication_factors,
            self.permutation_factors,
        )

    def __repr__(self) -> str:
        kinds = "".join(f" {kind}={factors}" for kind in _KINDS if (factors := getattr(self, kind)))
        return (
            f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, "
            f"{self.factor_sizes}{kinds})"
        )


def _rule_in_core(rule: Any, where: str, **options: Any) -> tuple[Any, ...]:
    """A rule, as the core takes it, checked."""
    if isinstance(rule, SdyShardingRule):
        if any(options.values()):
            raise ValueError(f"{where}: an SdyShardingRule has its factors' kinds and sizes itself")
        return rule._in_core()
    if not isinstance(rule, str):
        raise TypeError(
            f"{where}: expected a string, an SdyShardingRule or a function that gives one, got "
            f"{rule!r}"
        )
    lists = [tuple(options.pop(kind, ())) for kind in _KINDS]
    made = (rule, options, *lists)
    _core.sharding.check_sharding_rule(*made)
    return made


class SpreadShape(_core.ShapeDtypeStruct):
    """The shape and dtype of a whole array, and how it lies over a mesh."""

    def __init__(self, shape: Any, dtype: Any, sharding: NamedSharding) -> None:
        super().__init__(shape, dtype)
        self._sharding = sharding

    @property
    def sharding(self) -> NamedSharding:  # type: ignore[override]
        """How it lies, with an entry for each dimension."""
        return self._sharding

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


class custom_partitioning(CustomFunction[P, R]):  # noqa: N801
    """A function that programs on arrays over a mesh divide by its own rules.

    Elsewhere, on arrays that lie whole, inside shard_map, and under derivatives and vmap, it is the
    function itself; a custom_vjp around it keeps both halves divided.

    Args:
      fun: takes and returns pytrees of arrays.
      static_argnums: arguments that are no arrays; hashable. Rules get them first.

    Raises:
      ValueError: at a call, without rules (``def_partition``).
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
        """Sets the rules; returns ``partition``, so that this is a decorator.

        Rules get the arrays' shapes, dtypes and shardings, in the structure of the arguments and of
        the result, and run when a program is compiled.

        Args:
          partition: ``partition(*static, mesh, arg_shapes, result_shape)`` returns the mesh, the
            function that each device runs on its shards of the arguments, the shardings of the
            result and those of the arguments (a tuple); arguments are moved to lie so. Collectives
            in the function know the axes of the mesh.
          infer_sharding_from_operands: without a ``sharding_rule``:
            ``infer(*static, mesh, arg_shapes, result_shape)`` returns the result's shardings.
          propagate_user_sharding: the same where the arguments lie whole:
            ``propagate(*static, mesh, result_shape)``, of how the result is wanted.
          decode_shardings: for programs written for JAX; shardings are always NamedShardings.
          sharding_rule: how dimensions go together: text (``"... n, n -> ... n"``), an
            SdyShardingRule, or ``rule(*static, mesh, arg_shapes, result_shapes)`` that returns one,
            or text with a dict of the options below; shapes are flat lists there.
          reduction_factors, need_replication_factors, permutation_factors, **factor_sizes: of a
            rule that is text; see SdyShardingRule. The function of ``partition`` adds up the
            results where a reduction factor is divided.

        Raises:
          ValueError: for a rule that cannot be read.
          TypeError: for a rule that is none.
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
            self._rule = _rule_in_core(sharding_rule, f"{where}: sharding_rule", **options)
        self.partition = partition
        self.infer_sharding_from_operands = infer_sharding_from_operands
        self.propagate_user_sharding = propagate_user_sharding
        self.sharding_rule = sharding_rule
        self._made = {}
        return partition

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The function; programs on arrays over a mesh divide it."""
        where = f"custom_partitioning({self._name})"
        if self.partition is None:
            raise ValueError(f"{where}: it has no rules; call its def_partition first")
        resolved = self._resolve(args, kwargs)
        static = tuple(resolved[i] for i in self.static_argnums)
        dynamic = tuple(resolved[i] for i in self._dynamic(resolved))
        structure = tree.structure(dynamic)
        key = (static, tuple(map(type, static)), structure)
        try:
            made = self._made.get(key)
            if made is None:
                made = self._made[key] = self._make_rules(static, structure)
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


@dataclasses.dataclass
class _Rules:
    """The rules for arguments of one structure, on flat lists, as the core takes them."""

    where: str
    static: tuple[Any, ...]
    operands: Any  # their structure, and that of the result, once it is known
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
        """The specs that a rule gave for each leaf of a structure, as the core takes them."""
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
        mesh = from_core(sharding).mesh
        assert isinstance(mesh, Mesh)
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
                    f"{self.where}: the function that partition gave must return "
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
        mesh = from_core(sharding).mesh
        assert isinstance(mesh, Mesh)
        given = rule(*self.static, mesh, self._shapes(mesh, operands), self._shapes(mesh, results))
        options: dict[str, Any] = {}
        if isinstance(given, (tuple, list)) and len(given) == 2:
            given, options = given
        return _rule_in_core(given, f"{self.where}: sharding_rule", **options)

    def infer_flat(self, sharding: Any, operands: Any, results: Any) -> list[Any]:
        mesh = from_core(sharding).mesh
        assert isinstance(mesh, Mesh)
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
        mesh = from_core(sharding).mesh
        assert isinstance(mesh, Mesh)
        assert self.propagate is not None
        wanted = self.results.unflatten(self._shapes(mesh, results))
        given = self.propagate(*self.static, mesh, wanted)
        return self._entries(given, self.results, mesh, "propagate_user_sharding")
