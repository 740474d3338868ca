// The elementwise operations without parameters. The row of an operation holds all its rules,
// whatever engine runs it. A file that includes this one defines the macros that it needs; the
// others are empty, and all are undefined at the end.
//
// FARCALL_UNARY(function, primitive, kinds, result, domain, summary, rules...)
// FARCALL_BINARY(function, primitive, kinds, result, summary, rules...)
//   function: the name in farcall::lax and in Python's farcall.lax.
//   primitive: the name in programs and in the engines' kernel tables.
//   kinds: of the operands: B bool, S signed, U unsigned, F float, C complex, K random key.
//   result: kSame as the operands, kBool, kReal the dtype of the parts of complex numbers, kComplex
//     the complex dtype with parts of the operands' dtype.
//   domain: the real numbers for which it is defined and smooth, from which tests take arguments.
//     kInside is (-1, 1), kUnit (0, 1).
//   summary: the first line of its documentation.
//   rules: macros of src/ops/elementwise/rules.cpp. Expressions use the operands x and y, the
//     result r, the tangent t of an operand and the cotangent ct of the result. In a product,
//     `other` is the operand that is held fixed. ZERO_DERIVATIVE: zero wherever the derivative
//     exists.
//
// The following macros are for functions of farcall::numpy and farcall::special that promote their
// operands and then apply one operation. Operands of special functions, and of numpy's unary ones,
// become floats:
//
// FARCALL_NUMPY_UNARY(name, function, summary)
// FARCALL_NUMPY_BINARY(name, function, summary)
// FARCALL_SPECIAL_UNARY(name, function, operand, summary)
// FARCALL_SPECIAL_BINARY(name, function, first, second, summary)

#ifndef FARCALL_UNARY
#define FARCALL_UNARY(...)
#endif
#ifndef FARCALL_BINARY
#define FARCALL_BINARY(...)
#endif
#ifndef FARCALL_NUMPY_UNARY
#define FARCALL_NUMPY_UNARY(...)
#endif
#ifndef FARCALL_NUMPY_BINARY
#define FARCALL_NUMPY_BINARY(...)
#endif
#ifndef FARCALL_SPECIAL_UNARY
#define FARCALL_SPECIAL_UNARY(...)
#endif
#ifndef FARCALL_SPECIAL_BINARY
#define FARCALL_SPECIAL_BINARY(...)
#endif

FARCALL_UNARY(neg, "neg", S | U | F | C, kSame, kAnywhere, "-x.", DERIVATIVE(neg(t)),
              TRANSPOSE(neg(ct)))
FARCALL_UNARY(abs, "abs", S | U | F | C, kReal, kAnywhere,
              "The absolute value; of complex numbers, in the dtype of their parts.",
              DERIVATIVE(abs_derivative(t, x, r)))
FARCALL_UNARY(sign, "sign", S | U | F | C, kSame, kAnywhere,
              "-1, 0 or 1 by the sign; x / abs(x) of complex numbers.", ZERO_DERIVATIVE)
FARCALL_UNARY(floor, "floor", F, kSame, kAnywhere,
              "The largest integer not greater than x; floats.", ZERO_DERIVATIVE)
FARCALL_UNARY(ceil, "ceil", F, kSame, kAnywhere, "The smallest integer not less than x; floats.",
              ZERO_DERIVATIVE)
FARCALL_UNARY(is_finite, "is_finite", F, kBool, kAnywhere,
              "Whether x is neither infinite nor NaN, as bools; floats.", ZERO_DERIVATIVE)
FARCALL_UNARY(bitwise_not, "not", B | S | U, kSame, kAnywhere,
              "The bits of integers inverted; logical not for bools.", ZERO_DERIVATIVE)
FARCALL_UNARY(exp, "exp", F | C, kSame, kAnywhere,
              "e to the power of x; floats and complex numbers.", DERIVATIVE(mul(t, r)))
FARCALL_NUMPY_UNARY(exp, exp, "e to the power of x.")
FARCALL_UNARY(exp2, "exp2", F | C, kSame, kAnywhere,
              "2 to the power of x; floats and complex numbers.",
              DERIVATIVE(mul(t, mul(r, like(r, kLog2)))))
FARCALL_NUMPY_UNARY(exp2, exp2, "2 to the power of x.")
FARCALL_UNARY(expm1, "expm1", F | C, kSame, kAnywhere,
              "exp(x) - 1, accurate near 0; floats and complex numbers.",
              DERIVATIVE(mul(t, one_plus(r))))
