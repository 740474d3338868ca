#include "engine/native/jit/vector_functions.h"

#include <utility>

#include "engine/native/jit/symbols.h"

// The functions below see these vectors in place of Highway's.
#define FARCALL_VECTORS ::farcall::native::jit::symbols
#define FARCALL_HAS_FMA 1
#include "engine/native/kernels/vector_exp-inl.h"

namespace farcall::native::jit {
namespace {

namespace functions = HWY_NAMESPACE;

template <class Function>
Arg write(RegType type, Arg x) {
  if (type.width == 4) return Function()(symbols::Tag<float>(), symbols::Lanes<float>{x}).arg;
  return Function()(symbols::Tag<double>(), symbols::Lanes<double>{x}).arg;
}

constexpr std::pair<std::string_view, Arg (*)(RegType type, Arg x)> kFunctions[] = {
    {"acosh", write<functions::Acosh>},       {"asinh", write<functions::Asinh>},
    {"atanh", write<functions::Atanh>},       {"cbrt", write<functions::Cbrt>},
    {"cosh", write<functions::Cosh>},         {"exp", write<functions::Exp>},
    {"exp2", write<functions::Exp2>},         {"expm1", write<functions::Expm1>},
    {"log", write<functions::Log>},           {"log10", write<functions::Log10>},
    {"log1p", write<functions::Log1p>},       {"log2", write<functions::Log2>},
    {"logistic", write<functions::Logistic>}, {"sinh", write<functions::Sinh>},
    {"tanh", write<functions::Tanh>}};

}  // namespace

std::optional<Arg> vector_function(Builder& builder, std::string_view name, RegType type,
                                   std::span<const Arg> args) {
  for (const auto& [known, write_function] : kFunctions) {
    if (known != name) continue;
    symbols::writer = {&builder, type.lanes};
    return write_function(type, args[0]);
  }
  return std::nullopt;
}

}  // namespace farcall::native::jit
