#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/fourier.cpp"

#include "engine/native/kernels/vector/fourier.h"
#include "engine/native/kernels/vector/prefetch.h"
#include "engine/native/kernels/vector/targets.h"

#include <numbers>
#include <type_traits>

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#include "engine/native/kernels/vector/demote-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// As many complex numbers as a vector of D has lanes.
template <class D>
struct Numbers {
  using Vector = hn::Vec<D>;
  Vector re, im;

  HWY_INLINE static Numbers load(FourierParts from, int64_t at) {
    return {hn::LoadU(D(), from.re + at), hn::LoadU(D(), from.im + at)};
  }
  HWY_INLINE void store(FourierParts to, int64_t at) const {
    hn::StoreU(re, D(), to.re + at);
    hn::StoreU(im, D(), to.im + at);
  }
  HWY_INLINE Numbers plus(Numbers b) const { return {hn::Add(re, b.re), hn::Add(im, b.im)}; }
  HWY_INLINE Numbers less(Numbers b) const { return {hn::Sub(re, b.re), hn::Sub(im, b.im)}; }
  HWY_INLINE Numbers times(double b) const {
    const Vector factor = hn::Set(D(), b);
    return {hn::Mul(re, factor), hn::Mul(im, factor)};
  }
  HWY_INLINE Numbers times_minus_i() const { return {im, hn::Neg(re)}; }
};

template <class D>
HWY_INLINE Numbers<D> product(Numbers<D> a, Numbers<D> b) {
  return {hn::Sub(hn::Mul(a.re, b.re), hn::Mul(a.im, b.im)),
          hn::Add(hn::Mul(a.re, b.im), hn::Mul(a.im, b.re))};
}

struct Turn {
  double re, im;

  template <class D>
  HWY_INLINE Numbers<D> of(Numbers<D> a) const {
    return product(a, Numbers<D>{hn::Set(D(), re), hn::Set(D(), im)});
  }
};

HWY_INLINE Turn root(const FourierStep& step, int64_t at) {
  return {step.root_re[at], step.root_im[at]};
}

// The turns of the results of group p. In the last step there is one group, whose turns are all 1.
template <int64_t kRadix, bool kIsLast>
struct Turns {
  Turn turns[kRadix];

  HWY_INLINE Turns(const FourierStep& step, int64_t p) {
    for (int64_t j = 1; j < kRadix; ++j) turns[j] = root(step, j * p * step.stride);
  }
  template <class D>
  HWY_INLINE Numbers<D> of(int64_t j, Numbers<D> a) const {
    return kIsLast || j == 0 ? a : turns[j].of(a);
  }
};

// The memory of a group of numbers that are transformed together: the first operand and result, and
// the distance from each to the next.
struct Group {
  FourierParts x, y;
  int64_t x_apart, y_apart;

  template <class D>
  HWY_INLINE Numbers<D> load(D, int64_t k, int64_t at) const {
    return Numbers<D>::load(x, k * x_apart + at);
  }
  template <class D>
  HWY_INLINE void store(Numbers<D> value, int64_t j, int64_t at) const {
    value.store(y, j * y_apart + at);
  }
};

template <bool kIsLast>
struct Radix2 {
  Turns<2, kIsLast> turns;
  Radix2(const FourierStep& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group& group, int64_t at) const {
    const auto a = group.load(d, 0, at), b = group.load(d, 1, at);
    group.store(a.plus(b), 0, at);
    group.store(turns.of(1, a.less(b)), 1, at);
  }
};

template <bool kIsLast>
struct Radix3 {
  Turns<3, kIsLast> turns;
  Radix3(const FourierStep& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group& group, int64_t at) const {
    constexpr double kSine = std::numbers::sqrt3 / 2;
    const auto a = group.load(d, 0, at), b = group.load(d, 1, at), c = group.load(d, 2, at);
    const auto sum = b.plus(c), middle = a.less(sum.times(0.5));
    const auto side = b.less(c).times(kSine).times_minus_i();
    group.store(a.plus(sum), 0, at);
    group.store(turns.of(1, middle.plus(side)), 1, at);
    group.store(turns.of(2, middle.less(side)), 2, at);
  }
};

// The transform of four numbers.
template <class D>
struct Four {
  Numbers<D> y[4];

