#!/usr/bin/env python3
r"""Prints src/engine/native/kernels/vector/coefficients.h: the polynomials of the vector functions.

Each is the minimax approximation of a function on an interval, of the least weighted error, by the
second algorithm of Remez (E. Remez, "Sur le calcul effectif des polynomes d'approximation de
Tchebichef", 1934), worked out by mpmath and rounded to the type.

    .venv/bin/python scripts/minimax_coefficients.py \
        > src/engine/native/kernels/vector/coefficients.h

Format the file with clang-format afterwards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Function = Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class Fit:
    """A polynomial: what it stands for, and its degrees for float and double."""

    name: str
    meaning: str
    function: Function
    weight: Function  # of an error of the polynomial
    low: Any
    high: Any
    degrees: tuple[int, int]


def value(coefficients: list[Any], x: Any) -> Any:
    result = mp.mpf(0)
    for c in reversed(coefficients):
        result = result * x + c
    return result


def solve(fit: Fit, nodes: list[Any]) -> list[Any]:
    """The polynomial whose weighted errors at the nodes are equal, with alternating signs."""
    size = len(nodes)
    left, right = mp.matrix(size, size), mp.matrix(size, 1)
    for i, x in enumerate(nodes):
        for j in range(size - 1):
            left[i, j] = x**j
        left[i, size - 1] = (-1) ** i / fit.weight(x)
        right[i] = fit.function(x)
    return list(mp.lu_solve(left, right))[:-1]


def extrema(points: list[Any], errors: list[Any], count: int) -> list[int]:
    """Where the error is extreme between its changes of sign."""
    found: list[int] = []
    for i, error in enumerate(errors):
        if found and (error < 0) == (errors[found[-1]] < 0):
            if abs(error) > abs(errors[found[-1]]):
                found[-1] = i
        else:
            found.append(i)
    while len(found) > count:  # the smaller end goes
        found.pop(0 if abs(errors[found[0]]) < abs(errors[found[-1]]) else -1)
    assert len(found) == count, (len(found), count, len(points))
    return found


def remez(fit: Fit, degree: int, low: Any, high: Any) -> tuple[list[Any], Any]:
    low, high = mp.mpf(low), mp.mpf(high)
    count = degree + 2
    middle, half = (low + high) / 2, (high - low) / 2
    nodes = [middle - half * mp.cos(mp.pi * i / (count - 1)) for i in range(count)]
    dense = 24 * count
    grid = [middle - half * mp.cos(mp.pi * i / dense) for i in range(dense + 1)]
    exact, weights = [fit.function(x) for x in grid], [fit.weight(x) for x in grid]
    best: list[Any] = []
    errors: list[Any] = []
    for _ in range(30):
        best = solve(fit, nodes)
        errors = [(value(best, x) - y) * w for x, y, w in zip(grid, exact, weights, strict=True)]
        found = extrema(grid, errors, count)
        sizes = [abs(errors[i]) for i in found]
        nodes = [grid[i] for i in found]
        if max(sizes) < min(sizes) * mp.mpf("1.02"):
            break
    return best, max(abs(e) for e in errors)


def series_over(function: Function, leading: Function, power: int) -> Function:
    """(f(sqrt z) - leading) / sqrt(z)^power, with enough digits near zero."""

    def quotient(z: Any) -> Any:
        with mp.extraprec(200):
            x = mp.sqrt(z)
            return (function(x) - leading(x)) / x**power

    return quotient


def square(x: Any) -> Any:
    return x * x


LOG2 = mp.log(2)
HALF_LOG2 = LOG2 / 2 * mp.mpf("1.001")
LOG_S = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mp.mpf("1.001")
QUARTER = mp.pi / 4 * mp.mpf("1.001")
EIGHTH = (mp.sqrt(2) - 1) * mp.mpf("1.001")
ERFC_CENTER = {0: mp.mpf(2), 1: mp.mpf("3.75")}
BESSEL_SPLIT = 6


def exp_rest(r: Any) -> Any:
    with mp.extraprec(200):
        return (mp.exp(r) - 1 - r) / r**2 if abs(r) > 1e-30 else mp.mpf("0.5")


def of_half_line(center: Any, function: Function, limit: Any) -> Function:
    """function(x) of t = (x - c) / (x + c); the limit is that for large x."""

    def value_at(t: Any) -> Any:
        if t >= 1:
            return limit
        with mp.extraprec(400):
            return function(center * (1 + t) / (1 - t))

    return value_at


def scaled_erfc(center: Any) -> Function:
    def scaled(x: Any) -> Any:
        # Beyond, e^(x^2) has too many digits; the error of the series is less than its next term.
        if x > 100:
            square = x * x
            series = 1 - 1 / (2 * square) + 3 / (4 * square**2) - 15 / (8 * square**3)
            return (1 + 2 * x) * series / (x * mp.sqrt(mp.pi))
        return (1 + 2 * x) * mp.exp(x * x) * mp.erfc(x)

    return of_half_line(center, scaled, 2 / mp.sqrt(mp.pi))


def bessel_near(order: int) -> Function:
    """(I_n(x) n! / (x / 2)^n - 1) / y of y = (x / 2)^2"""

    def rest(y: Any) -> Any:
        if y < mp.mpf("1e-20"):
            return mp.mpf(1) / (1 + order)
        root = mp.sqrt(y)
        return (mp.besseli(order, 2 * root) / root**order - 1) / y

    return rest


def bessel_weight(order: int) -> Function:
    return lambda y: y / (1 + y * bessel_near(order)(y))


def bessel_far(order: int) -> Function:
    """e^-x I_n(x) sqrt(x) of 1 / x"""

    def scaled(u: Any) -> Any:
        if u < mp.mpf("1e-6"):
            return (1 + (1 - 4 * order**2) * u / 8) / mp.sqrt(2 * mp.pi)
        with mp.extraprec(200):
            return mp.exp(-1 / u) * mp.besseli(order, 1 / u) / mp.sqrt(u)

    return scaled


def mapped(x: Any, center: Any) -> Any:
    return (mp.mpf(x) - center) / (mp.mpf(x) + center)


def erfc_fit(which: int, limit: Any) -> Fit:
    center = ERFC_CENTER[which]
    degrees = (9, 0) if which == 0 else (0, 20)
    return Fit(
        "Erfc",
        f"(1 + 2 x) e^(x^2) erfc(x) of t = (x - c) / (x + c), c = {mp.nstr(center, 4)}",
        scaled_erfc(center),
        lambda t: 1 / scaled_erfc(center)(t),
        mapped("0.46", center),
        mapped(limit, center),
        degrees,
    )


def inverse_erf_center(w: Any) -> Any:
    """erf_inv(x) / x of w = -log(1 - x^2)."""
    with mp.extraprec(100):
        if w < mp.mpf("1e-20"):
            return mp.sqrt(mp.pi) / 2
        x = mp.sqrt(-mp.expm1(-w))
        return mp.erfinv(x) / x


def inverse_erf_tail(s: Any) -> Any:
    """The same of s = sqrt(w)."""
    return inverse_erf_center(s * s)


def inverse_erf_far(s: Any) -> Any:
    """The same for large s, where x is 1 but for the digits of the argument: by Newton's method."""
    with mp.extraprec(600):
        tail = mp.exp(-s * s) / (1 + mp.sqrt(1 - mp.exp(-s * s)))  # 1 - x
        y = s
        for _ in range(60):
            step = (mp.erfc(y) - tail) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
            y = y + step
            if abs(step) < mp.mpf(10) ** -50:
                break
        return y


