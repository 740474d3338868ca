// The steps of Fourier transforms.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/native/kernels/vector/fourier.cpp"

#include "engine/native/kernels/vector/fourier.h"
#include "engine/native/kernels/vector/targets.h"

#include <numbers>

#include <hwy/foreach_target.h>
// Must come after foreach_target.h.
#include <hwy/highway.h>

#ifndef FARCALL_FOURIER_ONCE
#define FARCALL_FOURIER_ONCE
namespace farcall::native {

// The cosines and sines of 2 pi j / kRadix, by Taylor's series.
template <int64_t kRadix>
struct CosinesAndSines {
  double cosine[kRadix], sine[kRadix];

  constexpr CosinesAndSines() : cosine{}, sine{} {
    for (int64_t j = 0; j < kRadix; ++j) {
      // At most half a turn, where few terms are enough.
      const int64_t turn = 2 * j > kRadix ? j - kRadix : j;
      const long double angle = 2 * std::numbers::pi_v<long double> * turn / kRadix;
      long double term = 1, sums[2] = {0, 0};
      for (int64_t i = 0; i < 40; ++i) {
        sums[i % 2] += i % 4 < 2 ? term : -term;
        term *= angle / (i + 1);
      }
      cosine[j] = static_cast<double>(sums[0]);
      sine[j] = static_cast<double>(sums[1]);
    }
  }
};

}  // namespace farcall::native
#endif

#include "engine/native/kernels/vector/fourier-inl.h"

HWY_BEFORE_NAMESPACE();
namespace farcall::native::HWY_NAMESPACE {
namespace {

template <class T>
struct Turn {
  T re, im;

  template <class D>
  HWY_INLINE Numbers<D> of(Numbers<D> a) const {
    return product(a, Numbers<D>{hn::Set(D(), re), hn::Set(D(), im)});
  }
};

// The turns of the results of group p. In the last step there is one group, whose turns are all 1.
template <class T, int64_t kRadix, bool kIsLast>
struct Turns {
  Turn<T> turns[kRadix];