  HWY_INLINE Four(Numbers<D> a, Numbers<D> b, Numbers<D> c, Numbers<D> e) {
    const auto even = a.plus(c), even_difference = a.less(c);
    const auto odd = b.plus(e), odd_difference = b.less(e).times_minus_i();
    y[0] = even.plus(odd);
    y[1] = even_difference.plus(odd_difference);
    y[2] = even.less(odd);
    y[3] = even_difference.less(odd_difference);
  }
};

template <bool kIsLast>
struct Radix4 {
  Turns<4, kIsLast> turns;
  Radix4(const FourierStep& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group& group, int64_t at) const {
    const auto of = [&](int64_t k) HWY_ATTR { return group.load(d, k, at); };
    const Four<D> all(of(0), of(1), of(2), of(3));
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; ++j) group.store(turns.of(j, all.y[j]), j, at);
  }
};

template <bool kIsLast>
struct Radix8 {
  Turns<8, kIsLast> turns;
  Radix8(const FourierStep& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group& group, int64_t at) const {
    constexpr double kSine = 1 / std::numbers::sqrt2;
    const auto of = [&](int64_t k) HWY_ATTR { return group.load(d, k, at); };
    const Four<D> even(of(0), of(2), of(4), of(6)), odd(of(1), of(3), of(5), of(7));
    // The odd ones times the roots of order eight.
    const auto first = odd.y[1], third = odd.y[3];
    const Numbers<D> turned[4] = {
        odd.y[0], Numbers<D>{hn::Add(first.re, first.im), hn::Sub(first.im, first.re)}.times(kSine),
        odd.y[2].times_minus_i(),
        Numbers<D>{hn::Sub(third.im, third.re), hn::Neg(hn::Add(third.re, third.im))}.times(kSine)};
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; ++j) {
      group.store(turns.of(j, even.y[j].plus(turned[j])), j, at);
      group.store(turns.of(j + 4, even.y[j].less(turned[j])), j + 4, at);
    }
  }
};

struct AnyRadix {
  const FourierStep& step;
  int64_t p;
  AnyRadix(const FourierStep& step, int64_t p) : step(step), p(p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group& group, int64_t at) const {
    const int64_t of_radix = step.count * step.stride;  // steps between roots of the radix
    for (int64_t j = 0; j < step.radix; ++j) {
      auto sum = group.load(d, 0, at);
      for (int64_t k = 1; k < step.radix; ++k) {
        sum = sum.plus(root(step, j * k % step.radix * of_radix).of(group.load(d, k, at)));
      }
      group.store(root(step, p * j * step.stride).of(sum), j, at);
    }
  }
};

template <class Radix>
void run(const FourierStep& step) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  const int64_t width = step.stride * step.lanes;
  for (int64_t p = 0; p < step.count; ++p) {
    const Radix radix(step, p);
    const int64_t x = p * width, y = x * step.radix;
    const Group group = {
        {step.x.re + x, step.x.im + x}, {step.y.re + y, step.y.im + y}, step.count * width, width};
    int64_t at = 0;
    for (; at + kLanes <= width; at += kLanes) radix(d, group, at);
    for (; at < width; ++at) radix(one, group, at);
  }
}

template <template <bool> class Radix>
void run(const FourierStep& step) {
  step.count == 1 ? run<Radix<true>>(step) : run<Radix<false>>(step);
}

void fourier_step(const FourierStep& step) {
  switch (step.radix) {
    case 2:
      return run<Radix2>(step);
    case 3:
      return run<Radix3>(step);
    case 4:
      return run<Radix4>(step);
    case 8:
      return run<Radix8>(step);
    default:
      return run<AnyRadix>(step);
  }
}

void turn_rows(const FourierTurns& turns) {
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  for (int64_t j = 0; j < turns.count; ++j) {
    const FourierParts x = {turns.x.re + j * turns.apart, turns.x.im + j * turns.apart};
    const double *const re = turns.re + j * turns.turns_apart, *const im =
                                                                   turns.im + j * turns.turns_apart;
    const auto turn = [&](auto tag, int64_t at) HWY_ATTR {
      using N = Numbers<decltype(tag)>;
      const N by = {hn::LoadU(tag, re + at), hn::LoadU(tag, im + at)};
      product(N::load(x, at), by).store(x, at);
    };
    int64_t at = 0;
    for (; at + kLanes <= turns.lanes; at += kLanes) turn(d, at);
    for (; at < turns.lanes; ++at) turn(one, at);
  }
}

