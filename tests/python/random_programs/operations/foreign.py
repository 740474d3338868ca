"""Foreign calls and callbacks: aliases, layouts, every vmap_method."""

from __future__ import annotations

from random_programs.writer import Writer

METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"]
UNDIFFERENTIATED = ("no jvp", "no vjp")
CALLBACK = (*UNDIFFERENTIATED, "no text")


def weigh(w: Writer) -> None:
    x = w.any(dtypes=("float64",), min_rank=1, max_rank=3, test=lambda v: v.shape[-1] > 0)
    y = w.of_type(x.shape, "float64")
    w.add_all(
        f"rules.weigh({{0}}, {{1}}, '{w.choose(METHODS)}')",
        x,
        y,
        groups=(None, None),
        exact=False,
        traits=UNDIFFERENTIATED,
    )


def grow(w: Writer) -> None:
    x = w.any(dtypes=("float64",), max_rank=3)
    w.add(f"rules.grow({{0}}, '{w.choose(METHODS)}')", x)


def increment(w: Writer) -> None:
    x = w.any(dtypes=("float64",))
    w.add(f"rules.increment({{0}}, '{w.choose(METHODS)}')", x, traits=UNDIFFERENTIATED)


def add_to(w: Writer) -> None:
    x = w.any(dtypes=("float64",))
    y = w.of_type(x.shape, "float64")
    method = w.choose(["sequential", "sequential_unrolled", "broadcast_all"])
    w.add(f"rules.add_to({{0}}, {{1}}, '{method}')", x, y, traits=UNDIFFERENTIATED)


def reorder(w: Writer) -> None:
    x = w.any(dtypes=("float64",), max_rank=4)
    orders = f"{w.permutation(x.ndim)}, {w.permutation(x.ndim)}"
    method = w.choose(["sequential", "sequential_unrolled", "broadcast_all"])
    w.add(f"rules.reorder({{0}}, '{method}', {orders})", x, traits=UNDIFFERENTIATED)


def callback(w: Writer) -> None:
    x = w.any("FC", max_rank=4)
    kind = w.choose(["pure", "io", "buffer"])
    w.add(f"rules.halve({{0}}, '{kind}', '{w.choose(METHODS)}')", x, traits=CALLBACK)


def debugging(w: Writer) -> None:
    w.add("rules.watched({0})", w.any(), traits=["no text"])


OPERATIONS = [weigh, grow, increment, add_to, reorder, callback, debugging]
