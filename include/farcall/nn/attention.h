// Attention (namespace farcall::nn).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::nn {

struct AttentionOptions {
  // Added to the logits, and bools of which logits count: [B, N, T, S], or what broadcasts to it.
  std::optional<Array> bias = {};
  std::optional<Array> mask = {};
  std::optional<double> scale = {};  // of the logits; 1 / sqrt(H) if left out
  bool is_causal = false;            // a query sees the keys up to its own place
  // int32 [B]: how many queries and keys of each batch element count.
  std::optional<Array> query_seq_lengths = {};
  std::optional<Array> key_value_seq_lengths = {};
  // How many places before and after its own a query sees.
  std::optional<std::pair<int64_t, int64_t>> local_window_size = {};
};

struct Attention {
  Array output;    // of the shape of the query
  Array residual;  // the logarithm of the sum of exponentials: [B, T, N]
};

// softmax(scale * query @ key.T + bias) @ value for each head, the softmax in float32 at least.
// query is [B, T, N, H], key and value are [B, S, K, H], where N is a multiple of K: each head of
// keys serves N / K heads of queries. All may lack B. Raises INVALID_ARGUMENT for shapes and dtypes
// that do not fit, naming the argument.
FARCALL_API Attention attention(const Array& query, const Array& key, const Array& value,
                                const AttentionOptions& options = {});
// The output alone.
FARCALL_API Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                                        const AttentionOptions& options = {});

}  // namespace farcall::nn
