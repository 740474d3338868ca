#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/products/short_product.cpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <farcall/core/sizes.h>

#include "engine/native/kernels/products/byte_product.h"
#include "engine/native/kernels/products/integer_parts.h"
#include "engine/native/kernels/products/short_product.h"
#include "engine/native/kernels/vector/targets.h"

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

#if HWY_TARGET == HWY_SCALAR

Multiply find_short(DType) { return nullptr; }

#else

namespace hn = hwy::HWY_NAMESPACE;

using Sums = hn::ScalableTag<int32_t>;
using Factors = hn::Repartition<int16_t, Sums>;
using Sum = hn::Vec<Sums>;
using Factor = hn::Vec<Factors>;

constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Sums()));
constexpr int64_t kPanel = 2 * kLanes;  // columns that are computed at a time
constexpr int64_t kRows = HWY_TARGET == HWY_AVX3 ? 8 : 4;
constexpr int64_t kDepth = 512;  // summed before the next panel

// Elements 2 p and 2 p + 1 of a row of A or a column of B are side by side: instructions add two
// products. An odd number of them is followed by zero.

// Rows of kDepth elements.
template <class T>
void pack_rows(const T* a, int64_t row_stride, int64_t column_stride, int64_t rows, int64_t depth,
               int16_t* __restrict packed) {
  for (int64_t i = 0; i < rows; ++i, a += row_stride, packed += kDepth) {
    if (column_stride == 1) {
      for (int64_t k = 0; k < depth; ++k) packed[k] = a[k];
    } else {
      for (int64_t k = 0; k < depth; ++k) packed[k] = a[k * column_stride];
    }
    if (depth % 2 != 0) packed[depth] = 0;
  }
}

template <class T>
Factor load_factors(const T* from) {
  const Factors d;
  const hn::Rebind<T, Factors> narrow;
  if constexpr (sizeof(T) == sizeof(int16_t)) {
    return hn::LoadU(d, from);
  } else {
    return hn::PromoteTo(d, hn::LoadU(narrow, from));
  }
}

// Columns after the last one are zero.
template <class T>
void pack_panel(const T* b, int64_t row_stride, int64_t column_stride, int64_t depth,
                int64_t columns, int16_t* packed) {
  for (int64_t k = 0; k < depth; k += 2, packed += 2 * kPanel, b += 2 * row_stride) {
    const bool has_second = k + 1 < depth;
    if (column_stride == 1 && columns == kPanel && has_second) {
      hn::StoreInterleaved2(load_factors(b), load_factors(b + row_stride), Factors(), packed);
      continue;
    }
    for (int64_t j = 0; j < columns; ++j) {
      const T* const from = b + j * column_stride;
      packed[2 * j] = from[0];
      packed[2 * j + 1] = has_second ? int16_t{from[row_stride]} : int16_t{0};
    }
    std::fill(packed + 2 * columns, packed + 2 * kPanel, int16_t{0});
  }
}

