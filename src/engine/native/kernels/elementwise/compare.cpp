// Comparisons. With a NaN operand all are false except "ne".
#include "engine/native/kernels/elementwise/elementwise.h"
#include "engine/native/kernels/movement/rows.h"

namespace farcall::native {
namespace {

struct Equal {
  static constexpr bool kSignless = true;
  template <class T>
  bool operator()(T x, T y) const {
    return x == y;
  }
};
struct NotEqual {
  static constexpr bool kSignless = true;
  template <class T>
  bool operator()(T x, T y) const {
    return x != y;
  }
};
struct Less {
  template <class T>
  requires(!Complex<T>) bool operator()(T x, T y) const { return x < y; }
};
struct LessEqual {
  template <class T>
  requires(!Complex<T>) bool operator()(T x, T y) const { return x <= y; }
};
struct Greater {
  template <class T>
  requires(!Complex<T>) bool operator()(T x, T y) const { return x > y; }
};
struct GreaterEqual {
  template <class T>
  requires(!Complex<T>) bool operator()(T x, T y) const { return x >= y; }
};

constexpr KernelRow kRows[] = {
    {"eq", make_binary<Equal>},   {"ge", make_binary<GreaterEqual>},
    {"gt", make_binary<Greater>}, {"le", make_binary<LessEqual>},
    {"lt", make_binary<Less>},    {"ne", make_binary<NotEqual>},
};

}  // namespace

std::span<const KernelRow> compare_rows() { return kRows; }

}  // namespace farcall::native
