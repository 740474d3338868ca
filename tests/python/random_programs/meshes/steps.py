"""What programs over a mesh are made of: array operations, collectives, control flow, derivatives
and shard_map."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from random_programs.meshes.program import Spec
from random_programs.meshes.writer import Value, Writer
from random_programs.writer import CannotWriteError

# ---- array operations ----


def unary(w: Writer) -> Value:
    text = ["fnp.tanh({0})", "fnp.sin({0})", "{0} * 0.5 + 0.25", "-{0}", "fnp.exp(-{0} * {0})"]
    x = w.floating()
    return w.add(w.choose([*text, "fnp.abs({0})", "{0}[...]", "lax.square({0})"]), x.shape, x)


def binary(w: Writer) -> Value:
    x = w.floating()
    y = w.floating(test=lambda v: v.shape == x.shape or v.ndim == 0)
    names = [
        "{0} + {1}",
        "{0} - {1}",
        "{0} * {1}",
        "fnp.maximum({0}, {1})",
        "fnp.arctan2({0}, {1})",
    ]
    return w.add(w.choose([*names, "fnp.where({0} > {1}, {0}, 0.3 * {1})"]), x.shape, x, y)


def outer(w: Writer) -> Value:
    x, y = w.floating(1), w.floating(1)
    return w.add(
        "{0}[..., None] * {1}.reshape(-1)[:4]", (*x.shape, min(4, math.prod(y.shape))), x, y
    )


def reduction(w: Writer) -> Value:
    x = w.floating(1)
    axis = w.below(x.ndim)
    shape = (*x.shape[:axis], *x.shape[axis + 1 :])
    name = w.choose(["sum", "sum", "mean", "max", "prod"])
    return w.add(f"fnp.{name}({{0}}, axis={axis})", shape, x)


def along(w: Writer) -> Value:
    """An operation along one dimension that keeps the shape."""
    x = w.floating(1)
    axis = w.below(x.ndim)
    text = [f"fnp.cumsum({{0}}, axis={axis})", f"fnp.sort({{0}}, axis={axis})"]
    text += [f"fnp.flip({{0}}, {axis})", f"fnp.roll({{0}}, 1, axis={axis})"]
    return w.add(w.choose(text), x.shape, x)


def reshape(w: Writer) -> Value:
    x = w.floating()
    size = math.prod(x.shape)
    shapes = [(size,), (1, *x.shape), (*x.shape, 1)]
    shapes += [(n, size // n) for n in (2, 4) if size % n == 0]
    shape = w.choose(shapes)
    return w.add(f"{{0}}.reshape({shape})", shape, x)


def transpose(w: Writer) -> Value:
    x = w.floating(2)
    order = tuple(int(i) for i in w.rng.permutation(x.ndim))
    return w.add(f"fnp.transpose({{0}}, {order})", [x.shape[i] for i in order], x)


def cut(w: Writer) -> Value:
    x = w.floating(1, lambda v: v.shape[0] > 1)
    n = 1 + w.below(x.shape[0])
    return w.add(f"{{0}}[:{n}]", (n, *x.shape[1:]), x)


def join(w: Writer) -> Value:
    x = w.floating(1)
    y = w.floating(1, lambda v: v.shape[1:] == x.shape[1:])
    return w.add("fnp.concatenate([{0}, {1}])", (x.shape[0] + y.shape[0], *x.shape[1:]), x, y)


def spread(w: Writer) -> Value:
    x = w.floating()
    n = w.choose([2, 4])
    return w.add(f"fnp.broadcast_to({{0}}, {(n, *x.shape)})", (n, *x.shape), x)


def product(w: Writer) -> Value:
    x = w.floating(1)
    y = w.floating(1, lambda v: v.shape[0] == x.shape[-1])
    text = "fnp.tensordot({0}, {1}, 1) * 0.3"
    return w.add(text, (*x.shape[:-1], *y.shape[1:]), x, y)


def update(w: Writer) -> Value:
    x = w.floating(1)
    y = w.floating(test=lambda v: v.shape == x.shape[1:])
    return w.add(
        f"{{0}}.at[{w.below(x.shape[0])}].{w.choose(['set', 'add'])}({{1}})", x.shape, x, y
    )


def constant(w: Writer) -> Value:
    return w.constant(w.shape(0, 2))


ARRAYS = [unary, unary, binary, binary, binary, reduction, along, reshape, transpose, cut, join]
ARRAYS += [spread, product, product, update, outer, constant]

# ---- collectives ----


def _axes(w: Writer) -> tuple[str, ...]:
    if w.diverges:
        raise CannotWriteError
    return w.some_axes()


def _text(axes: tuple[str, ...]) -> str:
    return repr(axes[0] if len(axes) == 1 else axes)


def _mixes(w: Writer, x: Value, axes: tuple[str, ...]) -> bool:
    """Whether x varies along some of the axes only: JAX does not sum it then."""
    return w.checks and 0 < len(x.varying & set(axes)) < len(axes)


def _count(w: Writer, axes: tuple[str, ...]) -> int:
    return math.prod(w.axes[name] for name in axes)


def reduced(w: Writer) -> Value:
    """psum and its kin; the result does not vary over the axes."""
    axes = _axes(w)
    names = ["psum", "psum", "pmean", *(["pmax", "pmin"] if not w.differentiates else [])]
    x = w.floating(test=lambda v: not _mixes(w, v, axes))
    text = f"lax.{w.choose(names)}({{0}}, {_text(axes)})"
    return w.add(text, x.shape, x, varying=x.varying - set(axes))


def gathered(w: Writer) -> Value:
    axes, x = _axes(w), w.floating()
    n = _count(w, axes)
    varying = x.varying | set(axes)
    if x.ndim and w.chance(0.5):
        axis = w.below(x.ndim)
        shape = [size * (n if i == axis else 1) for i, size in enumerate(x.shape)]
        text = f"lax.all_gather({{0}}, {_text(axes)}, axis={axis}, tiled=True)"
        return w.add(text, shape, x, varying=varying)
    axis = w.below(x.ndim + 1)
    shape = [*x.shape[:axis], n, *x.shape[axis:]]
    return w.add(f"lax.all_gather({{0}}, {_text(axes)}, axis={axis})", shape, x, varying=varying)


def scattered(w: Writer) -> Value:
    axes = _axes(w)
    n = _count(w, axes)
    x = w.floating(1, lambda v: not _mixes(w, v, axes))
    tiled = w.chance(0.6)
    found = [i for i, size in enumerate(x.shape) if (size % n == 0 if tiled else size == n)]
    axis = w.choose(found)
    shape = list(x.shape)
    shape[axis : axis + 1] = [shape[axis] // n] if tiled else []
    text = f"lax.psum_scatter({{0}}, {_text(axes)}, scatter_dimension={axis}, tiled={tiled})"
    return w.add(text, shape, x, varying=x.varying | set(axes))


def permuted(w: Writer) -> Value:
    # JAX numbers the devices in the order of the mesh here, and in that of the names elsewhere.
    axes = tuple(sorted(_axes(w), key=list(w.mesh).index))
    x = w.floating()
    n = _count(w, axes)
    targets = [int(i) for i in w.rng.permutation(n)]
    pairs = [(i, k) for i, k in enumerate(targets) if w.chance(0.8)]
    if not pairs:
        raise CannotWriteError
    text = f"lax.ppermute({{0}}, {_text(axes)}, {pairs})"
    return w.add(text, x.shape, x, varying=x.varying | set(axes))


def exchanged(w: Writer) -> Value:
    axes = _axes(w)
    n = _count(w, axes)
    x = w.floating(1)
    tiled = w.chance(0.6)
    splits = [i for i, size in enumerate(x.shape) if (size % n == 0 if tiled else size == n)]
    split = w.choose(splits)
    concat = w.below(x.ndim)
    shape = list(x.shape)
    if tiled:
        shape[split] //= n
        shape[concat] *= n
    else:
        del shape[split]
        shape.insert(concat, n)
    text = f"lax.all_to_all({{0}}, {_text(axes)}, {split}, {concat}, tiled={tiled})"
    return w.add(text, shape, x, varying=x.varying | set(axes))


def index(w: Writer) -> Value:
    """Something that depends on the device's place."""
    axes = w.some_axes()
    varying = frozenset(axes)
    place = f"lax.axis_index({_text(axes)})"
    if w.chance(0.5):
        return w.add(f"{place}.astype({w.float!r}) * 0.3", (), varying=varying)
    x = w.floating(1)
    text = f"lax.dynamic_index_in_dim({{0}}, {place} % {x.shape[0]}, keepdims=False)"
    return w.add(text, x.shape[1:], x, varying=varying | x.varying)