FARCALL_NUMPY_UNARY(expm1, expm1, "exp(x) - 1, accurate near 0.")
FARCALL_UNARY(log, "log", F | C, kSame, kPositive,
              "The natural logarithm; floats and complex numbers.", DERIVATIVE(div(t, x)))
FARCALL_NUMPY_UNARY(log, log, "The natural logarithm; NaN below 0 for real numbers.")
FARCALL_UNARY(log2, "log2", F, kSame, kPositive, "The logarithm to base 2; floats.",
              DERIVATIVE(div(t, mul(x, like(x, kLog2)))))
FARCALL_UNARY(log10, "log10", F, kSame, kPositive, "The logarithm to base 10; floats.",
              DERIVATIVE(div(t, mul(x, like(x, kLog10)))))
FARCALL_UNARY(log1p, "log1p", F | C, kSame, kPositive,
              "log(1 + x), accurate near 0; floats and complex numbers.",
              DERIVATIVE(div(t, one_plus(x))))
FARCALL_NUMPY_UNARY(log1p, log1p, "log(1 + x), accurate near 0.")
FARCALL_UNARY(sqrt, "sqrt", F | C, kSame, kPositive, "The square root; floats and complex numbers.",
              DERIVATIVE(mul(t, div(like(r, 0.5), r))))
FARCALL_NUMPY_UNARY(sqrt, sqrt, "The square root; NaN below 0 for real numbers.")
FARCALL_UNARY(rsqrt, "rsqrt", F | C, kSame, kPositive, "1 / sqrt(x); floats and complex numbers.",
              DERIVATIVE(mul(t, mul(like(r, -0.5), div(r, x)))))
FARCALL_UNARY(cbrt, "cbrt", F, kSame, kPositive, "The cube root; floats.",
              DERIVATIVE(mul(t, mul(like(r, 1.0 / 3), integer_pow(r, -2)))))
FARCALL_NUMPY_UNARY(cbrt, cbrt, "The cube root, real also below 0.")
FARCALL_UNARY(sin, "sin", F | C, kSame, kAnywhere, "The sine; floats and complex numbers.",
              DERIVATIVE(mul(t, cos(x))))
FARCALL_NUMPY_UNARY(sin, sin, "The sine of an angle in radians.")
FARCALL_UNARY(cos, "cos", F | C, kSame, kAnywhere, "The cosine; floats and complex numbers.",
              DERIVATIVE(mul(t, neg(sin(x)))))
FARCALL_NUMPY_UNARY(cos, cos, "The cosine of an angle in radians.")
FARCALL_UNARY(tan, "tan", F | C, kSame, kAnywhere, "The tangent; floats and complex numbers.",
              DERIVATIVE(mul(t, one_plus(square(r)))))
FARCALL_NUMPY_UNARY(tan, tan, "The tangent of an angle in radians.")
FARCALL_UNARY(asin, "asin", F | C, kSame, kInside,
              "The inverse of sin; floats and complex numbers.",
              DERIVATIVE(mul(t, rsqrt(one_minus_square(x)))))
FARCALL_NUMPY_UNARY(arcsin, asin, "The angle from -pi/2 to pi/2 whose sine is x; NaN beyond 1.")
FARCALL_UNARY(acos, "acos", F | C, kSame, kInside,
              "The inverse of cos; floats and complex numbers.",
              DERIVATIVE(mul(t, neg(rsqrt(one_minus_square(x))))))
FARCALL_NUMPY_UNARY(arccos, acos, "The angle from 0 to pi whose cosine is x; NaN beyond 1.")
FARCALL_UNARY(atan, "atan", F | C, kSame, kAnywhere,
              "The inverse of tan; floats and complex numbers.",
              DERIVATIVE(div(t, one_plus(square(x)))))
FARCALL_NUMPY_UNARY(arctan, atan, "The angle from -pi/2 to pi/2 whose tangent is x.")
FARCALL_UNARY(sinh, "sinh", F | C, kSame, kAnywhere,
              "The hyperbolic sine; floats and complex numbers.", DERIVATIVE(mul(t, cosh(x))))
FARCALL_NUMPY_UNARY(sinh, sinh, "The hyperbolic sine.")
FARCALL_UNARY(cosh, "cosh", F | C, kSame, kAnywhere,
              "The hyperbolic cosine; floats and complex numbers.", DERIVATIVE(mul(t, sinh(x))))