def erf_exponent(a: Any) -> Any:
    """-log(1 - erf(a)) / a"""
    with mp.extraprec(100):
        return -mp.log(mp.erfc(a)) / a


def squares(high: Any) -> tuple[Any, Any]:
    return square(high) / 400, square(high)


FITS = [
    Fit(
        "Exp", "(e^r - 1 - r) / r^2", exp_rest, lambda r: 1 + 0 * r, -HALF_LOG2, HALF_LOG2, (4, 10)
    ),
    Fit(
        "Log",
        "(2 atanh(s) - 2 s) / s^3 of s^2",
        series_over(lambda s: 2 * mp.atanh(s), lambda s: 2 * s, 3),
        lambda z: z,
        *squares(LOG_S),
        (2, 6),
    ),
    Fit(
        "Sin",
        "(sin r - r) / r^3 of r^2",
        series_over(mp.sin, lambda r: r, 3),
        lambda z: z,
        *squares(QUARTER),
        (2, 5),
    ),
    Fit(
        "Cos",
        "(cos r - 1 + r^2 / 2) / r^4 of r^2",
        series_over(mp.cos, lambda r: 1 - r * r / 2, 4),
        square,
        *squares(QUARTER),
        (2, 5),
    ),
    Fit(
        "Sinh",
        "(sinh r - r) / r^3 of r^2",
        series_over(mp.sinh, lambda r: r, 3),
        lambda z: z,
        *squares(HALF_LOG2),
        (2, 4),
    ),
    Fit(
        "Cosh",
        "(cosh r - 1 - r^2 / 2) / r^4 of r^2",
        series_over(mp.cosh, lambda r: 1 + r * r / 2, 4),
        square,
        *squares(HALF_LOG2),
        (1, 3),
    ),
    Fit(
        "Asin",
        "(asin x - x) / x^3 of x^2",
        series_over(mp.asin, lambda x: x, 3),
        lambda z: z,
        *squares(mp.mpf("0.5005")),
        (4, 11),
    ),
    Fit(
        "Atan",
        "(atan t - t) / t^3 of t^2",
        series_over(mp.atan, lambda t: t, 3),
        lambda z: z,
        *squares(EIGHTH),
        (4, 10),
    ),
    Fit(
        "Erf",
        "erf(x) / x - 1 of x^2",
        series_over(mp.erf, lambda x: x, 1),
        lambda z: 1 + 0 * z,
        mp.mpf("1e-8"),
        square(mp.mpf("0.48")),
        (4, 8),
    ),
    erfc_fit(0, "10.3"),
    erfc_fit(1, "27.5"),
    Fit(
        "Erfcx",
        "(1 + 2 x) e^(x^2) erfc(x) of t = (x - c) / (x + c), for all x >= 0.46",
        scaled_erfc(ERFC_CENTER[0]),
        lambda t: 1 / scaled_erfc(ERFC_CENTER[0])(t),
        mapped("0.46", ERFC_CENTER[0]),
        mp.mpf(1),
        (10, 0),
    ),
    Fit(
        "ErfExponent",
        "-log(1 - erf(a)) / a of a - 2",
        lambda a: erf_exponent(a + 2),
        lambda a: (a + 2) * mp.erfc(a + 2) / mp.erf(a + 2),
        mp.mpf("-1.54"),
        mp.mpf("2.0"),
        (7, 0),
    ),
    *(
        Fit(
            f"BesselNear{order}",
            f"(I_{order}(x) / (x / 2)^{order} - 1) / y of y = (x / 2)^2, x < {BESSEL_SPLIT}",
            bessel_near(order),
            bessel_weight(order),
            mp.mpf("1e-4"),
            mp.mpf(BESSEL_SPLIT) ** 2 / 4,
            (7, 0),
        )
        for order in (0, 1)
    ),
    *(
        Fit(
            f"BesselFar{order}",
            f"e^-x I_{order}(x) sqrt(x) of 1 / x, x >= {BESSEL_SPLIT}",
            bessel_far(order),
            lambda u: 1 + 0 * u,
            mp.mpf("1e-7"),
            mp.mpf(1) / BESSEL_SPLIT,
            (6, 0),
        )
        for order in (0, 1)
    ),
    Fit("Cbrt", "the cube root", mp.cbrt, lambda x: 1 / mp.cbrt(x), mp.mpf(1), mp.mpf(2), (4, 6)),
    Fit(
        "ErfInvCenter",
        "erf_inv(x) / x of w - 5/2, w = -log(1 - x^2) < 5",
        lambda w: inverse_erf_center(w + mp.mpf("2.5")),
        lambda w: 1 / inverse_erf_center(w + mp.mpf("2.5")),
        mp.mpf("-2.5"),
        mp.mpf("2.55"),
        (9, 0),
    ),
    Fit(
        "ErfInvFar",
        "erf_inv(x) / x of sqrt(w) - 7, w >= 16",
        lambda s: inverse_erf_far(s + 7),
        lambda s: 1 / inverse_erf_far(s + 7),
        mp.mpf("-3.05"),
        mp.mpf("3.2"),
        (10, 0),
    ),
    Fit(
        "ErfInvTail",
        "erf_inv(x) / x of sqrt(w) - 3, 5 <= w < 16",
        lambda s: inverse_erf_tail(s + 3),
        lambda s: 1 / inverse_erf_tail(s + 3),
        mp.mpf("-0.77"),
        mp.mpf("1.0"),
        (9, 0),
    ),
]