def marked(w: Writer) -> Value:
    x = w.floating()
    return w.add(w.vary(x), x.shape, x, varying=w.everything)


COLLECTIVES = [reduced, reduced, gathered, scattered, permuted, exchanged, index, marked]

# ---- functions inside ----


def _some(w: Writer, most: int = 3) -> list[Value]:
    return [w.floating() for _ in range(1 + w.below(most))]


def _steps(w: Writer, most: int = 3) -> None:
    w.write(STEPS_INSIDE if w.axes else STEPS_OUTSIDE, 1 + w.below(most))


def _outputs(w: Writer, most: int = 2) -> list[Value]:
    own = [v for v in w.blocks[-1].values if v.is_float]
    if not own:
        raise CannotWriteError
    return [own[-1], *(w.choose(own) for _ in range(w.below(most)))]


def _tuple(texts: list[str]) -> str:
    return f"({', '.join(texts)},)"


def _like(w: Writer, wanted: Value) -> str:
    """Text of a value of this type, made of the newest one, varying over all axes."""
    new = w.blocks[-1].values[-1]
    if new.type == wanted.type:
        return w.vary(new)
    text = f"0.5 * {{0}} + 0.1 * fnp.sum({{1}}).astype({wanted.dtype!r})"
    return w.vary(w.add(text, wanted.shape, wanted, new))