#if HWY_TARGET != HWY_SCALAR  // has one lane
// Writes pairs of lanes, each pair `apart` numbers after the one before.
template <class D>
HWY_INLINE void store_pairs(D, Numbers<D> pairs, FourierParts to, int64_t apart) {
  if constexpr (hn::MaxLanes(D()) <= 2) {
    pairs.store(to, 0);
  } else {
    const hn::Half<D> half;
    const int64_t upper = static_cast<int64_t>(hn::MaxLanes(half)) / 2 * apart;
    store_pairs(half, {hn::LowerHalf(half, pairs.re), hn::LowerHalf(half, pairs.im)}, to, apart);
    store_pairs(half, {hn::UpperHalf(half, pairs.re), hn::UpperHalf(half, pairs.im)},
                {to.re + upper, to.im + upper}, apart);
  }
}
#endif

void turn_transposed(const FourierMatrix& matrix) {
  const hn::CappedTag<double, 1> one;
  const int64_t rows = matrix.rows, columns = matrix.columns;
  const auto turned = [&](auto tag, int64_t row, int64_t column) HWY_ATTR {
    using N = Numbers<decltype(tag)>;
    const int64_t at = row * columns + column;
    return product(N::load(matrix.x, at),
                   N{hn::LoadU(tag, matrix.re + at), hn::LoadU(tag, matrix.im + at)});
  };
  int64_t row = 0;
#if HWY_TARGET != HWY_SCALAR
  // Two rows at a time, of which the numbers in each column are a pair.
  const hn::ScalableTag<double> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  for (; row + 2 <= rows; row += 2) {
    int64_t column = 0;
    for (; column + kLanes <= columns; column += kLanes) {
      const auto a = turned(d, row, column), b = turned(d, row + 1, column);
      const int64_t at = column * rows + row;
      const FourierParts even = {matrix.y.re + at, matrix.y.im + at};
      store_pairs(d, {hn::InterleaveLower(d, a.re, b.re), hn::InterleaveLower(d, a.im, b.im)}, even,
                  2 * rows);
      store_pairs(d, {hn::InterleaveUpper(d, a.re, b.re), hn::InterleaveUpper(d, a.im, b.im)},
                  {even.re + rows, even.im + rows}, 2 * rows);
    }
    for (; column < columns; ++column) {
      turned(one, row, column).store(matrix.y, column * rows + row);
      turned(one, row + 1, column).store(matrix.y, column * rows + row + 1);
    }
  }
#endif
  for (; row < rows; ++row) {
    for (int64_t column = 0; column < columns; ++column) {
      turned(one, row, column).store(matrix.y, column * rows + row);
    }
  }
}

// ---- numbers in memory

// Of real and complex numbers.
template <class T>
using PartOf = decltype(std::real(T()));
template <class T>
constexpr bool kIsComplex = !std::is_same_v<T, PartOf<T>>;

template <class D, class T>
HWY_INLINE Numbers<D> numbers_at(D d, const T* x) {
  using Part = PartOf<T>;
  const hn::Rebind<Part, D> part;
  hn::Vec<decltype(part)> re, im;
  if constexpr (kIsComplex<T>) {
    hn::LoadInterleaved2(part, reinterpret_cast<const Part*>(x), re, im);
  } else {
    re = hn::LoadU(part, x);
    im = hn::Zero(part);
  }
  if constexpr (std::is_same_v<Part, double>) {
    return {re, im};
  } else {
    return {hn::PromoteTo(d, re), hn::PromoteTo(d, im)};
  }
}

template <class D, class T>
HWY_INLINE void put_numbers(D, Numbers<D> numbers, T* y) {
  using Part = PartOf<T>;
  const hn::Rebind<Part, D> part;
  const auto narrow = [&](auto x) HWY_ATTR {
    if constexpr (std::is_same_v<Part, double>) {
      return x;
    } else {
      return rounded_to_float(D(), x);
    }
  };
  if constexpr (kIsComplex<T>) {
    hn::StoreInterleaved2(narrow(numbers.re), narrow(numbers.im), part, reinterpret_cast<Part*>(y));
  } else {
    hn::StoreU(narrow(numbers.re), part, y);
  }
}

