#include <farcall/nn/attention.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <farcall/core/error.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/ops/numpy_arrays.h>
#include <farcall/ops/promotion.h>

#include "ops/internal/rules.h"

namespace farcall::nn {
namespace {

[[noreturn]] void refuse_attention(std::string text) {
  invalid_argument("dot_product_attention: " + std::move(text));
}

// Adds leading dimensions of size one up to rank 4.
Array in_four_dimensions(const Array& x, const char* name, size_t least) {
  if (x.rank() > 4 || x.rank() < least) {
    refuse_attention(fmt::format("{} must have rank {}4, got {}", name, least < 4 ? "3 or " : "",
                                 x.type().to_string()));
  }
  Shape shape(4 - x.rank(), 1);
  shape.insert(shape.end(), x.shape().begin(), x.shape().end());
  return numpy::reshape(x, shape);
}

// Sizes, with JAX's letters: batch, queries, keys, query heads, key heads, features.
struct AttentionSizes {
  int64_t b, t, s, n, k, h;
};

AttentionSizes sizes_of(const Array& query, const Array& key, const Array& value) {
  const auto q = query.shape(), k = key.shape();
  const AttentionSizes sizes{k[0], q[1], k[1], q[2], k[2], k[3]};
  if (value.type().strengthened() != key.type().strengthened()) {
    refuse_attention(fmt::format("value must be like key, which is {}, got {}",
                                 key.type().to_string(), value.type().to_string()));
  }
  if (!is_floating(key.dtype())) {
    refuse_attention(fmt::format("key must have a floating dtype, got {}", key.type().to_string()));
  }
  if (query.dtype() != key.dtype() || q[0] != sizes.b || q[3] != sizes.h) {
    refuse_attention(
        fmt::format("query must have the dtype, the batch size and the features of key, which "
                    "is {}, got {}",
                    key.type().to_string(), query.type().to_string()));
  }
  if (sizes.k == 0 || sizes.n % sizes.k != 0) {
    refuse_attention(
        fmt::format("the number of heads of query must be a multiple of that of key, {}, got {}",
                    sizes.k, sizes.n));
  }
  return sizes;
}

// Reshapes x like the logits to [B, K, G, T, S], where query head n = k * G + g.
Array by_group(const Array& x, const char* name, const AttentionSizes& sizes) {
  const Array wide = in_four_dimensions(x, name, 0);
  const auto shape = wide.shape();
  const int64_t wanted[] = {sizes.b, sizes.n, sizes.t, sizes.s};
  for (int i = 0; i < 4; ++i) {
    if (shape[i] != 1 && shape[i] != wanted[i]) {
      refuse_attention(fmt::format("{} must broadcast to the shape [{}] of the logits, got {}",
                                   name, fmt::join(wanted, ", "), x.type().to_string()));
    }
  }
  if (shape[1] == 1) return numpy::expand_dims(wide, {1});
  return numpy::reshape(wide, {shape[0], sizes.k, sizes.n / sizes.k, shape[2], shape[3]});
}

// 0, 1, … along one of the five dimensions of the logits.
Array places_along(int64_t size, int64_t dimension) {
  Shape shape(5, 1);
  shape[dimension] = size;
  return lax::iota(DType::kInt32, shape, dimension);
}

Array lengths(const Array& x, const char* name, const AttentionSizes& sizes) {
  if (x.dtype() != DType::kInt32 || x.rank() != 1 || x.shape()[0] != sizes.b) {
    refuse_attention(
        fmt::format("{} must be i32[{}], got {}", name, sizes.b, x.type().to_string()));
  }
  return numpy::reshape(x, {sizes.b, 1, 1, 1, 1});
}

// The combined mask of the logits to use; empty if all are used.
std::optional<Array> whole_mask(const AttentionOptions& options, const AttentionSizes& sizes) {
  std::optional<Array> mask;
  const auto add = [&](const Array& more) { mask = mask ? numpy::logical_and(*mask, more) : more; };
  const Array query = places_along(sizes.t, 3), key = places_along(sizes.s, 4);
  if (options.mask) {
    if (options.mask->dtype() != DType::kBool) {
      refuse_attention(fmt::format("mask must be bool, got {}; numbers to add are a bias",
                                   options.mask->type().to_string()));
    }
    add(by_group(*options.mask, "mask", sizes));
  }
  if (options.is_causal) add(query >= key);
  if (options.local_window_size) {
    const auto [before, after] = *options.local_window_size;
    if (before < 0 || after < 0) {
      refuse_attention(
          fmt::format("local_window_size must not be negative, got ({}, {})", before, after));
    }
    add(numpy::logical_and(key >= query - Array(before), key <= query + Array(after)));
  }
  if (options.query_seq_lengths) {
    add(query < lengths(*options.query_seq_lengths, "query_seq_lengths", sizes));
  }
  if (options.key_value_seq_lengths) {
    add(key < lengths(*options.key_value_seq_lengths, "key_value_seq_lengths", sizes));
  }
  return mask;
}

// The value of a masked logit: so low that its weight is zero beside any other, but finite, so that
// fully masked rows stay finite.
Array low_logit(DType dtype) {
  const double largest = dtype == DType::kFloat64 ? std::numeric_limits<double>::max()
                                                  : std::numeric_limits<float>::max();
  return scalar_of(dtype, -0.7 * largest);
}

}  // namespace

Attention attention(const Array& query, const Array& key, const Array& value,
                    const AttentionOptions& options) {
  const Array keys = in_four_dimensions(key, "key", 3);
  const Array values = in_four_dimensions(value, "value", 3);
  const Array queries = in_four_dimensions(query, "query", 3);
  const AttentionSizes sizes = sizes_of(queries, keys, values);
  const DType dtype = keys.dtype();
  const DType wide = dtype == DType::kFloat64 ? dtype : DType::kFloat32;
  const double scale = options.scale.value_or(1 / std::sqrt(static_cast<double>(sizes.h)));

  const Array grouped =
      numpy::reshape(queries, {sizes.b, sizes.t, sizes.k, sizes.n / sizes.k, sizes.h});
  Array logits =
      numpy::einsum("btkgh,bskh->bkgts", {numpy::astype(grouped, wide), numpy::astype(keys, wide)});
  logits = logits * scalar_of(wide, scale);
  if (options.bias) {
    logits = numpy::astype(logits + by_group(*options.bias, "bias", sizes), wide);
  }
  if (const auto mask = whole_mask(options, sizes)) {
    logits = numpy::where(*mask, logits, low_logit(wide));
  }
  // The derivative through the maximum cancels.
  const Array top = lax::stop_gradient(numpy::max(logits, -1, /*keepdims=*/true));
  const Array terms = numpy::exp(logits - top);
  const Array total = numpy::sum(terms, -1, /*keepdims=*/true);
  const Array weights = numpy::astype(terms / total, dtype);
  Array output = numpy::einsum("bkgts,bskh->btkgh", {weights, values});
  if (options.query_seq_lengths) {
    const Array counts =
        numpy::reshape(lax::iota(DType::kInt32, {sizes.t}, 0), {1, sizes.t, 1, 1, 1}) <
        lengths(*options.query_seq_lengths, "query_seq_lengths", sizes);
    output = numpy::where(counts, output, scalar_of(dtype, 0));
  }
  const Array sums = numpy::squeeze(numpy::log(total) + top, -1);
  const Array residual = numpy::astype(numpy::transpose(sums, {0, 3, 1, 2}), dtype);
  const auto shape = query.shape();
  return {numpy::reshape(output, shape), numpy::reshape(residual, shape.first(shape.size() - 1))};
}

Array dot_product_attention(const Array& query, const Array& key, const Array& value,
                            const AttentionOptions& options) {
  return attention(query, key, value, options).output;
}

}  // namespace farcall::nn
