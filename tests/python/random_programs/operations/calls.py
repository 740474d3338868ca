"""Functions within functions: jit, checkpoint, custom rules, and transformations of inner ones."""

from __future__ import annotations

from random_programs.program import Body, body_traits
from random_programs.writer import CannotWriteError, Value, Writer


def _places(count: int) -> str:
    return ", ".join(f"{{{i}}}" for i in range(count))


def _operands(w: Writer, kinds: str = "BSUFC") -> list[Value]:
    return [w.any(kinds) for _ in range(1 + w.below(2))]


def _call(w: Writer, text: str, closed: bool = False, traits: tuple[str, ...] = ()) -> None:
    operands = _operands(w)
    body, results = w.body(operands, closed=closed)
    w.add_all(
        f"{text}({_places(len(operands))})",
        *operands,
        groups=body.gives,
        bodies=(body,),
        exact=all(v.is_exact for v in results),
        traits=traits,
        is_call=True,
    )


def jit(w: Writer) -> None:
    _call(w, "fc.jit({f0})")


def checkpoint(w: Writer) -> None:
    _call(w, f"fc.checkpoint({{f0}}, prevent_cse={w.chance(0.5)})")


def named_call(w: Writer) -> None:
    _call(w, "fc.named_call({f0}, name='part')")


def custom_jvp(w: Writer) -> None:
    _call(w, "rules.with_own_jvp({f0})", closed=True)


def custom_vjp(w: Writer) -> None:
    _call(w, "rules.with_own_vjp({f0})", closed=True, traits=("no jvp",))


def custom_vmap(w: Writer) -> None:
    _call(w, "rules.with_own_vmap({f0})", closed=True)


def custom_partitioning(w: Writer) -> None:
    _call(w, "rules.with_own_partition({f0})")


# ---- transformations of inner functions ----


def vmap(w: Writer) -> None:
    size = w.choose([n for n in w.sizes if n] or [2])
    axes, operands, samples = [], [], []
    for i in range(1 + w.below(2)):
        shape = list(w.shape(0, 3))
        axis = w.below(len(shape) + 1) if i == 0 or w.chance(0.6) else None
        if axis is not None:
            shape.insert(axis, size)
        operand = w.of_type(tuple(shape), w.any().dtype)
        sample = operand.array
        if axis is not None:
            sample = sample[(slice(None),) * axis + (0,)]
            axis = axis if w.chance(0.8) else axis - len(shape)
        axes.append(axis)
        operands.append(operand)
        samples.append(Value("", sample, operand.is_exact))
    body, results = w.body(samples)
    out_axes = tuple(w.below(v.ndim + 1) - (v.ndim + 1) * w.below(2) for v in results)
    text = f"fc.vmap({{f0}}, in_axes={tuple(axes)}, out_axes={out_axes})({_places(len(operands))})"
    exact = all(v.is_exact for v in results)
    w.add_all(text, *operands, groups=body.gives, bodies=(body,), exact=exact)


def _inexact_body(w: Writer) -> tuple[list[Value], Body, list[Value]]:
    operands = _operands(w, "F")

    def outputs() -> list[Value]:
        return [v for v in w.outputs() if v.is_inexact] or [w.own()[0]]

    body, results = w.body(operands, outputs=outputs)
    return operands, body, results


def jvp(w: Writer) -> None:
    operands, body, results = _inexact_body(w)
    if "no jvp" in body_traits(body):
        raise CannotWriteError
    tangents = [w.of_type(*v.type) for v in operands]
    count = len(operands)
    first = ", ".join(f"{{{i}}}" for i in range(count))
    second = ", ".join(f"{{{i + count}}}" for i in range(count))
    form = w.choose(["fc.jvp({f0}, (%s,), (%s,))", "rules.linearized({f0}, (%s,), (%s,))"])
    text = form % (first, second)
    groups = (len(results), len(results))
    w.add_all(text, *operands, *tangents, groups=groups, bodies=(body,), exact=False)


def vjp(w: Writer) -> None:
    operands, body, results = _inexact_body(w)
    if "no vjp" in body_traits(body):
        raise CannotWriteError
    cotangents = [w.of_type(*v.type) for v in results]
    count = len(operands)
    given = ", ".join(f"{{{i + count}}}" for i in range(len(results)))
    text = f"fc.vjp({{f0}}, {_places(count)})[1](({given},))"
    groups = (None,) * count
    w.add_all(text, *operands, *cotangents, groups=groups, bodies=(body,), exact=False)


def grad(w: Writer) -> None:
    x = w.any("F", dtypes=("float32", "float64"))

    def outputs() -> list[Value]:
        value = next(v for v in reversed(w.own()) if v.dtype in ("float32", "float64"))
        return [w.add(f"lax.reduce_sum({{0}}, {tuple(range(value.ndim))})", value, exact=False)]

    body, _ = w.body([x], outputs=outputs, gives=lambda _: None)
    if "no vjp" in body_traits(body):
        raise CannotWriteError
    name = w.choose(["grad", "jacfwd", "jacrev"])
    if name == "jacfwd" and "no jvp" in body_traits(body):
        raise CannotWriteError
    w.add(f"fc.{name}({{f0}})({{0}})", x, bodies=(body,), exact=False)


COLLECTIVES = {
    "psum": "lambda x: lax.psum(x * x, 'i') - x",
    "pmax": "lambda x: lax.pmax(x, 'i')",
    "pmin": "lambda x: lax.pmin(x, 'i') * x",
    "pmean": "lambda x: lax.pmean(x, 'i')",
    "all_gather": "lambda x: lax.all_gather(x, 'i', axis=0, tiled=False) * x",
    "ppermute": "lambda x: lax.ppermute(x, 'i', [(0, 1), (1, 0)])",
    "axis_index": "lambda x: x * lax.axis_index('i').astype(x.dtype)",
    "all_to_all": "lambda x: lax.all_to_all(fnp.stack([x, -x]), 'i', 0, 0, tiled=False)",
}


def collective(w: Writer) -> None:
    name = w.choose(list(COLLECTIVES))
    x = w.of_type((2, *w.shape(0, 2)), w.any("F").dtype)
    inner = w.choose(["{}", "fc.jit({})", "fc.checkpoint({})"]).format(f"{COLLECTIVES[name]}")
    text = f"fc.vmap({inner}, axis_name='i')({{0}})"
    w.add(text, x, exact=name in ("pmax", "pmin", "ppermute", "axis_index", "all_gather"))


def linear_function(w: Writer) -> None:
    x = w.any("F", dtypes=("float32", "float64", "complex64", "complex128"))
    name = w.choose(["scaled", "solved"])
    w.add(f"rules.{name}({{0}}, {{1}})", w.of_type((), x.dtype), x, exact=False)


def shard_map(w: Writer) -> None:
    function = w.choose(["x * x", "lax.pmean(x, 'd') * x", "lax.psum(x * x, 'd') - x"])
    w.add(f"rules.over_one_device(lambda x: {function})({{0}})", w.any("F"), exact=False)


OPERATIONS = [jit, jit, checkpoint, named_call, custom_jvp, custom_jvp, custom_vjp, custom_vmap]
OPERATIONS += [vmap, vmap, jvp, vjp, grad, collective, collective, linear_function, shard_map]
OPERATIONS += [custom_partitioning]