// Calls visit(tag, row, lane) for as many lanes as the tag has. Dense rows are one row. Requests
// others ahead: those of a column are on different pages.
template <bool is_written, class T, class Visit>
HWY_INLINE void for_rows(FourierRows<T> rows, Visit visit) {
  constexpr int64_t kAhead = is_written ? 6 : 16;
  const hn::ScalableTag<double> d;
  const hn::CappedTag<double, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
  if (rows.apart == rows.lanes) rows = {rows.first, 1, rows.count * rows.lanes, 0};
  for (int64_t j = 0; j < rows.count; ++j) {
    if (j + kAhead < rows.count) {
      const T* const ahead = rows.first + (j + kAhead) * rows.apart;
      for (const T* each : {ahead, ahead + rows.lanes - 1}) {
        is_written ? prefetch_to_write(each) : __builtin_prefetch(each, 0, 2);
      }
    }
    int64_t w = 0;
    for (; w + kLanes <= rows.lanes; w += kLanes) visit(d, j, w);
    for (; w < rows.lanes; ++w) visit(one, j, w);
  }
}

template <class T>
HWY_INLINE void load_rows(const FourierRows<const T>& from, FourierParts to) {
  for_rows<false>(from, [&](auto d, int64_t j, int64_t w) HWY_ATTR {
    numbers_at(d, from.first + j * from.apart + w).store(to, j * from.lanes + w);
  });
}

template <class T>
HWY_INLINE void store_rows(FourierParts from, double scale, const FourierRows<T>& to) {
  for_rows<true>(to, [&](auto d, int64_t j, int64_t w) HWY_ATTR {
    const auto numbers = Numbers<decltype(d)>::load(from, j * to.lanes + w).times(scale);
    put_numbers(d, numbers, to.first + j * to.apart + w);
  });
}

// Highway exports functions, not templates.
#define FARCALL_FOURIER_MEMORY(name, T)                                                        \
  void load_##name(const FourierRows<const T>& from, FourierParts to) { load_rows(from, to); } \
  void store_##name(FourierParts from, double scale, const FourierRows<T>& to) {               \
    store_rows(from, scale, to);                                                               \
  }
FARCALL_FOURIER_MEMORY(float, float)
FARCALL_FOURIER_MEMORY(double, double)
FARCALL_FOURIER_MEMORY(complex64, std::complex<float>)
FARCALL_FOURIER_MEMORY(complex128, std::complex<double>)
#undef FARCALL_FOURIER_MEMORY

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {
namespace {
HWY_EXPORT(fourier_step);
HWY_EXPORT(turn_rows);
HWY_EXPORT(turn_transposed);
}  // namespace

void run_fourier_step(const FourierStep& step) { HWY_DYNAMIC_DISPATCH(fourier_step)(step); }
void turn_numbers(const FourierTurns& turns) { HWY_DYNAMIC_DISPATCH(turn_rows)(turns); }
void turn_and_transpose(const FourierMatrix& matrix) {
  HWY_DYNAMIC_DISPATCH(turn_transposed)(matrix);
}

#define FARCALL_FOURIER_MEMORY(name, T)                                           \
  namespace {                                                                     \
  HWY_EXPORT(load_##name);                                                        \
  HWY_EXPORT(store_##name);                                                       \
  }                                                                               \
  void load_numbers(const FourierRows<const T>& from, FourierParts to) {          \
    HWY_DYNAMIC_DISPATCH(load_##name)(from, to);                                  \
  }                                                                               \
  void store_numbers(FourierParts from, double scale, const FourierRows<T>& to) { \
    HWY_DYNAMIC_DISPATCH(store_##name)(from, scale, to);                          \
  }
FARCALL_FOURIER_MEMORY(float, float)
FARCALL_FOURIER_MEMORY(double, double)
FARCALL_FOURIER_MEMORY(complex64, std::complex<float>)
FARCALL_FOURIER_MEMORY(complex128, std::complex<double>)
#undef FARCALL_FOURIER_MEMORY

}  // namespace farcall::native
#endif