// Some rows of a panel, added to the result unless it is the first part of the sums.
template <int64_t kCount>
void multiply_rows(const int16_t* a, const int16_t* b, int64_t depth, bool is_first, int32_t* c,
                   int64_t c_stride, int64_t columns) {
  const Sums d;
  const Factors factors;
  // Where an instruction does not add products that are side by side, `others` has a part of the
  // sums. The compiler keeps arrays in registers only where all indices are known.
  Sum sums[kCount][2], others[kCount][2];
  [&]<size_t... i>(std::index_sequence<i...>) HWY_ATTR {
    ((sums[i][0] = sums[i][1] = others[i][0] = others[i][1] = hn::Zero(d)), ...);
    for (int64_t k = 0; k < depth; k += 2, b += 2 * kPanel) {
      const Factor first = hn::LoadU(factors, b), second = hn::LoadU(factors, b + 2 * kLanes);
      const auto add_row = [&](int64_t row, Sum(&sum)[2], Sum(&other)[2]) HWY_ATTR {
        int32_t pair;
        std::memcpy(&pair, a + row * kDepth + k, sizeof(pair));
        const Factor factor = hn::BitCast(factors, hn::Set(d, pair));
        sum[0] = hn::ReorderWidenMulAccumulate(d, factor, first, sum[0], other[0]);
        sum[1] = hn::ReorderWidenMulAccumulate(d, factor, second, sum[1], other[1]);
      };
      (add_row(i, sums[i], others[i]), ...);
    }
  }
  (std::make_index_sequence<kCount>());
#pragma GCC unroll 8
  for (int64_t i = 0; i < kCount; ++i) {
    HWY_ALIGN int32_t found[kPanel];
    hn::Store(hn::RearrangeToOddPlusEven(sums[i][0], others[i][0]), d, found);
    hn::Store(hn::RearrangeToOddPlusEven(sums[i][1], others[i][1]), d, found + kLanes);
    int32_t* const to = c + i * c_stride;
    // The sums wrap.
    for (int64_t j = 0; j < columns; ++j) {
      const auto before = is_first ? 0U : static_cast<uint32_t>(to[j]);
      to[j] = static_cast<int32_t>(before + static_cast<uint32_t>(found[j]));
    }
  }
}

// Returns false if the program is to stop.
template <class T>
bool multiply_part(const Product& p, std::vector<int16_t>& memory, Tiles& tiles) {
  memory.resize(static_cast<size_t>(kDepth * (p.m + kPanel)));
  int16_t* const a = memory.data();
  int16_t* const b = a + kDepth * p.m;
  auto* const c = static_cast<int32_t*>(p.c);
  for (int64_t k = 0; k < p.k; k += kDepth) {
    const int64_t depth = std::min(kDepth, p.k - k);
    pack_rows(static_cast<const T*>(p.a.data) + k * p.a.column_stride, p.a.row_stride,
              p.a.column_stride, p.m, depth, a);
    for (int64_t column = 0; column < p.n; column += kPanel) {
      const int64_t columns = std::min(kPanel, p.n - column);
      pack_panel(static_cast<const T*>(p.b.data) + k * p.b.row_stride + column * p.b.column_stride,
                 p.b.row_stride, p.b.column_stride, depth, columns, b);
      int64_t row = 0;
      const auto multiply = [&]<int64_t kCount>(std::integral_constant<int64_t, kCount>) {
        for (; row + kCount <= p.m; row += kCount) {
          multiply_rows<kCount>(a + row * kDepth, b, depth, k == 0,
                                c + row * p.c_row_stride + column, p.c_row_stride, columns);
        }
      };
      multiply(std::integral_constant<int64_t, kRows>());
      multiply(std::integral_constant<int64_t, 1>());
      if (!tiles.go_on(p.m * columns * depth)) return false;
    }
  }
  return true;
}

template <class T>
void multiply(const Product& p) {
  const int64_t cost = saturated_product(saturated_product(p.m, p.n), p.k);
  multiply_in_parts<T>(
      p,
      {.step = {kRows, kPanel},
       .least = {64, kPanel},
       .most = {256, 4 * kPanel},
       .num_of_thread = 3},
      num_threads_for(saturated_product(cost, p.batches.count)),
      [](PartSizes) { return std::vector<int16_t>(); }, multiply_part<T>);
}

Multiply find_short(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return multiply<int8_t>;
    case DType::kUInt8:
      return multiply<uint8_t>;
    case DType::kInt16:
      return multiply<int16_t>;
    default:
      return nullptr;
  }
}

#endif

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(find_short);
}  // namespace

Multiply find_short_product(DType operands, DType results) {
  const bool is_narrow = is_integer(results) && byte_width(results) <= 4;
  if (!is_narrow) return nullptr;
  const Multiply multiply = find_byte_product(operands);
  return multiply ? multiply : HWY_DYNAMIC_DISPATCH(find_short)(operands);
}

}  // namespace farcall::native
#endif
