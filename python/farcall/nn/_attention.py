"""Attention."""

from __future__ import annotations

from typing import Any

from farcall import _core

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    query_seq_lengths: Any = None,
    key_value_seq_lengths: Any = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:
    """softmax(scale * query @ key.T + bias) @ value for each head, the softmax in float32 at least.

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
      return_residual: return ``(output, residual)``, the residual being the logarithm of the sum of
        exponentials, [B, T, N].

    Returns:
      An array of the shape and dtype of query.

    Raises:
      ValueError: for shapes and dtypes that do not fit, naming the argument.
      NotImplementedError: for another implementation.
    """
    if implementation not in (None, "xla"):
        raise NotImplementedError(
            f"dot_product_attention: implementation must be None or 'xla', got {implementation!r}"
        )
    if isinstance(local_window_size, int):
        local_window_size = (local_window_size, local_window_size)
    output, residual = _core.nn.attention(
        query,
        key,
        value,
        bias,
        mask,
        scale,
        bool(is_causal),
        query_seq_lengths,
        key_value_seq_lengths,
        local_window_size,
    )
    return (output, residual) if return_residual else output
