// The origin of traced arrays, for messages: the traced function, its argument, the user's line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Declares how messages name the function that the current interpreter traces, and its inputs.
// `inputs` and what `name` refers to must outlive the scope.
class FARCALL_API TracedCallScope {
 public:
  using InputName = std::function<std::string(size_t input)>;  // "argument x.weights"
  TracedCallScope(std::string_view where, std::span<const Array> inputs, InputName name);
  ~TracedCallScope();
  TracedCallScope(const TracedCallScope&) = delete;
  TracedCallScope& operator=(const TracedCallScope&) = delete;

 private:
  friend struct TracedCalls;
  uint64_t interpreter_;
  std::span<const Array> inputs_;
  InputName name_;
  const TracedCallScope* outer_;
};

// Why the values of a traced array are not known: "its values are not known while jit(f) is traced;
// it was made by gt at model.py:3 (f), from argument x".
FARCALL_API std::string why_unknown(const Array& array);
// What the user can do to know them: "make argument x static (static_argnums), or call this part
// outside jit(f)".
FARCALL_API std::string how_to_know(const Array& array);

// Where an array that outlived its traced function was made: "it was made at model.py:3 (f), while
// jit(f) was traced". Empty if neither line nor function is known.
FARCALL_API std::string origin_of_leak(const Array& array);

}  // namespace farcall
