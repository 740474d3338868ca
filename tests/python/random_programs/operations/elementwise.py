"""Operations element by element, choices and conversions."""

from __future__ import annotations

import functools
import math

import elementwise_rows
import farcall as fc
from farcall import lax

from random_programs.values import FLOATS, KIND_OF, WIDE_FLOATS, dtype
from random_programs.writer import MAX_LARGE_ELEMENTS, CannotWriteError, Value, Writer

UNARY = [row.name for row in elementwise_rows.LAX if len(row.operands) == 1]
_OTHERS = ("igamma_grad_a", "random_gamma_grad")  # without derivatives
BINARY = [r.name for r in elementwise_rows.LAX if len(r.operands) == 2 and r.name not in _OTHERS]

# Where a function is defined, as steps that bring its first operand there.
POSITIVE = ("lax.abs({0})", "{0} + {0}.dtype.type(0.5)")
INSIDE = ("lax.tanh({0})", "{0} * {0}.dtype.type(0.875)")
WITHIN_ONE = ("lax.logistic({0})", "{0} * {0}.dtype.type(0.875)")
ABOVE_ONE = ("lax.abs({0})", "{0} + {0}.dtype.type(1.5)")
_STEPS = {"kPositive": POSITIVE, "kInside": INSIDE, "kUnit": WITHIN_ONE, "kAboveOne": ABOVE_ONE}
DOMAINS = {
    **{row.name: _STEPS[row.domain] for row in elementwise_rows.LAX if row.domain in _STEPS},
    **dict.fromkeys(("igamma", "igammac", "pow", "beta", "betaln"), POSITIVE),
    **dict.fromkeys(("zeta", "polygamma"), ABOVE_ONE),
}
NO_DERIVATIVE_IN_FIRST = ("igamma", "igammac", "zeta", "polygamma")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
JUMPS = ("sign", "floor", "ceil", "rem", "nextafter", *COMPARISONS)


@functools.cache
def accepted(name: str, arity: int) -> str:
    """The kinds of numbers that the function takes, of all widths."""
    if name == "conj":
        return "C"  # not of floats of 16 bits and fewer
    samples = {"B": "bool", "S": "int32", "U": "uint32", "F": "float32", "C": "complex64"}
    kinds = ""
    for kind, sample in samples.items():
        struct = fc.ShapeDtypeStruct((), dtype(sample))
        try:
            fc.eval_shape(getattr(lax, name), *[struct] * arity)
        except (TypeError, ValueError):
            continue
        kinds += kind
    return kinds


def _in_domain(w: Writer, name: str, x: Value) -> Value:
    if name in DOMAINS and x.kind in "F" and not (w.is_wild and w.chance(0.5)):
        for text in DOMAINS[name]:
            x = w.add(text, x)
    return x


def unary(w: Writer) -> None:
    name = w.choose(UNARY)
    x = w.any(accepted(name, 1), exact=name in JUMPS)
    w.add(f"lax.{name}({{0}})", _in_domain(w, name, x))


def _partner(w: Writer, x: Value, exact: bool = False) -> Value:
    return w.of_type(x.shape if w.chance(0.7) else (), x.dtype, exact)


def binary(w: Writer) -> None:
    name = w.choose(BINARY)
    jumps = name in JUMPS
    dtypes = ("float32", "float64") if name == "complex" else None
    x = w.any(accepted(name, 2), exact=jumps, dtypes=dtypes)
    y = _partner(w, x, jumps)
    x = _in_domain(w, name, x)
    if name in ("igamma", "igammac", "zeta", "beta", "betaln"):
        y = _in_domain(w, name, y)
    if name == "polygamma":
        y, x = x, w.fresh((), x.dtype, dtype(x.dtype).type(w.below(4)))
    if name in NO_DERIVATIVE_IN_FIRST:
        text, hidden = f"lax.{name}(lax.stop_gradient({{0}}), {{1}})", ["no differences"]
        w.add(text, x, y, traits=hidden)
        return
    w.add(f"lax.{name}({{0}}, {{1}})", *((x, y) if x.ndim or w.chance(0.5) else (y, x)))


def special(w: Writer) -> None:
    """Functions of several parameters, with respect to which they have no derivative."""
    x = _in_domain(w, "lgamma", w.any("F", dtypes=WIDE_FLOATS))
    a = _in_domain(w, "lgamma", _partner(w, x))
    if w.chance(0.5):
        text = "lax.igamma_grad_a(lax.stop_gradient({0}), lax.stop_gradient({1}))"
        w.add(text, a, x, traits=["no differences"])
        return
    text = "lax.betainc(lax.stop_gradient({0}), lax.stop_gradient({0}), lax.logistic({1}))"
    w.add(text, a, x, traits=["no differences"])


def name(w: Writer) -> None:
    text = "fc.ad_checkpoint.checkpoint_name({0}, 'value')"
    w.add("lax.optimization_barrier({0})" if w.chance(0.4) else text, w.any())


