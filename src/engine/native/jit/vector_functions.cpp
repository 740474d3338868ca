#include "engine/native/jit/vector_functions.h"

#include <type_traits>
#include <utility>

#include "engine/native/jit/symbols.h"

// The functions below use these vectors instead of Highway's.
#define FARCALL_VECTORS ::farcall::native::jit::symbols
#define FARCALL_MAX_OF_X86 1
#define FARCALL_HAS_FMA 1
#define FARCALL_CAN_SCALE ::farcall::native::jit::symbols::can_scale
#include "engine/native/kernels/vector/erf-inl.h"
#include "engine/native/kernels/vector/exp-inl.h"
#include "engine/native/kernels/vector/trig-inl.h"

namespace farcall::native::jit {
namespace {

namespace functions = HWY_NAMESPACE;

template <class Function>
Arg write(RegType type, std::span<const Arg> args) {
  const auto of = [&]<class T>(symbols::Tag<T> d) {
    using V = symbols::Lanes<T>;
    if constexpr (std::is_invocable_v<Function, symbols::Tag<T>, V, V>) {
      return Function()(d, V{args[0]}, V{args[1]}).arg;
    } else {
      return Function()(d, V{args[0]}).arg;
    }
  };
  return type.width == 4 ? of(symbols::Tag<float>()) : of(symbols::Tag<double>());
}

constexpr std::pair<std::string_view, VectorFunction> kFunctions[] = {
    {"acos", write<functions::Acos>},         {"asin", write<functions::Asin>},
    {"atan", write<functions::Atan>},         {"atan2", write<functions::Atan2>},
    {"cos", write<functions::Cos>},           {"sin", write<functions::Sin>},
    {"cospi", write<functions::CosPi>},       {"sinpi", write<functions::SinPi>},
    {"tan", write<functions::Tan>},           {"acosh", write<functions::Acosh>},
    {"asinh", write<functions::Asinh>},       {"atanh", write<functions::Atanh>},
    {"erf", write<functions::Erf>},           {"erfc", write<functions::Erfc>},
    {"ndtr", write<functions::Ndtr>},         {"cbrt", write<functions::Cbrt>},
    {"cosh", write<functions::Cosh>},         {"exp", write<functions::Exp>},
    {"exp2", write<functions::Exp2>},         {"expm1", write<functions::Expm1>},
    {"log", write<functions::Log>},           {"log10", write<functions::Log10>},
    {"log1p", write<functions::Log1p>},       {"log2", write<functions::Log2>},
    {"logistic", write<functions::Logistic>}, {"sinh", write<functions::Sinh>},
    {"tanh", write<functions::Tanh>}};

}  // namespace

std::span<const std::pair<std::string_view, VectorFunction>> vector_functions() {
  return kFunctions;
}

Arg write_vector(Builder& builder, VectorFunction function, RegType type, std::span<const Arg> args,
                 const std::function<Arg()>& call) {
  symbols::writer = {&builder, type.lanes, &call};
  return function(type, args);
}

}  // namespace farcall::native::jit