FARCALL_NUMPY_UNARY(cosh, cosh, "The hyperbolic cosine.")
FARCALL_UNARY(tanh, "tanh", F | C, kSame, kAnywhere,
              "The hyperbolic tangent; floats and complex numbers.",
              DERIVATIVE(mul(t, mul(one_plus(r), one_minus(r)))))
FARCALL_NUMPY_UNARY(tanh, tanh, "The hyperbolic tangent.")
FARCALL_UNARY(asinh, "asinh", F | C, kSame, kAnywhere,
              "The inverse of sinh; floats and complex numbers.",
              DERIVATIVE(mul(t, rsqrt(one_plus(square(x))))))
FARCALL_NUMPY_UNARY(arcsinh, asinh, "The inverse of sinh.")
FARCALL_UNARY(acosh, "acosh", F | C, kSame, kAboveOne,
              "The inverse of cosh; floats and complex numbers.",
              DERIVATIVE(mul(t, acosh_slope(x))))
FARCALL_NUMPY_UNARY(arccosh, acosh, "The inverse of cosh, not negative; NaN below 1.")
FARCALL_UNARY(atanh, "atanh", F | C, kSame, kInside,
              "The inverse of tanh; floats and complex numbers.",
              DERIVATIVE(div(t, one_minus_square(x))))
FARCALL_NUMPY_UNARY(arctanh, atanh, "The inverse of tanh; NaN beyond 1.")
FARCALL_UNARY(logistic, "logistic", F | C, kSame, kAnywhere,
              "1 / (1 + exp(-x)); floats and complex numbers.",
              DERIVATIVE(mul(t, mul(r, one_minus(r)))))
FARCALL_SPECIAL_UNARY(expit, logistic, x, "1 / (1 + exp(-x)).")
FARCALL_UNARY(erf, "erf", F, kSame, kAnywhere, "The error function; floats.",
              DERIVATIVE(mul(t, erf_slope(x, 1))))
FARCALL_SPECIAL_UNARY(erf, erf, x, "The error function.")
FARCALL_UNARY(erfc, "erfc", F, kSame, kAnywhere, "1 - erf(x), accurate for large x; floats.",
              DERIVATIVE(mul(t, erf_slope(x, -1))))
FARCALL_SPECIAL_UNARY(erfc, erfc, x, "1 - erf(x).")
FARCALL_UNARY(erf_inv, "erf_inv", F, kSame, kInside, "The inverse of erf; floats.",
              DERIVATIVE(mul(t, mul(like(r, 0.5 / kInverseSqrtPi), exp(square(r))))))
FARCALL_SPECIAL_UNARY(erfinv, erf_inv, x, "The inverse of erf.")
FARCALL_UNARY(erfcx, "erfcx", F, kSame, kAnywhere, "exp(x * x) * erfc(x); floats.",
              DERIVATIVE(mul(t, sub(mul(twice(x), r), like(x, 2 * kInverseSqrtPi)))))
FARCALL_SPECIAL_UNARY(erfcx, erfcx, x, "exp(x * x) * erfc(x).")
FARCALL_UNARY(ndtr, "ndtr", F, kSame, kAnywhere, "The normal distribution function; floats.",
              DERIVATIVE(mul(t, ndtr_slope(x))))
FARCALL_SPECIAL_UNARY(ndtr, ndtr, x, "The normal distribution up to x.")
FARCALL_UNARY(log_ndtr, "log_ndtr", F, kSame, kAnywhere,
              "log(ndtr(x)), also far below 0, where ndtr(x) is 0; floats.",
              DERIVATIVE(mul(t, log_ndtr_slope(x))))
FARCALL_SPECIAL_UNARY(log_ndtr, log_ndtr, x,
                      "log(ndtr(x)), also far below zero, where ndtr(x) is 0.")
FARCALL_UNARY(ndtri, "ndtri", F, kSame, kUnit,
              "The inverse of ndtr, NaN outside of [0, 1]; floats.",
              DERIVATIVE(mul(t,
                             mul(like(r, 1 / kNormalDensity), exp(mul(square(r), like(r, 0.5)))))))
FARCALL_SPECIAL_UNARY(ndtri, ndtri, p, "The inverse of ndtr.")
FARCALL_UNARY(logit, "logit", F, kSame, kUnit, "log(x / (1 - x)), the inverse of logistic; floats.",
              DERIVATIVE(div(t, mul(x, one_minus(x)))))