def with_number(w: Writer) -> None:
    """Operators with a number of Python, which takes the array's dtype."""
    x = w.any("SUFC", test=lambda v: v.dtype not in ("int1", "uint1", "int2", "uint2"))
    text = w.choose(["{0} + 1", "2 * {0}", "{0} - 1", "{0} ** 2", "{0} * {0}", "-{0}", "3 - {0}"])
    if x.kind in "FC":
        text = w.choose([text, "{0} / 4", "{0} * 0.5", "1.5 - {0}"])
    w.add(text, x)


def integer_pow(w: Writer) -> None:
    x = w.any("SUFC")
    w.add(f"lax.integer_pow({{0}}, {w.choose([0, 1, 2, 3, 5] + [-1, -2] * (x.kind in 'FC'))})", x)


def rounding(w: Writer) -> None:
    w.add(f"lax.round({{0}}, {w.below(2)})", w.any("F", exact=True))


def reduce_precision(w: Writer) -> None:
    text = f"lax.reduce_precision({{0}}, {2 + w.below(7)}, {w.below(20)})"
    w.add(text, w.any("F", exact=True), traits=["no numbers"])


def select(w: Writer) -> None:
    x = w.any()
    count = 2 if w.chance(0.7) else 1 + w.below(4)
    cases = [x, *(w.of_type(*x.type) for _ in range(count - 1))]
    which = w.of_type(x.shape if w.chance(0.7) else (), "bool" if count == 2 else "int32")
    places = ", ".join(f"{{{i}}}" for i in range(count + 1))
    w.add(f"lax.select_n({places})", which, *cases)


def clamp(w: Writer) -> None:
    x = w.any("BSUF")
    low, high = (w.of_type(x.shape if w.chance(0.5) else (), x.dtype) for _ in range(2))
    # On its bounds the derivative is zero, though all may move together.
    traits = ["no differences"] if x.name in (low.name, high.name) else []
    w.add("lax.clamp({0}, {1}, {2})", low, x, high, traits=traits)


def convert(w: Writer) -> None:
    x = w.any()
    name = (
        w.choose(list(KIND_OF)) if w.chance(0.3) else w.choose([*w.dtypes, "int32", *WIDE_FLOATS])
    )
    is_coarse = KIND_OF[name] in "BSU" or name in NARROW
    if x.is_inexact and not x.is_exact and is_coarse:
        raise CannotWriteError
    if name == x.dtype:
        raise CannotWriteError
    w.add(f"lax.convert_element_type({{0}}, fc.dtypes.{'bool_' if name == 'bool' else name})", x)


def bitcast(w: Writer) -> None:
    widths = {8: ("int8", "uint8", "float8_e4m3fn"), 16: ("int16", "float16", "bfloat16")}
    widths |= {32: ("int32", "uint32", "float32"), 64: ("int64", "uint64", "float64")}
    width = w.choose(list(widths))
    x = w.any(exact=True, dtypes=widths[width])
    w.add(f"lax.bitcast_convert_type({{0}}, fc.dtypes.{w.choose(widths[width])})", x)


def stop_gradient(w: Writer) -> None:
    w.add("lax.stop_gradient({0})", w.any("FC"), traits=["no differences"])


def copy(w: Writer) -> None:
    w.add("fnp.array({0})", w.any())


def where(w: Writer) -> None:
    x, y, condition = w.any("BSUFC"), w.any("BSUFC"), w.any("B")
    if not _broadcast(x, y, condition) or x.dtype != y.dtype:
        raise CannotWriteError
    w.add("fnp.where({0}, {1}, {2})", condition, x, y)


def masks(w: Writer) -> None:
    """A choice between comparisons, combined with another mask."""
    x = w.any("SUF", exact=True)
    y = _partner(w, x, exact=True)
    a, b = (w.add(f"lax.{w.choose(COMPARISONS)}({{0}}, {{1}})", x, y) for _ in range(2))
    chosen = w.add("fnp.where({0}, {1}, {2})", w.of_type(a.shape, "bool"), a, b)
    w.add(f"{{0}} {w.choose('&|^')} {{1}}", chosen, w.of_type(a.shape, "bool"))


def _broadcast(*values: Value) -> bool:
    """Whether they broadcast, to a shape that can be computed with."""
    ranks = max(value.ndim for value in values)
    shapes = [(1,) * (ranks - value.ndim) + value.shape for value in values]
    sizes = [{n for n in column if n != 1} for column in zip(*shapes, strict=True)]
    if any(len(found) > 1 for found in sizes):
        return False
    return math.prod(n for found in sizes for n in found) <= MAX_LARGE_ELEMENTS


def broadcasting(w: Writer) -> None:
    """numpy's operators, which broadcast and promote."""
    x = w.any("SUFC", dtypes=NUMPY_TYPES)
    y = w.any("SUFC", dtypes=NUMPY_TYPES, test=lambda v: _broadcast(x, v))
    w.add(f"{{0}} {w.choose('+-*')} {{1}}", x, y)


NARROW = set(FLOATS) - set(WIDE_FLOATS)
NUMPY_TYPES = ("int32", "int64", "uint8", *WIDE_FLOATS, "complex64", "complex128")
OPERATIONS = [*[unary] * 7, *[binary] * 7, with_number, with_number, integer_pow, rounding]
OPERATIONS += [reduce_precision, select, select, clamp, convert, convert, bitcast, stop_gradient]
OPERATIONS += [copy, where, masks, broadcasting, special, name]
