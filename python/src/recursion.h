// Functions that call themselves, or Python, as deep as the user's objects are nested.
#pragma once

namespace farcall::python {

// One level of recursion, while it lives. Raises RecursionError where Python's limit is reached,
// and where the thread's stack is nearly used up: users may set the limit to what no stack can
// hold. `where` goes on after "maximum recursion depth exceeded".
class Recursion {
 public:
  explicit Recursion(const char* where);
  ~Recursion();
  Recursion(const Recursion&) = delete;
  Recursion& operator=(const Recursion&) = delete;
};

}  // namespace farcall::python