FARCALL_UNARY(sinpi, "sinpi", F, kSame, kAnywhere, "sin(pi * x); floats.",
              DERIVATIVE(mul(t, mul(cospi(x), like(x, kPi)))))
FARCALL_UNARY(cospi, "cospi", F, kSame, kAnywhere, "cos(pi * x); floats.",
              DERIVATIVE(mul(t, mul(sinpi(x), like(x, -kPi)))))
FARCALL_UNARY(gamma, "gamma", F, kSame, kPositive, "The gamma function; floats.",
              DERIVATIVE(mul(t, mul(r, digamma(x)))))
FARCALL_SPECIAL_UNARY(gamma, gamma, x, "The gamma function.")
FARCALL_UNARY(factorial, "factorial", F, kSame, kPositive, "gamma(x + 1); floats.",
              DERIVATIVE(mul(t, mul(r, digamma(one_plus(x))))))
FARCALL_UNARY(lgamma, "lgamma", F, kSame, kPositive, "log(abs(gamma(x))); floats.",
              DERIVATIVE(mul(t, digamma(x))))
FARCALL_SPECIAL_UNARY(gammaln, lgamma, x,
                      "The logarithm of the absolute value of the gamma function.")
FARCALL_UNARY(digamma, "digamma", F, kSame, kPositive, "The derivative of lgamma; floats.",
              DERIVATIVE(mul(t, polygamma(like(x, 1), x))))
FARCALL_SPECIAL_UNARY(digamma, digamma, x, "The derivative of gammaln.")
FARCALL_UNARY(bessel_i0, "bessel_i0", F, kSame, kAnywhere,
              "The modified Bessel function of order 0; floats.", DERIVATIVE(mul(t, bessel_i1(x))))
FARCALL_SPECIAL_UNARY(i0, bessel_i0, x, "The modified Bessel function of order 0.")
FARCALL_UNARY(bessel_i1, "bessel_i1", F, kSame, kAnywhere,
              "The modified Bessel function of order 1; floats.",
              DERIVATIVE(bessel_i1_derivative(t, x, r)))
FARCALL_SPECIAL_UNARY(i1, bessel_i1, x, "The modified Bessel function of order 1.")
FARCALL_UNARY(bessel_i0e, "bessel_i0e", F, kSame, kAnywhere,
              "exp(-abs(x)) times the modified Bessel function of order 0; floats.",
              DERIVATIVE(mul(t, sub(bessel_i1e(x), mul(sign(x), r)))))
FARCALL_SPECIAL_UNARY(i0e, bessel_i0e, x,
                      "The modified Bessel function of order 0, times exp(-abs(x)).")
FARCALL_UNARY(bessel_i1e, "bessel_i1e", F, kSame, kAnywhere,
              "exp(-abs(x)) times the modified Bessel function of order 1; floats.",
              DERIVATIVE(bessel_i1e_derivative(t, x, r)))
FARCALL_SPECIAL_UNARY(i1e, bessel_i1e, x,
                      "The modified Bessel function of order 1, times exp(-abs(x)).")
FARCALL_UNARY(square, "square", S | U | F | C, kSame, kAnywhere, "x * x; numbers.",
              DERIVATIVE(mul(t, twice(x))))
FARCALL_UNARY(real, "real", C, kReal, kAnywhere, "The real part of complex numbers.",
              DERIVATIVE(real(t)), TRANSPOSE(complex(ct, like(ct, 0))))
FARCALL_UNARY(imag, "imag", C, kReal, kAnywhere, "The imaginary part of complex numbers.",
              DERIVATIVE(imag(t)), TRANSPOSE(complex(like(ct, 0), neg(ct))))
FARCALL_UNARY(conj, "conj", C, kSame, kAnywhere,
              "The complex conjugate, of complex numbers and floats.", DERIVATIVE(conj(t)),
              TRANSPOSE(conj(ct)))
FARCALL_UNARY(population_count, "population_count", S | U, kSame, kAnywhere,
              "The number of bits that are 1; integers.", ZERO_DERIVATIVE)
FARCALL_UNARY(clz, "clz", S | U, kSame, kAnywhere,
              "The number of leading bits that are 0; integers.", ZERO_DERIVATIVE)

FARCALL_BINARY(add, "add", B | S | U | F | C, kSame, "x + y; numbers.", DERIVATIVES(t, t),
               TRANSPOSES(ct, ct))
