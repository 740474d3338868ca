// The foreign calls of a program, including callbacks, in one form.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include <farcall/ffi/foreign_call.h>
#include <farcall/primitives/callback.h>
#include <farcall/primitives/ffi_call.h>
#include <farcall/program/program.h>

namespace farcall::native {

class ForeignCalls {
 public:
  explicit ForeignCalls(const Program& program);

  // The parameters of the equation's call; null if it is not a foreign call.
  const FfiCallParams* at(size_t equation) const;
  // The callback that the equation calls; null if the target is found by name.
  const CallbackParams* callback_at(size_t equation) const;
  // Raises FfiError if no target of this name is registered for the platform.
  std::shared_ptr<const Target> target_of(size_t equation) const;

 private:
  const Program& program_;
  std::vector<std::optional<FfiCallParams>> callbacks_;  // by equation
};

}  // namespace farcall::native