def _everywhere(w: Writer, values: list[Value]) -> list[Value]:
    return [dataclasses.replace(v, varying=w.everything) for v in values]


def scan(w: Writer) -> Any:
    init = w.floating()
    xs = w.floating(1)
    carry = dataclasses.replace(init, varying=w.everything)
    element = dataclasses.replace(xs, shape=xs.shape[1:])
    given: list[Value] = []

    def write(own: list[Value]) -> str:
        _steps(w)
        new = _like(w, own[0])
        given[:] = _everywhere(w, _outputs(w))
        return f"({new}, {_tuple([w.vary(v) for v in given])})"

    body = w.function([carry, element], write)
    stacked = [dataclasses.replace(v, shape=(xs.shape[0], *v.shape)) for v in given]
    made = [dataclasses.replace(v, name=w.name()) for v in [carry, *stacked]]
    names = [v.name for v in made]
    options = f"reverse={w.chance(0.3)}, unroll={w.choose([1, 1, 2])}"
    w.line(
        f"{names[0]}, {_tuple(names[1:])} = lax.scan({body}, {w.vary(init)}, {xs.name}, {options})"
    )
    w.blocks[-1].values += made


def loop(w: Writer) -> None:
    init = w.floating()
    carry = dataclasses.replace(init, varying=w.everything)
    count = 1 + w.below(3)

    def write(own: list[Value]) -> str:
        _steps(w)
        return _like(w, own[0])

    body = w.function([carry], write)
    start = w.vary(init)
    if w.differentiates or w.chance(0.5):
        text = f"lax.fori_loop(0, {count}, lambda i, c: {body}(c) + 0.1 * i, {start})"
        w.add(text.replace("{", "{{"), carry.shape, carry)
        return
    functions = f"lambda c: c[0] < {count}, lambda c: (c[0] + 1, {body}(c[1]))"
    w.add(f"lax.while_loop({functions}, (0, {start}))[1]", carry.shape, carry)


def cond(w: Writer) -> None:
    predicate = w.add("fnp.sum({0}) > 0.1", (), w.floating(), dtype="bool")
    diverges = bool(predicate.varying)
    operands = _some(w)
    if diverges:  # JAX would sum cotangents of others in the branches
        operands = [w.add(w.vary(v), v.shape, v, varying=w.everything) for v in operands]
    results: list[Value] = []

    def first(own: list[Value]) -> str:
        _steps(w)
        results[:] = _everywhere(w, _outputs(w))
        return _tuple([w.vary(v) for v in results])

    def second(own: list[Value]) -> str:
        _steps(w)
        floats = [v for v in own if v.is_float]
        texts = []
        for wanted in results:
            x = w.choose(floats)
            text = f"fnp.full({wanted.shape}, 0.2) * fnp.mean({{0}})"
            text = f"({text}).astype({wanted.dtype!r})"
            texts.append(w.vary(w.add(text, wanted.shape, x, dtype=wanted.dtype)))
        return _tuple(texts)

    with w.where(diverges=w.diverges or diverges):
        functions = [w.function(operands, first, closed=diverges)]
        functions.append(w.function(operands, second, closed=diverges))
    names = ", ".join(v.name for v in operands)
    if w.chance(0.5):
        w.unpack(f"lax.cond({predicate.name}, {', '.join(functions)}, {names})", results)
    else:
        number = f"{predicate.name}.astype('int32')"
        w.unpack(f"lax.switch({number}, [{', '.join(functions)}], {names})", results)