FARCALL_NUMPY_BINARY(add, add, "x + y.")
FARCALL_BINARY(sub, "sub", S | U | F | C, kSame, "x - y; numbers.", DERIVATIVES(t, neg(t)),
               TRANSPOSES(ct, neg(ct)))
FARCALL_NUMPY_BINARY(subtract, sub, "x - y.")
FARCALL_BINARY(mul, "mul", B | S | U | F | C, kSame,
               "x * y; numbers, and bools, for which it is x and y.",
               DERIVATIVES(mul(t, y), mul(t, x)),
               TRANSPOSES_OF_PRODUCT(mul(ct, other), mul(ct, other)))
FARCALL_NUMPY_BINARY(multiply, mul, "x * y.")
// The derivative by y does not divide by y squared, which overflows or underflows first.
FARCALL_BINARY(div, "div", S | U | F | C, kSame, "x / y, of integers rounded toward 0; numbers.",
               DERIVATIVES(div(t, y), mul(t, neg(div(r, y)))), TRANSPOSE_BY_X(div(ct, other)))
FARCALL_BINARY(rem, "rem", S | U | F, kSame,
               "The remainder of x / y rounded toward 0, with the sign of x; numbers.",
               DERIVATIVES(t, mul(t, round(div(sub(r, x), y), 1))))
FARCALL_BINARY(max, "max", B | S | U | F | C, kSame, "The larger of x and y; NaN if either is NaN.",
               DERIVATIVES(mul(t, share(x, y, r)), mul(t, share(y, x, r))))
FARCALL_NUMPY_BINARY(maximum, max, "The larger of x and y; NaN if either is NaN.")
FARCALL_BINARY(min, "min", B | S | U | F | C, kSame,
               "The smaller of x and y; NaN if either is NaN.",
               DERIVATIVES(mul(t, share(x, y, r)), mul(t, share(y, x, r))))
FARCALL_NUMPY_BINARY(minimum, min, "The smaller of x and y; NaN if either is NaN.")
FARCALL_BINARY(pow, "pow", S | U | F | C, kSame,
               "x to the power of y; x floats or complex, y of the same dtype or integers.",
               DERIVATIVES(pow_by_base(t, x, y), mul(t, mul(log(zero_replaced_by_one(x)), r))))
FARCALL_BINARY(igamma, "igamma", F, kSame,
               "The regularized lower incomplete gamma function P(x, y); floats.",
               DERIVATIVES(mul(t, igamma_grad_a(x, y)), mul(t, gamma_density(x, y))))
FARCALL_SPECIAL_BINARY(gammainc, igamma, a, x,
                       "The lower incomplete gamma function, divided by gamma(a).")
FARCALL_BINARY(igammac, "igammac", F, kSame,
               "The regularized upper incomplete gamma function Q(x, y); floats.",
               DERIVATIVES(mul(t, neg(igamma_grad_a(x, y))), mul(t, neg(gamma_density(x, y)))))
FARCALL_SPECIAL_BINARY(gammaincc, igammac, a, x,
                       "The upper incomplete gamma function, divided by gamma(a).")
FARCALL_BINARY(igamma_grad_a, "igamma_grad_a", F, kSame,
               "The derivative of igamma by its first argument; floats.",
               DERIVATIVES(no_derivative("igamma_grad_a: has no derivatives"),
                           no_derivative("igamma_grad_a: has no derivatives")))
FARCALL_BINARY(beta, "beta", F, kSame, "gamma(x) * gamma(y) / gamma(x + y); floats.",
               DERIVATIVES(mul(t, mul(r, betaln_slope(x, y))), mul(t, mul(r, betaln_slope(y, x)))))
FARCALL_SPECIAL_BINARY(beta, beta, a, b, "gamma(a) * gamma(b) / gamma(a + b).")
FARCALL_BINARY(betaln, "betaln", F, kSame, "The logarithm of the absolute value of beta; floats.",
               DERIVATIVES(mul(t, betaln_slope(x, y)), mul(t, betaln_slope(y, x))))
FARCALL_SPECIAL_BINARY(betaln, betaln, a, b,
                       "The logarithm of the absolute value of the beta function.")
FARCALL_BINARY(gcd, "gcd", S | U, kSame,
               "The greatest common divisor, not negative unless it overflows; integers.",
               ZERO_DERIVATIVE)
FARCALL_BINARY(random_gamma_grad, "random_gamma_grad", F, kSame,
               "The derivative by x of a gamma sample y of shape x; floats.",
               DERIVATIVES(no_derivative("random_gamma_grad: has no derivatives"),
                           no_derivative("random_gamma_grad: has no derivatives")))
