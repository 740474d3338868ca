// Attention (namespace farcall::nn).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall::nn {

struct AttentionOptions {
  // `bias` is added to the logits. `mask` holds bools that say which logits to use. Both broadcast
  // to [B, N, T, S].
  std::optional<Array> bias = {};
  std::optional<Array> mask = {};
  std::optional<double> scale = {};  // of the logits; default 1 / sqrt(H)
  bool is_causal = false;            // a query attends to keys up to its own position
  // int32 [B]: the numbers of valid queries and keys of each batch element.
  std::optional<Array> query_seq_lengths = {};
  std::optional<Array> key_value_seq_lengths = {};
  // The number of positions before and after its own that a query attends to.
  std::optional<std::pair<int64_t, int64_t>> local_window_size = {};
};

struct Attention {
  Array output;    // has the shape of the query
  Array residual;  // the logarithm of the sum of exponentials, [B, T, N]
};

// softmax(scale * query @ key.T + bias) @ value for each head; the softmax is computed in float32
// or wider. query is [B, T, N, H]; key and value are [B, S, K, H], where N is a multiple of K: each
// key head serves N / K query heads. All may omit B. Raises INVALID_ARGUMENT naming the argument
// for shapes and dtypes that do not fit.
FARCALL_API Attention attention(const Array& query, const Array& key, const Array& value,
                                const AttentionOptions& options = {});
// Returns only the output.
FARCALL_API Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                                        const AttentionOptions& options = {});

}  // namespace farcall::nn
