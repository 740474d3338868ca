"""What is compared: functions by name, and the arrays that they get, the same for every peer."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from ml_dtypes import bfloat16
except ImportError:  # then those rows are missing
    bfloat16 = None

ROWS, LARGE, HUGE = (4096, 1024), (1 << 22,), (1 << 24,)
DTYPES = {
    "bf16": bfloat16,
    "f16": np.float16,
    "f64": np.float64,
    "int32": np.int32,
    "complex64": np.complex64,
}


@dataclasses.dataclass(frozen=True)
class Row:
    """One row of the table.

    Attributes:
      function: what the peers call the function.
      make: from a generator of random numbers to the arguments, as numpy arrays.
      family: the part of the table; every word of it and of the name selects the row.
      is_call: what counts is the call, which nobody waits for.
      tolerance: how far results of peers may lie apart, relative to the largest element.
    """

    name: str
    function: str
    make: Callable[[np.random.Generator], Any]
    family: str
    is_call: bool = False
    tolerance: float = 1e-4

    def arguments(self) -> Any:
        return self.make(np.random.default_rng(zlib.crc32(self.name.encode())))


def normal(*shape: int, dtype: Any = np.float32, count: int = 1) -> Callable[..., Any]:
    """Makes arrays of normal numbers, whole ones for integers."""

    def one(random: np.random.Generator) -> np.ndarray:
        if np.issubdtype(dtype, np.integer):
            return random.integers(-9, 10, shape).astype(dtype)
        x = random.standard_normal(shape)
        if np.issubdtype(dtype, np.complexfloating):
            x = x + 1j * random.standard_normal(shape)
        return x.astype(dtype)

    return lambda random: tuple(one(random) for _ in range(count))


def integers(random: np.random.Generator, below: int, size: int) -> np.ndarray:
    return random.integers(0, below, size, np.int32)


def elementwise() -> list[Row]:
    def masked(random: np.random.Generator) -> Any:
        return random.standard_normal(ROWS, np.float32), random.random(ROWS) < 0.5

    chains = {
        "tanh(x) x + 1": ("tanh_chain", 1),
        "x z + x - 2 z": ("sum_chain", 2),
        "RMS norm": ("rms_norm", 1),
        "softmax": ("softmax", 1),
        "layer norm": ("layer_norm", 1),
        "gelu": ("gelu", 1),
        "log-softmax": ("log_softmax", 1),
    }
    found = []
    for name, (function, count) in chains.items():
        for label, shape in (("4", (4,)), ("64", (64,)), ("1,024", (1024,)), ("4M", ROWS)):
            small = label != "4M"
            found.append(
                Row(
                    f"{name}, {label}",
                    function,
                    normal(*shape, count=count),
                    "elementwise small" if small else "elementwise large",
                )
            )
    found.append(Row("exact gelu, 4M", "exact_gelu", normal(*ROWS), "elementwise large"))
    found.append(
        Row("softmax, 4M, half of it masked", "masked_softmax", masked, "elementwise large")
    )
    found.append(
        Row("Laplacian, 2048 by 2048", "laplacian", normal(2048, 2048), "elementwise large")
    )
    found.append(
        Row("sines and cosines stacked, 1M", "sines", normal(1 << 20), "elementwise large")
    )
    million = normal(1 << 20)
    for name, function, make in (
        ("log gamma function, 1M", "log_gamma", million),
        ("log normal distribution, 1M", "log_ndtr", million),
        ("Bessel function I0e, 1M", "bessel_i0e", million),
        ("logit, 1M", "logit", lambda random: (random.random(1 << 20, np.float32),)),
    ):
        found.append(Row(name, function, make, "elementwise large"))
    for name, (function, count) in list(chains.items())[:2]:
        found.append(Row(f"{name}, 16M", function, normal(*HUGE, count=count), "elementwise huge"))
    for label, dtype in DTYPES.items():
        tolerance = {"bf16": 5e-2, "f16": 1e-2}.get(label, 1e-4)
        for name, function, count in (
            ("x z + x - 2 z", "sum_chain", 2),
            ("tanh(x) x + 1", "tanh_chain", 1),
            ("softmax", "softmax", 1),
        ):
            if dtype is None or (label in ("int32", "complex64") and function != "sum_chain"):
                continue
            make = normal(*ROWS, dtype=dtype, count=count)
            row = Row(f"{name}, 4M {label}", function, make, "elementwise dtypes")
            found.append(dataclasses.replace(row, tolerance=tolerance))
    return found


def reductions() -> list[Row]:
    found = []
    for function in ("sum", "mean", "var", "max"):
        for what in ("row", "column"):
            name = f"{function} of each {what}, 4096 by 1024"
            found.append(Row(name, f"{function}_{what}", normal(*ROWS), "reductions"))
    found.append(Row("sum, 16M", "sum_all", normal(*HUGE), "reductions huge"))
    found.append(
        Row("largest of each row, 4096 by 1024", "argmax_row", normal(*ROWS), "reductions")
    )
    found.append(
        Row("largest of each row, 200,000 by 10", "argmax_row", normal(200_000, 10), "reductions")
    )
    for what in ("row", "column"):
        name = f"running sum of each {what}, 4096 by 1024"
        found.append(Row(name, f"cumsum_{what}", normal(*ROWS), "reductions", tolerance=1e-3))
    return found


def moving() -> list[Row]:
    million, rows = 1 << 20, 1 << 16

    def ranked(random: np.random.Generator) -> Any:
        return integers(random, 1000, million), random.standard_normal(million, np.float32)

    def table(size: int, width: int, count: int, is_added: bool = False) -> Callable[..., Any]:
        def make(random: np.random.Generator) -> Any:
            shape = (size, width) if width > 1 else (size,)
            arrays = [random.standard_normal(shape, np.float32), integers(random, size, count)]
            if is_added:
                arrays.append(random.standard_normal((count, *shape[1:]), np.float32))
            return tuple(arrays)

        return make

    def pairs(random: np.random.Generator) -> Any:
        x = random.standard_normal((1024, 1024), np.float32)
        return x, integers(random, 1024, million), integers(random, 1024, million)

    def points(random: np.random.Generator) -> Any:
        ends = np.linspace(-2, 2, 1024, dtype=np.float32)
        return random.standard_normal(million, np.float32), ends, np.sin(ends)

    def segments(random: np.random.Generator) -> Any:
        return random.standard_normal(million, np.float32), integers(random, 1024, million)

    square = normal(2048, 2048)
    add = {"family": "indexing", "tolerance": 1e-3}
    return [
        Row("sort, 1M", "sort", normal(million), "ordering"),
        Row("sort, 1,024 rows of 1,024", "sort", normal(1024, 1024), "ordering"),
        Row("argsort, 1M", "argsort", normal(million), "ordering"),
        Row("sort by two keys, 1M", "sort_two_keys", ranked, "ordering"),
        Row("top 16 of 1M", "top_16", normal(million), "ordering"),
        Row("top 16 of each row, 4096 by 1024", "top_16", normal(*ROWS), "ordering"),
        Row("rows taken, 65,536 of 1,024 by 64", "take", table(1024, 64, rows), "indexing"),
        Row("rows taken, 1M of 65,536 by 8", "take", table(rows, 8, million), "indexing"),
        Row("elements taken, 1M of 1M", "take", table(million, 1, million), "indexing"),
        Row("elements taken, 1M of 1024 by 1024", "take_pairs", pairs, "indexing"),
        Row("interpolation, 1M at 1,024 points", "interp", points, "indexing"),
        Row(
            "rows added, 65,536 to 1,024 by 64",
            "add_at",
            table(1024, 64, rows, True),
            **add,
        ),
        Row(
            "elements added, 1M to 1M",
            "add_at",
            table(million, 1, million, True),
            **add,
        ),
        Row("sums of 1,024 segments of 1M", "segment_sum", segments, **add),
        Row("transpose, 2048 by 2048", "transpose", square, "moving"),
        Row("transpose, 256 of 128 by 128", "transpose", normal(256, 128, 128), "moving"),
        Row("column-major in and out, 2048 by 2048", "transposed_sum", square, "moving"),
        Row("reversed, 4M", "reverse", normal(*LARGE), "moving"),
        Row("padded by 1, 2048 by 2048", "pad", square, "moving"),
        Row("joined, 2 of 2048 by 2048", "join", square, "moving"),
    ]


def products() -> list[Row]:
    found = []
    for size in (8, 64, 256, 1024, 2048):
        make = normal(size, size, count=2)
        found.append(Row(f"matmul, {size}", "matmul", make, "products"))
    for size in (64, 256, 1024):
        make = normal(size, size, count=2, dtype=np.float64)
        found.append(Row(f"matmul, {size} f64", "matmul", make, "products dtypes"))
    pair = normal(1024, 1024, count=2)
    complexes = functools.partial(normal, dtype=np.complex64)
    return [
        *found,
        Row("matmul, 32 of 128", "matmul", normal(32, 128, 128, count=2), "products"),
        Row("matmul, 65,536 of 3", "matmul", normal(1 << 16, 3, 3, count=2), "products"),
        Row("matmul, 1024, A transposed", "matmul_left", pair, "products"),
        Row("matmul, 1024, B transposed", "matmul_right", pair, "products"),
        Row(
            "matmul, 1024 complex64",
            "matmul",
            complexes(1024, 1024, count=2),
            "products dtypes",
            tolerance=1e-3,
        ),
        Row(
            "matmul, 1024 int8 to int32",
            "matmul_bytes",
            lambda random: tuple(random.integers(-128, 128, (2, 1024, 1024), np.int8)),
            "products dtypes",
        ),
        Row(
            "matrix and vector, 1024",
            "matmul",
            lambda random: (*normal(1024, 1024)(random), *normal(1024)(random)),
            "products",
        ),
        Row(
            "convolution 3 by 3, 32 of 32 by 32, 64 features",
            "convolution",
            lambda random: (*normal(32, 64, 32, 32)(random), *normal(64, 64, 3, 3)(random)),
            "products",
            tolerance=1e-3,
        ),
        Row("FFT, 65,536", "fft", complexes(1 << 16), "products", tolerance=1e-3),
        Row("real FFT, 256 of 1,024", "rfft", normal(256, 1024), "products", tolerance=1e-3),
        *(
            Row(
                f"FFT, {size} by {size}",
                "fft_2",
                complexes(size, size),
                "products",
                tolerance=1e-3,
            )
            for size in (1000, 1024)
        ),
    ]


def loops() -> list[Row]:
    def recurrent(gates: int) -> Callable[..., Any]:
        def make(random: np.random.Generator) -> Any:
            weights = random.standard_normal((64, 32 * gates)) * 0.2
            return (
                weights.astype(np.float32),
                np.zeros(32 * gates, np.float32),
                random.standard_normal((1000, 32), np.float32),
            )

        return make

    def filtered(random: np.random.Generator) -> Any:
        transition = np.eye(4) + np.eye(4, k=1) * 0.1
        return transition.astype(np.float32), random.standard_normal((1000, 4), np.float32)

    def particles(random: np.random.Generator) -> Any:
        return tuple(random.standard_normal((2, 1000), np.float32))

    def between(random: np.random.Generator) -> Any:
        return (random.uniform(1, 9, 1000).astype(np.float32),)

    start = (np.float32([1, 1, 1]),)
    scalars = tuple(np.float32(v) for v in (1, 1, 1))
    pair = (np.float32(2), np.float32(0))
    loose = {"family": "loops", "tolerance": 1e-2}
    return [
        Row("LSTM of 32, 1,000 steps", "lstm", recurrent(4), **loose),
        Row("gradient of LSTM of 32, 1,000 steps", "lstm_gradient", recurrent(4), **loose),
        Row("RNN of 32, 1,000 steps", "rnn", recurrent(1), **loose),
        Row("20 operations on 4, 1,000 steps", "twenty", normal(4), **loose),
        Row("20 operations on 1,024, 1,000 steps", "twenty", normal(1024), **loose),
        Row("Lorenz, RK4 of a vector, 1,000 steps", "lorenz", lambda _: start, **loose),
        Row(
            "Lorenz, RK4 of scalars, 1,000 steps",
            "lorenz_scalars",
            lambda _: scalars,
            **loose,
        ),
        Row(
            "Newton's method, 1,000 roots",
            "newton",
            between,
            "loops",
        ),
        Row("Collatz steps of 837,799", "collatz", lambda _: (np.int32(837799),), "loops"),
        Row("van der Pol, 10,000 steps", "van_der_pol", lambda _: pair, **loose),
        Row("Kalman filter of 4, 1,000 steps", "kalman", filtered, **loose),
        Row("leapfrog of 1,000 particles, 1,000 steps", "leapfrog", particles, **loose),
    ]


def training() -> list[Row]:
    def layers(sizes: list[int], batch: int) -> Callable[..., Any]:
        def make(random: np.random.Generator) -> Any:
            weights = [
                (random.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32)
                for m, n in itertools.pairwise(sizes)
            ]
            return weights, random.standard_normal((batch, sizes[0]), np.float32)

        return make

    three = layers([256] * 4, 128)

    def classifier(random: np.random.Generator) -> Any:
        weights, x = layers([64, 64, 10], 128)(random)
        return weights, x, integers(random, 10, 128)

    def attention(random: np.random.Generator) -> Any:
        x = random.standard_normal((128, 256), np.float32)
        return x, *((random.standard_normal((256, 256)) / 16).astype(np.float32) for _ in range(4))

    return [
        Row(
            "gradient of 3 layers of 256, batch 128",
            "mlp_gradient",
            three,
            "training",
        ),
        Row("training step of the digits classifier", "training_step", classifier, "training"),
        Row("attention block, 128 by 256", "attention", attention, "training"),
        Row("gradient of each example, 128", "example_gradients", classifier, "training"),
    ]


def calls() -> list[Row]:
    def nested(_: np.random.Generator) -> Any:
        parts = [np.full(4, i, np.float32) for i in range(4)]
        return {"a": parts[0], "b": (parts[1], parts[2])}, parts[3]

    four = normal(4)
    return [
        Row("call of x + 1", "increment", four, "calls", is_call=True),
        Row("call of x + 1, a numpy array", "increment_numpy", four, "calls", is_call=True),
        Row("call with 4 arrays in dict and tuple", "nested_sum", nested, "calls", is_call=True),
        # Its result is not written.
        Row("call of a foreign function that does nothing", "noop", four, "calls", True, np.inf),
    ]


def all_rows() -> dict[str, Row]:
    """Every row by its name, in the order of the table."""
    families = elementwise, reductions, moving, products, loops, training, calls
    return {row.name: row for family in families for row in family()}
