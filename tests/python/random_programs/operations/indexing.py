"""Operations that read and write at computed places."""

from __future__ import annotations

from random_programs.writer import CannotWriteError, Value, Writer

MODES = ["'clip'", "'fill'", "None"]
INDEX_TYPES = ("int32", "int64", "uint8", "int8")


def _index(w: Writer, shape: tuple[int, ...]) -> Value:
    """Indices, some of them outside."""
    found = [v for v in w.visible() if v.shape == shape and v.dtype in INDEX_TYPES]
    if found and w.chance(0.6):
        return w.choose(found)
    return w.of_type(shape, w.choose(INDEX_TYPES))


def dynamic_slice(w: Writer) -> None:
    x = w.any(min_rank=1, max_rank=3)
    starts = [_index(w, ()) for _ in x.shape]
    sizes = tuple(w.below(size + 1) for size in x.shape)
    places = ", ".join(f"{{{i + 1}}}" for i in range(x.ndim))
    w.add(f"lax.dynamic_slice({{0}}, [{places}], {sizes})", x, *starts)


def dynamic_update_slice(w: Writer) -> None:
    x = w.any(min_rank=1, max_rank=3)
    starts = [_index(w, ()) for _ in x.shape]
    sizes = tuple(w.below(size + 1) for size in x.shape)
    update = w.of_type(sizes, x.dtype)
    places = ", ".join(f"{{{i + 2}}}" for i in range(x.ndim))
    w.add(f"lax.dynamic_update_slice({{0}}, {{1}}, [{places}])", x, update, *starts)


def take(w: Writer) -> None:
    x = w.any(min_rank=1, max_rank=4, test=lambda v: v.size > 0 and v.size <= 80)
    index = _index(w, w.shape(0, 2))
    axis = w.below(x.ndim)
    w.add(f"fnp.take({{0}}, {{1}}, axis={axis}, mode={w.choose(MODES)})", x, index)


def take_along_axis(w: Writer) -> None:
    x = w.any(min_rank=1, max_rank=3, test=lambda v: v.size > 0)
    axis = w.below(x.ndim)
    shape = list(x.shape)
    shape[axis] = w.choose([n for n in w.sizes if n] or [1])
    index = _index(w, tuple(shape))
    w.add(f"fnp.take_along_axis({{0}}, {{1}}, {axis}, mode={w.choose(MODES)})", x, index)


def at_index(w: Writer) -> None:
    """``x.at[…]`` with arrays, slices and None."""
    x = w.any("SUFC", min_rank=1, max_rank=3, test=lambda v: v.size > 0)
    index = _index(w, w.shape(0, 1))
    keys = ["{1}"] + [w.choose([":", "::-1", "0", "-1", ":1"]) for _ in range(w.below(x.ndim))]
    order = w.permutation(len(keys))
    key = ", ".join(keys[i] for i in order)
    mode = f", mode={w.choose(MODES)}"
    methods = ["set", "add", "multiply"] + ["min", "max"] * (x.kind in "SUF")
    method = w.choose(methods)
    if w.chance(0.3):
        w.add(f"{{0}}.at[{key}].get(mode={w.choose(MODES[:2])})", x, index)
        return
    # It promises that indices are inside, and derivatives count on that.
    part = w.add(f"{{0}}[{key}]", x, index, traits=["no jvp", "no vjp"])
    update = w.of_type(part.shape if w.chance(0.7) else (), x.dtype)
    exact = method not in ("add", "multiply")
    if method == "set" and update.ndim:
        # Which of several updates of one place stays is not said.
        update = w.scalar(x.dtype)
    # Factors that meet in one place have no derivative.
    traits = ["no jvp", "no vjp"] if method == "multiply" else []
    text = f"{{0}}.at[{key}].{method}({{2}}{mode})"
    w.add(text, x, index, update, exact=exact, traits=traits)


def gather(w: Writer) -> None:
    """gather itself: windows of any size, dimensions that go in step."""
    x = w.any(min_rank=1, max_rank=3, test=lambda v: v.size > 0)
    batched = w.chance(0.4) and x.ndim > 1 and x.shape[0] > 0
    first = 1 if batched else 0
    mapped = [d for d in range(first, x.ndim) if w.chance(0.7)]
    sizes = [1 if batched and d == 0 else w.below(size) + 1 for d, size in enumerate(x.shape)]
    collapsed = [d for d in range(first, x.ndim) if sizes[d] == 1 and w.chance(0.6)]
    count = 1 + w.below(3)
    shape = (x.shape[0], count, len(mapped)) if batched else (count, len(mapped))
    index = _index(w, shape)
    num_batch = len(shape) - 1
    num_windows = x.ndim - len(collapsed) - first
    offsets = tuple(sorted(w.permutation(num_batch + num_windows)[:num_windows]))
    steps = "(0,), (0,)" if batched else "(), ()"
    numbers = f"({offsets}, {tuple(collapsed)}, {tuple(mapped)}, {steps})"
    mode = w.choose(["'clip'", "'fill'"])
    text = f"lax.gather({{0}}, {{1}}, lax.GatherDimensionNumbers(*{numbers}), {tuple(sizes)}"
    result = w.add(f"{text}, mode={mode})", x, index)
    if x.kind == "B" or w.chance(0.4):
        return
    names = ["scatter_add", "scatter_mul", "scatter_sub"]
    names += ["scatter_min", "scatter_max"] * (x.kind in "SUF")
    name = w.choose(names)
    updates = result if w.chance(0.3) else w.of_type(result.shape, x.dtype)
    mode = w.choose(["'clip'", "'drop'"])
    w.add(
        f"lax.{name}({{0}}, {{1}}, {{2}}, lax.ScatterDimensionNumbers(*{numbers}), mode={mode})",
        x,
        index,
        updates,
        exact=name in ("scatter_min", "scatter_max"),
        traits=["no jvp", "no vjp"] if name == "scatter_mul" else [],
    )


def scatter(w: Writer) -> None:
    """One update for each place, so that the result does not depend on their order."""
    x = w.any(min_rank=1, max_rank=2, test=lambda v: 0 < v.shape[0] <= 8)
    count = w.below(x.shape[0]) + 1
    places = [[i] for i in w.permutation(x.shape[0])[:count]]
    index = w.add(f"fnp.asarray(np.array({places}, np.int32))")
    updates = w.of_type((count, *x.shape[1:]), x.dtype)
    windows = tuple(range(1, x.ndim))
    numbers = f"lax.ScatterDimensionNumbers({windows}, (0,), (0,))"
    options = "unique_indices=True" if w.chance(0.5) else "mode='clip'"
    w.add(f"lax.scatter({{0}}, {{1}}, {{2}}, {numbers}, {options})", x, index, updates)


def subscript(w: Writer) -> None:
    """``x[…]`` with numbers, slices, None and arrays."""
    x = w.any(min_rank=1, max_rank=4, test=lambda v: v.size > 0)
    keys = [w.choose([":", "0", "-1", "::2", "1:", "::-1", "..."]) for _ in range(x.ndim)]
    if keys.count("...") > 1 or not keys:
        raise CannotWriteError
    if w.chance(0.3):
        keys.insert(w.below(len(keys) + 1), "None")
    w.add(f"{{0}}[{', '.join(keys)}]", x)


OPERATIONS = [dynamic_slice, dynamic_update_slice, take, take_along_axis, at_index, at_index]
OPERATIONS += [gather, gather, scatter, subscript, subscript]
