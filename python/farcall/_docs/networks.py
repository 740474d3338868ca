"""Docstrings of functions that farcall.nn takes from the core."""

from __future__ import annotations

from farcall import _core
from farcall._docs.document import document

_ELEMENTWISE = {
    "relu": "max(x, 0); the derivative at 0 is 0.",
    "relu6": "min(max(x, 0), 6); the derivative at 0 and at 6 is 0.",
    "sigmoid": "1 / (1 + exp(-x)).",
    "log_sigmoid": "log(sigmoid(x)), computed without underflow.",
    "softplus": "log(1 + exp(x)), computed without overflow.",
    "squareplus": "(x + sqrt(x ** 2 + b)) / 2.",
    "soft_sign": "x / (abs(x) + 1).",
    "silu": "x * sigmoid(x).",
    "mish": "x * tanh(softplus(x)).",
    "gelu": """x times the standard normal cdf of x.

        With ``approximate``, the cdf is approximated with ``tanh``.
        """,
    "elu": "x if x > 0, else alpha * (exp(x) - 1).",
    "celu": "x if x > 0, else alpha * (exp(x / alpha) - 1).",
    "selu": "A scaled ``elu`` that preserves mean 0 and variance 1.",
    "leaky_relu": "x if x > 0, else negative_slope * x.",
    "hard_tanh": "x limited to [-1, 1].",
    "hard_sigmoid": "relu6(x + 3) / 6.",
    "hard_silu": "x * hard_sigmoid(x).",
    "glu": "The first half along the axis times the sigmoid of the second half.",
    "identity": "``x``.",
    "log1mexp": "log(1 - exp(-x)) for positive ``x``, without cancellation.",
    "sparse_plus": "0 for x < -1, x for x > 1, and a parabola between.",
    "sparse_sigmoid": "The derivative of sparse_plus.",
}
_ALONG_AXES = {
    "logsumexp": """log(sum(b * exp(a))) along the axes, computed without overflow.

        Args:
          a: an array.
          axis: one axis or a tuple of axes; all by default.
          b: factors of the exponentials; 1 by default.
          keepdims: whether the axes stay, with size 1.
          return_sign: return the logarithm of the absolute value and the sign of the sum.
          where: bools: the elements to include.
        """,
    "softmax": "exp(x) / sum(exp(x)) along the axes; 0 where ``where`` is False.",
    "log_softmax": "log(softmax(x)), computed without underflow.",
    "standardize": """(x - mean) / sqrt(variance + epsilon) along the axes.

        Args:
          x: an array.
          axis: one axis or a tuple of axes.
          mean, variance: known ones; by default they are computed.
          epsilon: is added to the variance.
          where: bools: the elements that the mean and the variance are computed from.
          algorithm: ``fast``: the variance is the mean of the squares less the squared mean;
            ``stable``: the mean of the squared differences from the mean.
        """,
    "one_hot": "One-hot vectors along a new axis: 1 at index ``x``, 0 elsewhere.",
    "logmeanexp": "log(mean(exp(x))) along the axes, computed without overflow.",
}
_ATTENTION = {
    "dot_product_attention": """softmax(scale * query @ key.T + bias) @ value for each head.

        The softmax is computed at least in float32.

        Args:
          query: floats [B, T, N, H]; B may be omitted in all arrays.
          key, value: [B, S, K, H] of the same dtype; N is a multiple of K, and each key head serves
            N / K query heads.
          bias: added to the logits; broadcasts to [B, N, T, S].
          mask: bools, the logits to include; broadcasts to [B, N, T, S].
          scale: the factor of the logits; 1 / sqrt(H) by default.
          is_causal: whether a query attends only to keys up to its own position.
          query_seq_lengths, key_value_seq_lengths: int32 [B], numbers of valid queries and keys.
          local_window_size: how many positions before and after its own a query attends to.
          implementation: must be None or "xla".
          return_residual: return ``(output, residual)``, the residual being the logarithm of the
            sum of exponentials, [B, T, N].

        Returns:
          An array of the shape and dtype of query.

        Raises:
          ValueError: for shapes and dtypes that do not match; the text names the argument.
          NotImplementedError: for other implementations.
        """,
}

document(_core.nn, "farcall.nn", _ELEMENTWISE | _ALONG_AXES | _ATTENTION)
