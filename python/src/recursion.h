// Recursion limits for functions that recurse as deep as user objects are nested.
#pragma once

namespace farcall::python {

// One level of recursion, for its lifetime. Raises RecursionError when Python's limit is reached or
// the thread's stack is nearly exhausted: users may set the limit beyond what the stack can hold.
// `where` follows "maximum recursion depth exceeded" in the message.
class Recursion {
 public:
  explicit Recursion(const char* where);
  ~Recursion();
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
};

}  // namespace farcall::python
