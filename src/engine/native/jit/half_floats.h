// float16 numbers that registers of float32 stand for. Processors with arithmetic on float16 need
// not round the results of float32 to it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "engine/native/jit/builder.h"

namespace farcall::native::jit {

class HalfFloats {
 public:
  // `wide` is the type of the registers of float32.
  HalfFloats(Builder& builder, RegType wide) : b_(builder), wide_(wide) {}

  RegType type() const { return vector(2, wide_.lanes); }
  // Both registers hold the same numbers.
  void note(Arg wide, Arg half);
  // The result of an elementwise primitive on float32.
  void note_result(std::string_view primitive, std::span<const Arg> inputs, Arg made);
  // The same numbers as float16, if they are known.
  std::optional<Arg> half_of(Arg wide) const;
  // float32 numbers rounded to float16, as float32.
  Arg rounded(Arg wide);

 private:
  Arg in_halves(Arg wide);

  // A sum, a difference or a product.
  struct Arithmetic {
    Op op;
    Arg x, y;
  };
  Builder& b_;
  RegType wide_;
  // By a register of float32.
  std::map<Reg, Arg> halves_;
  std::map<Reg, Arithmetic> arithmetic_;
};

}  // namespace farcall::native::jit