def call(w: Writer) -> None:
    """A jitted function, or a checkpoint."""
    operands = _some(w)
    results: list[Value] = []

    def write(own: list[Value]) -> str:
        _steps(w)
        results[:] = _outputs(w)
        return _tuple([v.name for v in results])

    name = w.function(operands, write)
    wrapper = w.choose(["fc.jit", "fc.jit", "fc.checkpoint"])
    w.unpack(f"{wrapper}({name})({', '.join(v.name for v in operands)})", results)


def _scalar(w: Writer) -> Callable[[list[Value]], str]:
    def write(own: list[Value]) -> str:
        _steps(w)
        parts = [v for v in [*own[:1], w.blocks[-1].values[-1]] if v.is_float]
        return " + ".join(f"fnp.sum(fnp.sin({v.name})).astype({w.float!r})" for v in parts)

    return write


def _slopes(w: Writer, values: list[Value]) -> list[Value]:
    """Cotangents vary as the values do; without checks, they are those of each device."""
    return values if w.checks else _everywhere(w, values)


def grad(w: Writer) -> None:
    operands = _some(w, 2)
    with w.where(differentiates=True):
        body = w.function(operands, _scalar(w))
    count = 1 + w.below(len(operands))
    names = ", ".join(v.name for v in operands)
    w.unpack(f"fc.grad({body}, {tuple(range(count))})({names})", _slopes(w, operands[:count]))


def jvp(w: Writer) -> None:
    operands = _some(w, 2)
    results: list[Value] = []

    def write(own: list[Value]) -> str:
        _steps(w)
        results[:] = _outputs(w, 1)
        return results[0].name

    # JAX has no derivatives of pmax.
    with w.where(differentiates=True):
        body = w.function(operands, write)
    points = _tuple([v.name for v in operands])
    tangents = _tuple([f"fnp.cos({v.name})" for v in operands])
    w.unpack(f"fc.jvp({body}, {points}, {tangents})", results * 2)


def vjp(w: Writer) -> None:
    operands = _some(w, 2)
    results: list[Value] = []

    def write(own: list[Value]) -> str:
        _steps(w)
        results[:] = _outputs(w, 1)
        return results[0].name

    with w.where(differentiates=True):
        body = w.function(operands, write)
    names = ", ".join(v.name for v in operands)
    (out,) = w.unpack(f"fc.vjp({body}, {names})[:1]", results)
    w.unpack(f"fc.vjp({body}, {names})[1](fnp.cos({out.name}))", _slopes(w, operands))


def vmap(w: Writer) -> None:
    first = w.floating(1)
    n = first.shape[0]
    others = _some(w, 2)
    operands = [first, *others]
    mapped = [True, *(v.ndim > 0 and v.shape[0] == n and w.chance(0.6) for v in others)]
    results: list[Value] = []

    def write(own: list[Value]) -> str:
        _steps(w)
        results[:] = _outputs(w)
        return _tuple([v.name for v in results])

    inner = [
        dataclasses.replace(v, shape=v.shape[1:]) if is_mapped else v
        for v, is_mapped in zip(operands, mapped, strict=True)
    ]
    body = w.function(inner, write)
    axes = tuple(0 if is_mapped else None for is_mapped in mapped)
    text = f"fc.vmap({body}, in_axes={axes})({', '.join(v.name for v in operands)})"
    stacked = [dataclasses.replace(v, shape=(n, *v.shape)) for v in results]
    if any(math.prod(v.shape) > 400 for v in stacked):
        raise CannotWriteError
    w.unpack(text, stacked)


FUNCTIONS = [scan, scan, loop, cond, call, grad, grad, jvp, vjp, vmap, vmap]

# ---- meshes ----


def random_spec(w: Writer, shape: tuple[int, ...], chance: float = 0.6) -> Spec:
    """A spec that divides the shape."""
    left = [str(name) for name in w.rng.permutation(list(w.mesh))]
    spec: list[tuple[str, ...]] = []
    for size in shape:
        entry: tuple[str, ...] = ()
        while left and w.chance(chance):
            if size % (math.prod(w.mesh[n] for n in entry) * w.mesh[left[-1]]):
                break
            entry = (*entry, left.pop())
        spec.append(entry)
    return tuple(spec)


def spec_text(spec: Spec) -> str:
    entries = [repr(e[0] if len(e) == 1 else e) if e else "None" for e in spec]
    while entries and entries[-1] == "None":
        entries.pop()
    return f"P({', '.join(entries)})"


