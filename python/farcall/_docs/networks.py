"""The docstrings of the functions that farcall.nn has from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ELEMENTWISE = {
    "relu": "x above zero, else 0; the derivative at zero is 0.",
    "relu6": "relu(x), at most 6; the derivative at both ends is 0.",
    "sigmoid": "1 / (1 + exp(-x)).",
    "log_sigmoid": "log(sigmoid(x)), without underflow on the way.",
    "softplus": "log(1 + exp(x)), without overflow on the way.",
    "squareplus": "(x + sqrt(x ** 2 + b)) / 2.",
    "soft_sign": "x / (abs(x) + 1).",
    "silu": "x * sigmoid(x).",
    "mish": "x * tanh(softplus(x)).",
    "gelu": """x times the normal distribution up to x.

        With ``tanh`` in its place if ``approximate``.
        """,
    "elu": "x above zero, else alpha * (exp(x) - 1).",
    "celu": "x above zero, else alpha * (exp(x / alpha) - 1).",
    "selu": "A scaled ``elu`` that keeps mean 0 and variance 1.",
    "leaky_relu": "x above zero, else a small part of it.",
    "hard_tanh": "x, at least -1 and at most 1.",
    "hard_sigmoid": "relu6(x + 3) / 6.",
    "hard_silu": "x * hard_sigmoid(x).",
    "glu": "The first half along the axis times the sigmoid of the second half.",
    "identity": "``x``.",
    "log1mexp": "log(1 - exp(-x)) for positive ``x``, without cancellation.",
    "sparse_plus": "0 below -1, x above 1, and a parabola between.",
    "sparse_sigmoid": "The derivative of sparse_plus.",
}
_ALONG_AXES = {
    "logsumexp": """log(sum(b * exp(a))) along the axes, without overflow on the way.

        Args:
          a: an array.
          axis: one axis or several; all of them if left out.
          b: factors; 1 if left out.
          keepdims: keep the axes, with size one.
          return_sign: return the logarithm of the absolute value and the sign of the sum.
          where: which elements count.
        """,
    "softmax": "exp(x), divided by its sum along the axes; 0 where ``where`` is false.",
    "log_softmax": "log(softmax(x)), without underflow on the way.",
    "standardize": "(x - mean) / sqrt(variance + epsilon) along the axes.",
    "one_hot": "A new axis with 1 at the position that ``x`` names, 0 elsewhere.",
    "logmeanexp": "log(mean(exp(x))) along the axes, without overflow on the way.",
}
_ATTENTION = {
    "dot_product_attention": """softmax(scale * query @ key.T + bias) @ value for each head.

        The softmax is computed in float32 at least.

        Args:
          query: floats [B, T, N, H]; B may be left out everywhere.
          key, value: [B, S, K, H] of the same dtype, where N is a multiple of K: each head of keys
            serves N / K heads of queries.
          bias: added to the logits; broadcasts to [B, N, T, S].
          mask: bools, which logits count; broadcasts to [B, N, T, S].
          scale: of the logits; 1 / sqrt(H) by default.
          is_causal: whether a query sees the keys up to its own place only.
          query_seq_lengths, key_value_seq_lengths: int32 [B], how many queries and keys count.
          local_window_size: how many places before and after its own a query sees.
          implementation: must be None or "xla".
          return_residual: return ``(output, residual)``, the residual being the logarithm of the
            sum of exponentials, [B, T, N].

        Returns:
          An array of the shape and dtype of query.

        Raises:
          ValueError: for shapes and dtypes that do not fit, naming the argument.
          NotImplementedError: for another implementation.
        """,
}

document(_core.nn, "farcall.nn", _ELEMENTWISE | _ALONG_AXES | _ATTENTION)