FARCALL_BINARY(zeta, "zeta", F, kSame, "The Hurwitz zeta function of x and the offset y; floats.",
               DERIVATIVES(no_derivative("zeta: has no derivative with respect to its exponent x"),
                           mul(t, neg(mul(x, zeta(one_plus(x), y))))))
FARCALL_BINARY(atan2, "atan2", F, kSame,
               "The angle of the point (y, x): of the first argument over the second; floats.",
               DERIVATIVES(mul(t, atan2_slope_by_x(x, y)), mul(t, atan2_slope_by_y(x, y))))
FARCALL_BINARY(nextafter, "nextafter", F, kSame, "The float next to x in the direction of y.",
               DERIVATIVE_BY_X(t))
FARCALL_BINARY(
    polygamma, "polygamma", F, kSame, "The derivative of order x of digamma at y; floats.",
    DERIVATIVES(no_derivative("polygamma: has no derivative with respect to its order m"),
                mul(t, polygamma(one_plus(x), y))))
FARCALL_SPECIAL_BINARY(polygamma, polygamma, n, x, "The derivative of digamma of order ``n``.")
FARCALL_BINARY(bitwise_and, "and", B | S | U, kSame,
               "The bitwise and of x and y; integers and bools.", ZERO_DERIVATIVE)
FARCALL_NUMPY_BINARY(bitwise_and, bitwise_and,
                     "The bitwise and of x and y; for integers and bools.")
FARCALL_BINARY(bitwise_or, "or", B | S | U, kSame, "The bitwise or of x and y; integers and bools.",
               ZERO_DERIVATIVE)
FARCALL_NUMPY_BINARY(bitwise_or, bitwise_or, "The bitwise or of x and y; for integers and bools.")
FARCALL_BINARY(bitwise_xor, "xor", B | S | U, kSame,
               "The bitwise exclusive or of x and y; integers and bools.", ZERO_DERIVATIVE)
FARCALL_NUMPY_BINARY(bitwise_xor, bitwise_xor,
                     "The bitwise exclusive or of x and y; for integers and bools.")
FARCALL_BINARY(shift_left, "shift_left", S | U, kSame,
               "x * 2 ** y, of integers; 0 where y is the number of bits or more.", ZERO_DERIVATIVE)
FARCALL_BINARY(shift_right_logical, "shift_right_logical", S | U, kSame,
               "x shifted right by y bits, filled with zeros; integers.", ZERO_DERIVATIVE)
FARCALL_BINARY(shift_right_arithmetic, "shift_right_arithmetic", S | U, kSame,
               "x / 2 ** y rounded down; integers.", ZERO_DERIVATIVE)
FARCALL_BINARY(eq, "eq", B | S | U | F | C | K, kBool, "Whether x equals y, as bools.",
               ZERO_DERIVATIVE)
FARCALL_NUMPY_BINARY(equal, eq, "Whether x equals y.")
FARCALL_BINARY(ne, "ne", B | S | U | F | C | K, kBool, "Whether x differs from y, as bools.",
               ZERO_DERIVATIVE)
FARCALL_NUMPY_BINARY(not_equal, ne, "Whether x differs from y.")
FARCALL_BINARY(lt, "lt", B | S | U | F, kBool, "Whether x is less than y, as bools.",
               ZERO_DERIVATIVE)
FARCALL_BINARY(le, "le", B | S | U | F, kBool, "Whether x is at most y, as bools.", ZERO_DERIVATIVE)
FARCALL_BINARY(gt, "gt", B | S | U | F, kBool, "Whether x is greater than y, as bools.",
               ZERO_DERIVATIVE)
FARCALL_BINARY(ge, "ge", B | S | U | F, kBool, "Whether x is at least y, as bools.",
               ZERO_DERIVATIVE)
FARCALL_BINARY(complex, "complex", F, kComplex, "x + yj, of floats.",
               DERIVATIVES(complex(t, like(t, 0)), complex(like(t, 0), t)),
               TRANSPOSES(real(ct), neg(imag(ct))))

#undef FARCALL_UNARY
#undef FARCALL_BINARY
#undef FARCALL_NUMPY_UNARY
#undef FARCALL_NUMPY_BINARY
#undef FARCALL_SPECIAL_UNARY
#undef FARCALL_SPECIAL_BINARY