def constraint(w: Writer) -> None:
    x = w.floating()
    spec = spec_text(random_spec(w, x.shape))
    w.add(f"lax.with_sharding_constraint({{0}}, NamedSharding(mesh, {spec}))", x.shape, x)


def _local(w: Writer, value: Value, spec: Spec) -> Value:
    shape = [
        size // math.prod(w.mesh[name] for name in entry)
        for size, entry in zip(value.shape, spec, strict=True)
    ]
    varying = frozenset(name for entry in spec for name in entry)
    return Value("", tuple(shape), value.dtype, varying)


def _result_spec(w: Writer, value: Value) -> Spec:
    """A spec with at least the axes over which the value varies."""
    spec: list[tuple[str, ...]] = [() for _ in value.shape]
    names = [n for n in w.rng.permutation(list(w.axes)) if n in value.varying or w.chance(0.1)]
    for name in names:
        place = w.below(len(spec))
        spec[place] = (*spec[place], str(name))
    return tuple(spec)


def shard_map(w: Writer) -> None:
    operands = _some(w)
    specs = [random_spec(w, v.shape) for v in operands]
    outs: list[tuple[Value, Spec]] = []

    def write(own: list[Value]) -> str:
        w.write(STEPS_INSIDE, 2 + w.below(6))
        outs.clear()
        for value in {v.name: v for v in [*_outputs(w, 3), *_outputs(w, 3)]}.values():
            # A dimension for the axes along which it varies.
            made = w.add("{0}[None]", (1, *value.shape), value) if not value.ndim else value
            outs.append((made, _result_spec(w, made)))
        return _tuple([v.name for v, _ in outs])

    inner = [_local(w, v, spec) for v, spec in zip(operands, specs, strict=True)]
    with w.where(axes=w.mesh, checks=w.chance(0.75)):
        checks = w.checks
        body = w.function(inner, write, closed=True)
    text = (
        f"fc.shard_map({body}, mesh=mesh, in_specs=({', '.join(map(spec_text, specs))},), "
        f"out_specs=({', '.join(spec_text(spec) for _, spec in outs)},), check_vma={checks})"
    )
    results = []
    for value, spec in outs:
        counts = [math.prod(w.mesh[name] for name in entry) for entry in spec]
        shape = tuple(n * k for n, k in zip(value.shape, counts, strict=True))
        results.append(Value("", shape, value.dtype))
    if any(math.prod(v.shape) > 1000 for v in results):
        raise CannotWriteError
    name = w.name()
    w.line(f"{name} = {text}")
    _apply(w, name, operands, results)


def _apply(w: Writer, name: str, operands: list[Value], results: list[Value]) -> None:
    """A call of the shard_map, transformed or not."""
    arguments = ", ".join(v.name for v in operands)
    way = w.choose(["call", "call", "jit", "vmap", "jvp", "grad"])
    if way == "call":
        w.unpack(f"{name}({arguments})", results)
    elif way == "jit":
        w.unpack(f"fc.jit({name})({arguments})", results)
    elif way == "vmap":
        n = w.choose([1, 3])
        scale = f"np.linspace(0.5, 1, {n})"
        batches = [
            f"({v.name} * {scale}.reshape({(n, *(1,) * v.ndim)})).astype({v.dtype!r})"
            for v in operands
        ]
        made = [dataclasses.replace(v, shape=(n, *v.shape)) for v in results]
        w.unpack(f"fc.vmap({name})({', '.join(batches)})", made)
    elif way == "jvp":
        tangents = _tuple([f"fnp.cos({v.name})" for v in operands])
        primals, outputs = w.name(), w.name()
        points = _tuple([v.name for v in operands])
        w.line(f"{primals}, {outputs} = fc.jvp({name}, {points}, {tangents})")
        w.unpack(primals, results)
        w.unpack(outputs, results)
    else:
        loss = w.name()
        w.line(f"{loss} = lambda *args: sum(fnp.sum(fnp.sin(y)) for y in {name}(*args))")
        w.unpack(f"fc.grad({loss}, {tuple(range(len(operands)))})({arguments})", operands)


STEPS_INSIDE: list[Callable[[Writer], Any]] = [*ARRAYS, *COLLECTIVES, *COLLECTIVES, *FUNCTIONS]
STEPS_OUTSIDE: list[Callable[[Writer], Any]] = [*ARRAYS, *[constraint] * 4, *FUNCTIONS]
