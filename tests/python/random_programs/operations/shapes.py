"""Operations that move elements, and those along dimensions."""

from __future__ import annotations

import math

from random_programs.values import LIKELY
from random_programs.writer import CannotWriteError, Value, Writer, is_tame


def broadcast(w: Writer) -> None:
    x = w.any(max_rank=4, test=lambda v: v.size <= w.max_elements // 4)
    rank = x.ndim + w.below(3)
    places = sorted(w.permutation(rank)[: x.ndim])
    sizes = [w.choose(w.sizes) for _ in range(rank)]
    for place, size in zip(places, x.shape, strict=True):
        sizes[place] = size if size != 1 or w.chance(0.5) else sizes[place]
    if math.prod(sizes) > w.max_elements:
        raise CannotWriteError
    w.add(f"lax.broadcast_in_dim({{0}}, {tuple(sizes)}, {tuple(places)})", x)


def reshape(w: Writer) -> None:
    x = w.any()
    left, sizes = x.size, []
    while left > 1 and w.chance(0.8):
        divisors = [n for n in range(1, left + 1) if left % n == 0]
        sizes.append(w.choose(divisors))
        left //= sizes[-1]
    sizes.append(left)
    sizes += [1] * w.below(2)
    if x.size == 0:
        sizes = [0, *w.some([2, 3])]
    w.add(f"lax.reshape({{0}}, {tuple(w.rng.permutation(sizes).tolist())})", x)


def transpose(w: Writer) -> None:
    x = w.any()
    w.add(f"lax.transpose({{0}}, {w.permutation(x.ndim)})", x)


def expand_dims(w: Writer) -> None:
    x = w.any(max_rank=4)
    w.add(f"lax.expand_dims({{0}}, ({w.below(x.ndim + 1)},))", x)


def squeeze(w: Writer) -> None:
    x = w.any(test=lambda v: 1 in v.shape)
    axes = w.some(i for i, size in enumerate(x.shape) if size == 1)
    w.add(f"lax.squeeze({{0}}, {tuple(axes)})", x)


def slicing(w: Writer) -> None:
    x = w.any(min_rank=1)
    starts = [w.below(size + 1) for size in x.shape]
    limits = [s + w.below(size - s + 1) for s, size in zip(starts, x.shape, strict=True)]
    if w.chance(0.6):
        starts, limits = [0 if w.chance(0.5) else s // 2 for s in starts], list(x.shape)
    strides = tuple(1 + w.below(3) for _ in x.shape)
    w.add(f"lax.slice({{0}}, {tuple(starts)}, {tuple(limits)}, {strides})", x)


def concatenate(w: Writer) -> None:
    x = w.any(min_rank=1, test=lambda v: v.size <= w.max_elements // 3)
    axis = w.below(x.ndim)

    def fits(v: Value) -> bool:
        shape, other = list(x.shape), list(v.shape)
        return (
            v.dtype == x.dtype
            and len(shape) == len(other)
            and shape[:axis] + shape[axis + 1 :] == other[:axis] + other[axis + 1 :]
        )

    parts = [x]
    for _ in range(w.below(3)):
        others = [v for v in w.visible() if fits(v) and v.size <= w.max_elements // 3]
        parts.append(w.choose(others))
    places = ", ".join(f"{{{i}}}" for i in range(len(parts)))
    w.add(f"lax.concatenate([{places}], {axis})", *parts)


def rev(w: Writer) -> None:
    x = w.any()
    w.add(f"lax.rev({{0}}, {tuple(w.some(range(x.ndim)))})", x)


def pad(w: Writer) -> None:
    x = w.any(min_rank=1, test=lambda v: v.size <= w.max_elements // 4)
    widths = []
    for size in x.shape:
        inner = w.below(2)
        low = w.below(3) - 1
        spread = size + max(0, size - 1) * inner
        high = max(w.below(3) - 1, -spread - low)
        widths.append((low, high, inner))
    if any(size + low < 0 for size, (low, _, _) in zip(x.shape, widths, strict=True)):
        raise CannotWriteError
    w.add(f"lax.pad({{0}}, {{1}}, {widths})", x, w.scalar(x.dtype))


def iota(w: Writer) -> None:
    names = [name for name in (*w.dtypes, *LIKELY) if name != "bool"]
    shape = w.shape(1, 3)
    where = w.below(len(shape))
    w.add(f"lax.broadcasted_iota(fc.dtypes.{w.choose(names)}, {shape}, {where})")


# ---- reductions ----


def reduce(w: Writer) -> None:
    name, kinds = w.choose(
        [("sum", "SUFC"), ("prod", "SUFC"), ("max", "BSUF"), ("min", "BSUF")] * 2
        + [("and", "BSU"), ("or", "BSU")]
    )
    # Whether a product of huge numbers and zeros is a number depends on its order.
    x = w.any(kinds, test=lambda v: name != "prod" or is_tame(v))
    axes = tuple(w.some(range(x.ndim)))
    w.add(f"lax.reduce_{name}({{0}}, {axes})", x, exact=name not in ("sum", "prod"))


def arg_reduce(w: Writer) -> None:
    axis = 0
    x = w.any("BSUF", min_rank=1, exact=True, test=lambda v: 0 not in v.shape)
    axis = w.below(x.ndim)
    index = w.choose(["int32", "int64", "uint8"])
    w.add(f"lax.arg{w.choose(['max', 'min'])}({{0}}, {axis}, np.{index})", x)


def cumulative(w: Writer) -> None:
    kinds = {"cumsum": "SUFC", "cumprod": "SUFC", "cummax": "BSUF", "cummin": "BSUF"}
    kinds["cumlogsumexp"] = "F"
    name = w.choose(list(kinds))
    x = w.any(kinds[name], min_rank=1)
    options = f"{w.below(x.ndim)}, reverse={w.chance(0.5)}"
    w.add(f"lax.{name}({{0}}, {options})", x, exact=name in ("cummax", "cummin"))


def sort(w: Writer) -> None:
    x = w.any(min_rank=1, exact=True)
    others = [w.of_type(x.shape, w.choose([x.dtype, *w.dtypes])) for _ in range(w.below(3))]
    dimension, keys = w.below(x.ndim), 1
    if others and others[0].is_exact:
        keys += w.below(2)
    places = ", ".join(f"{{{i}}}" for i in range(1 + len(others)))
    w.add_all(
        f"lax.sort(({places},), dimension={dimension}, num_keys={keys})",
        x,
        *others,
        groups=(None,) * (1 + len(others)),
    )


def argsort(w: Writer) -> None:
    x = w.any("BSUF", min_rank=1, exact=True)
    w.add(f"fnp.argsort({{0}}, axis={w.below(x.ndim)}, descending={w.chance(0.5)})", x)


def top_k(w: Writer) -> None:
    x = w.any("SUF", min_rank=1, exact=True)
    w.add_all(f"lax.top_k({{0}}, {w.below(x.shape[-1] + 1)})", x, groups=(None, None))


def reduce_window(w: Writer) -> None:
    name, identity, kinds = w.choose(
        [("add", "0", "SUFC"), ("mul", "1", "SUFC"), ("max", "low", "SUF"), ("min", "high", "SUF")]
    )
    x = w.any(kinds, min_rank=1, max_rank=3, dtypes=LIKELY)
    if identity in ("low", "high"):
        if x.kind == "F":
            identity = {"low": "-np.inf", "high": "np.inf"}[identity]
        else:
            limit = {"low": "min", "high": "max"}[identity]
            identity = f"np.iinfo(np.{x.dtype}).{limit}"
    window = tuple(1 + w.below(3) for _ in x.shape)
    strides = tuple(1 + w.below(2) for _ in x.shape)
    padding = w.choose(["'SAME'", "'VALID'", "'SAME_LOWER'"])
    dilation = ""
    if w.chance(0.4):
        padding = str([(w.below(2), w.below(2)) for _ in x.shape])
        dilations = [tuple(1 + w.below(2) for _ in x.shape) for _ in range(2)]
        dilation = f", base_dilation={dilations[0]}, window_dilation={dilations[1]}"
    init = f"np.asarray({identity}).astype(fc.dtypes.{x.dtype})"
    w.add(
        f"lax.reduce_window({{0}}, {init}, lax.{name}, {window}, {strides}, {padding}{dilation})",
        x,
        exact=name in ("max", "min"),
    )


OPERATIONS = [broadcast, reshape, transpose, expand_dims, squeeze, slicing, concatenate, rev, pad]
OPERATIONS += [iota, *[reduce] * 3, arg_reduce, cumulative, cumulative, sort, argsort, top_k]
OPERATIONS += [reduce_window, reduce_window]
