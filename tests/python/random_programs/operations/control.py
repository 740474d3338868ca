"""Loops and branches with random bodies."""

from __future__ import annotations

from random_programs.program import Body
from random_programs.writer import CannotWriteError, Value, Writer


def _operands(w: Writer, least: int = 1) -> list[Value]:
    return [w.any() for _ in range(least + w.below(2))]


def _again(w: Writer, carry: list[Value]) -> list[Value]:
    """For each value of the carry the newest value of its type: its successor."""
    return [next(v for v in reversed(w.own()) if v.type == value.type) for value in carry]


def _step(w: Writer, carry: list[Value]) -> None:
    """Something that changes the carry, whatever else the body does."""
    value = w.choose(carry)
    own = [v for v in w.own() if v.type == value.type]
    if value.kind in "FC":
        w.add("{0} * {0}.dtype.type(0.5) + {1}", w.choose(own), w.choose(own))
    elif value.kind in "SU":
        w.add("{0} + {1}", w.choose(own), w.choose(own))


def _loop_body(w: Writer, carry: list[Value], slices: list[Value]) -> tuple[Body, list[Value]]:
    """A body for scan: carry and slice to carry and results."""

    def outputs() -> list[Value]:
        _step(w, carry)
        return [*_again(w, carry), *(w.outputs() if w.chance(0.7) else [])]

    sizes = (len(carry), len(slices))
    return w.body(
        [*carry, *slices],
        sizes,
        loops=True,
        outputs=outputs,
        gives=lambda results: (len(carry), len(results) - len(carry)),
    )


def scan(w: Writer) -> None:
    carry = _operands(w, w.below(2))
    length = w.below(4) if w.chance(0.9) else 5
    xs = [w.of_type((length, *w.shape(0, 2)), w.any().dtype) for _ in range(w.below(3))]
    if not carry and not xs:
        raise CannotWriteError
    slices = []
    for x in xs:
        sample = x.array[0] if length else w.fresh(x.shape[1:], x.dtype).array
        slices.append(Value("", sample, x.is_exact))
    if not carry:
        carry = [w.any()]
    body, results = _loop_body(w, carry, slices)
    places = [f"{{{i}}}" for i in range(len(carry) + len(xs))]
    given = "".join(f"{p}, " for p in places[: len(carry)])
    scanned = "".join(f"{p}, " for p in places[len(carry) :])
    text = (
        f"lax.scan({{f0}}, ({given}), ({scanned}), length={length}, reverse={w.chance(0.4)}, "
        f"unroll={w.choose([1, 1, 1, 2, True])})"
    )
    groups = (len(carry), len(results) - len(carry))
    exact = all(v.is_exact for v in results)
    w.add_all(text, *carry, *xs, groups=groups, bodies=(body,), exact=exact)


def while_loop(w: Writer) -> None:
    """Counts up to a number that depends on a value, so that lanes of a batch differ."""
    count = w.any("SU", max_rank=0, dtypes=("int32", "int64", "uint8"))
    carry = _operands(w)
    body, results = w.body(
        carry,
        (len(carry),),
        loops=True,
        outputs=lambda: (_step(w, carry), _again(w, carry))[1],
        gives=lambda results: (len(results),),
    )
    places = ", ".join(f"{{{i + 1}}}" for i in range(len(carry)))
    step = "lambda c: (c[0] + 1, *{f0}(c[1])[0])" if len(carry) == 0 else ""
    step = step or "lambda c: (c[0] + 1, {f0}(c[1])[0])"
    text = (
        f"lax.while_loop(lambda c: c[0] < abs({{0}}) % 4, {step}, "
        f"(fnp.zeros((), {{0}}.dtype), ({places},)))"
    )
    exact = all(v.is_exact for v in results)
    w.add_all(
        text,
        count,
        *carry,
        groups=(None, len(carry)),
        bodies=(body,),
        exact=exact,
        traits=["no vjp"],
    )