  HWY_INLINE Turns(const FourierStep<T>& step, int64_t p) {
    for (int64_t j = 1; j < kRadix; ++j) {
      const int64_t at = j * p * step.stride;
      turns[j] = {step.root_re[at], step.root_im[at]};
    }
  }
  template <class D>
  HWY_INLINE Numbers<D> of(int64_t j, Numbers<D> a) const {
    return kIsLast || j == 0 ? a : turns[j].of(a);
  }
};

// The memory of a group of numbers that are transformed together: the first operand and result, and
// the distance from each to the next.
template <class T>
struct Group {
  FourierParts<T> x, y;
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

template <class T, bool kIsLast>
struct Radix2 {
  Turns<T, 2, kIsLast> turns;
  Radix2(const FourierStep<T>& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group<T>& group, int64_t at) const {
    const auto a = group.load(d, 0, at), b = group.load(d, 1, at);
    group.store(a.plus(b), 0, at);
    group.store(turns.of(1, a.less(b)), 1, at);
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

template <class T, bool kIsLast>
struct Radix4 {
  Turns<T, 4, kIsLast> turns;
  Radix4(const FourierStep<T>& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group<T>& group, int64_t at) const {
    const auto of = [&](int64_t k) HWY_ATTR { return group.load(d, k, at); };
    const Four<D> all(of(0), of(1), of(2), of(3));
#pragma GCC unroll 4
    for (int64_t j = 0; j < 4; ++j) group.store(turns.of(j, all.y[j]), j, at);
  }
};

template <class T, bool kIsLast>
struct Radix8 {
  Turns<T, 8, kIsLast> turns;
  Radix8(const FourierStep<T>& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group<T>& group, int64_t at) const {
    constexpr auto kSine = static_cast<T>(1 / std::numbers::sqrt2);
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

// x[k] and x[radix - k] have conjugate roots: the sum of both times cosines and their difference
// times sines give results j and radix - j.
template <class T, int64_t kRadix, bool kIsLast>
struct OddRadix {
  static constexpr int64_t kHalf = kRadix / 2;
  Turns<T, kRadix, kIsLast> turns;
  OddRadix(const FourierStep<T>& step, int64_t p) : turns(step, p) {}

  template <class D>
  HWY_INLINE void operator()(D d, const Group<T>& group, int64_t at) const {
    constexpr CosinesAndSines<kRadix> kCircle;
    const auto first = group.load(d, 0, at);
    Numbers<D> sums[kHalf], differences[kHalf];
    auto total = first;
#pragma GCC unroll 6
    for (int64_t k = 0; k < kHalf; ++k) {
      const auto a = group.load(d, k + 1, at), b = group.load(d, kRadix - 1 - k, at);
      sums[k] = a.plus(b);
      differences[k] = a.less(b);
      total = total.plus(sums[k]);
    }
    group.store(total, 0, at);
#pragma GCC unroll 6
    for (int64_t j = 1; j <= kHalf; ++j) {
      auto middle = first;
      auto side = differences[0].times(static_cast<T>(kCircle.sine[j]));
#pragma GCC unroll 6
      for (int64_t k = 0; k < kHalf; ++k) {
        const int64_t turn = j * (k + 1) % kRadix;
        middle = middle.plus(sums[k].times(static_cast<T>(kCircle.cosine[turn])));
        if (k == 0) continue;
        side = side.plus(differences[k].times(static_cast<T>(kCircle.sine[turn])));
      }
      side = side.times_minus_i();
      group.store(turns.of(j, middle.plus(side)), j, at);
      group.store(turns.of(kRadix - j, middle.less(side)), kRadix - j, at);
    }
  }
};

template <class Radix, class T>
void run(const FourierStep<T>& step) {
  const int64_t width = step.stride * step.lanes;
  for (int64_t p = 0; p < step.count; ++p) {
    const Radix radix(step, p);
    const int64_t x = p * width, y = x * step.radix;
    const Group<T> group = {
        {step.x.re + x, step.x.im + x}, {step.y.re + y, step.y.im + y}, step.count * width, width};
    for_parts<T>(width, [&](auto tag, int64_t at) HWY_ATTR { radix(tag, group, at); });
  }
}

template <template <class, bool> class Radix, class T>
void run(const FourierStep<T>& step) {
  step.count == 1 ? run<Radix<T, true>>(step) : run<Radix<T, false>>(step);
}
template <int64_t kRadix, class T>
void run_odd(const FourierStep<T>& step) {
  step.count == 1 ? run<OddRadix<T, kRadix, true>>(step) : run<OddRadix<T, kRadix, false>>(step);
}

template <class T>
void run_step(const FourierStep<T>& step) {
  switch (step.radix) {
    case 2:
      return run<Radix2>(step);
    case 3:
      return run_odd<3>(step);
    case 4:
      return run<Radix4>(step);
    case 5:
      return run_odd<5>(step);
    case 7:
      return run_odd<7>(step);
    case 8:
      return run<Radix8>(step);
    case 11:
      return run_odd<11>(step);
    default:
      return run_odd<kLargestFourierFactor>(step);
  }
}

// y may be x, so no number is covered twice.
template <class T>
void multiply(const FourierFactors<T>& p) {
  const hn::ScalableTag<T> d;
  const hn::CappedTag<T, 1> one;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<T>()));
  for (int64_t j = 0; j < p.count; ++j) {
    const T *const re = p.re + j * p.factors_apart, *const im = p.im + j * p.factors_apart;
    const auto multiply_part = [&](auto tag, int64_t w) HWY_ATTR {
      using N = Numbers<decltype(tag)>;
      const int64_t at = j * p.apart + w;
      const N by = p.is_one_per_row ? N{hn::Set(tag, *re), hn::Set(tag, *im)}
                                    : N{hn::LoadU(tag, re + w), hn::LoadU(tag, im + w)};
      product(N::load(p.x, at), by).store(p.y, at);
    };
    int64_t w = 0;
    for (; w + kLanes <= p.lanes; w += kLanes) multiply_part(d, w);
    for (; w < p.lanes; ++w) multiply_part(one, w);
  }
}

// Highway exports functions, not templates.
#define FARCALL_FOURIER(name, T)                                   \
  void step_##name(const FourierStep<T>& step) { run_step(step); } \
  void multiply_##name(const FourierFactors<T>& factors) { multiply(factors); }
FARCALL_FOURIER(float, float)
FARCALL_FOURIER(double, double)
#undef FARCALL_FOURIER

}  // namespace
}  // namespace farcall::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace farcall::native {

#define FARCALL_FOURIER(name, T)                            \
  namespace {                                               \
  HWY_EXPORT(step_##name);                                  \
  HWY_EXPORT(multiply_##name);                              \
  }                                                         \
  template <>                                               \
  void run_fourier_step(const FourierStep<T>& step) {       \
    HWY_DYNAMIC_DISPATCH(step_##name)(step);                \
  }                                                         \
  template <>                                               \
  void multiply_numbers(const FourierFactors<T>& factors) { \
    HWY_DYNAMIC_DISPATCH(multiply_##name)(factors);         \
  }
FARCALL_FOURIER(float, float)
FARCALL_FOURIER(double, double)
#undef FARCALL_FOURIER

}  // namespace farcall::native
#endif