def text_of(numbers: list[Any], kind: str) -> str:
    if kind == "float":
        parts = [np.float32(float(c)).item().hex() + "f" for c in numbers]
    else:
        parts = [float(c).hex() for c in numbers]
    return ", ".join(parts)


def split(number: Any, kind: str, bits: tuple[int, ...], count: int) -> list[Any]:
    """Parts that add up to a number: the first ones of so many bits, the others of all."""
    parts = []
    for i in range(count):
        precision = bits[i] if i < len(bits) else (24 if kind == "float" else 53)
        with mp.workprec(precision):
            part = +number
        parts.append(part)
        number = number - part
    return parts


def constants(kind: str) -> list[tuple[str, str, list[Any]]]:
    """Names, meanings and values. The short parts times an exponent are exact."""
    is_float = kind == "float"
    short = (14,) if is_float else (41,)
    return [
        ("Log2", "log 2", split(LOG2, kind, (), 2)),
        ("ShortLog2", "log 2", split(LOG2, kind, short, 2)),
        ("ShortLog10Of2", "log10 2", split(LOG2 / mp.log(10), kind, short, 2)),
        ("Log2OfE", "1 / log 2", split(1 / LOG2, kind, (), 2)),
        ("Log10OfE", "1 / log 10", split(1 / mp.log(10), kind, (), 2)),
        ("HalfPi", "pi / 2", split(mp.pi / 2, kind, (), 3)),
        ("TwoOverPi", "2 / pi", split(2 / mp.pi, kind, (), 1)),
        ("CubeRoots", "the cube roots of 2 and 4", [mp.cbrt(2), mp.cbrt(4)]),
        ("ErfcCenter", "the c of erfc", [ERFC_CENTER[0 if is_float else 1]]),
    ]


def main() -> None:
    print("// Generated by scripts/minimax_coefficients.py; do not edit.")
    print("// Polynomials from the constant on, for float and double.")
    print("#pragma once\n\nnamespace farcall::native {\n")
    print("template <class T>\nstruct Coefficients;\n")
    for index, kind in enumerate(("float", "double")):
        print(f"template <>\nstruct Coefficients<{kind}> {{")
        for fit in FITS:
            degree = fit.degrees[index]
            if degree == 0:
                continue
            best, error = remez(fit, degree, fit.low, fit.high)
            size = f"2^{mp.nstr(mp.log(error, 2), 3)}"
            print(f"  // {fit.meaning}: {size}")
            print(f"  static constexpr {kind} k{fit.name}[] = {{{text_of(best, kind)}}};")
        for name, meaning, parts in constants(kind):
            print(f"  // {meaning}")
            print(f"  static constexpr {kind} k{name}[] = {{{text_of(parts, kind)}}};")
        print("};\n")
    print("}  // namespace farcall::native")


if __name__ == "__main__":
    main()