def fori_loop(w: Writer) -> None:
    carry = _operands(w)
    index = Value("", w.any("S", max_rank=0, dtypes=("int32",)).array, True)
    body, results = w.body(
        [index, *carry],
        (None, len(carry)),
        loops=True,
        outputs=lambda: (_step(w, carry), _again(w, carry))[1],
    )
    places = "".join(f"{{{i}}}, " for i in range(len(carry)))
    exact = all(v.is_exact for v in results)
    groups = (None,) * len(carry)
    if w.chance(0.6):
        # Python's integers would be 64-bit.
        bounds = f"np.int32({w.below(2)}), np.int32({w.below(4)})"
        text = f"lax.fori_loop({bounds}, {{f0}}, ({places}))"
        w.add_all(text, *carry, groups=groups, bodies=(body,), exact=exact)
        return
    bound = w.any("S", max_rank=0, dtypes=("int32",))
    text = f"lax.fori_loop(0, {{{len(carry)}}} % 4, {{f0}}, ({places}))"
    traits = ["no vjp"]
    w.add_all(text, *carry, bound, groups=groups, bodies=(body,), exact=exact, traits=traits)


def _branches(w: Writer, operands: list[Value], count: int) -> tuple[list[Body], list[Value]]:
    first, results = w.body(operands)
    bodies, every = [first], list(results)

    def outputs() -> list[Value]:
        made = []
        for value in results:
            own = [v for v in w.own() if v.type == value.type]
            made.append(w.choose(own) if own else w.of_type(*value.type))
        return made

    for _ in range(count - 1):
        body, others = w.body(operands, outputs=outputs)
        bodies.append(body)
        every += others
    order = w.permutation(count)
    return [bodies[i] for i in order], every


def cond(w: Writer) -> None:
    operands = _operands(w)
    predicate = w.of_type((), w.choose(["bool", "bool", "int32"]))
    bodies, results = _branches(w, operands, 2)
    _emit_branches(w, "cond", "{f0}, {f1}", predicate, operands, bodies, results)


def switch(w: Writer) -> None:
    operands = _operands(w)
    index = w.of_type((), w.choose(["int32", "int64", "uint8"]))
    bodies, results = _branches(w, operands, 1 + w.below(3))
    names = ", ".join(f"{{f{i}}}" for i in range(len(bodies)))
    _emit_branches(w, "switch", f"[{names}]", index, operands, bodies, results)


def _emit_branches(
    w: Writer,
    name: str,
    functions: str,
    index: Value,
    operands: list[Value],
    bodies: list[Body],
    results: list[Value],
) -> None:
    places = ", ".join(f"{{{i + 1}}}" for i in range(len(operands)))
    w.add_all(
        f"lax.{name}({{0}}, {functions}, {places})",
        index,
        *operands,
        groups=bodies[0].gives,
        bodies=tuple(bodies),
        exact=all(v.is_exact for v in results),
        is_call=True,
    )


def mapping(w: Writer) -> None:
    x = w.any(min_rank=1, test=lambda v: v.shape[0] > 0)
    sample = Value("", x.array[0], x.is_exact)
    body, results = w.body([sample])
    batch = f", batch_size={1 + w.below(3)}" if w.chance(0.3) else ""
    exact = all(v.is_exact for v in results) and not batch
    w.add_all(f"lax.map({{f0}}, {{0}}{batch})", x, groups=body.gives, bodies=(body,), exact=exact)


def associative_scan(w: Writer) -> None:
    x = w.any("SUF", min_rank=1, test=lambda v: v.shape[0] > 0)
    function = w.choose(["lax.add", "lax.mul", "lax.max", "lax.min"])
    exact = function in ("lax.max", "lax.min") or not x.is_inexact
    options = f"axis={w.below(x.ndim)}, reverse={w.chance(0.5)}"
    w.add(f"lax.associative_scan({function}, {{0}}, {options})", x, exact=exact)


OPERATIONS = [scan, scan, while_loop, fori_loop, cond, switch, mapping, associative_scan]
