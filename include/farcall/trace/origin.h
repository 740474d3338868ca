// Where traced arrays come from, for messages: the function that is traced, its argument, the
// user's line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <farcall/core/export.h>
#include <farcall/trace/array.h>

namespace farcall {

// Says, while the current interpreter traces a function, how messages name the function and its
// inputs. What `inputs` and `name` refer to must live as long as the scope.
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
// What makes them known: "make argument x static (static_argnums), or call this part outside
// jit(f)".
FARCALL_API std::string how_to_know(const Array& array);

// Of which function an array is that outlived it, and where it was made: "it was made at
// model.py:3 (f), while jit(f) was traced". Empty where neither is known.
FARCALL_API std::string origin_of_leak(const Array& array);

}  // namespace farcall
