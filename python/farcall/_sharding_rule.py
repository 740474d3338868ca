"""Sharding rules: how the dimensions of a function's arrays may be divided among devices."""

from __future__ import annotations

from typing import Any

from farcall import _core

#: Any leading dimensions of an array in an ArrayMapping. A digit after it names another group.
BATCHING: str = "…"

_KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")


class CompoundFactor(tuple[str, ...]):
    """Two or more factors of one dimension, the slowest first.

    Raises:
      ValueError: for fewer than two factors, and for invalid names.
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
      ValueError: for BATCHING that is not first, and for invalid names.
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
    """Raises if the mapping is invalid in any rule. The sizes of factors are not known yet."""
    whole = {entry for entry in mapping if isinstance(entry, str)}
    inside = {factor for entry in mapping if isinstance(entry, tuple) for factor in entry}
    sizes = dict.fromkeys(inside - whole, 1)
    _core.sharding.check_sharding_rule((f"{_text_of(mapping)} ->", sizes, (), (), ()))


class SdyShardingRule:
    """How the dimensions of a function's arrays may be divided among devices.

    Dimensions (factors) with the same name are divided together. By default, a call on a part of
    such a dimension computes that part of the results.

    Args:
      operand_mappings, result_mappings: an ArrayMapping for each operand and result.
      reduction_factors: factors over which the results are sums.
      need_replication_factors: factors that are not divided.
      permutation_factors: factors along which a part of the results depends on other parts of the
        operands.
      **factor_sizes: the sizes of factors that are never a whole dimension.

    Raises:
      ValueError: for a factor of several kinds, for an option about a factor that no mapping has,
        and for a missing or superfluous size.
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
        _core.sharding.check_sharding_rule(self._in_core())

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


def rule_in_core(rule: Any, where: str, **options: Any) -> tuple[Any, ...]:
    """Checks a rule, and converts it to the arguments of the core."""
    if isinstance(rule, SdyShardingRule):
        if any(options.values()):
            raise ValueError(
                f"{where}: the kinds and sizes of factors are part of an SdyShardingRule; give "
                "them there, not as arguments"
            )
        return rule._in_core()
    if not isinstance(rule, str):
        raise TypeError(
            f"{where}: expected a string, an SdyShardingRule or a function that gives one, got "
            f"{rule!r}"
        )
    lists = [tuple(options.pop(kind, ())) for kind in _KINDS]
    made = (rule, options, *lists)
    _core.sharding.check_sharding_rule(made)
    return made
