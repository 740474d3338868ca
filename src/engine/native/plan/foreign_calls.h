// The equations of a program that call foreign code, callbacks among them, in one form.
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

  // What the equation calls; null for one that calls nothing foreign.
  const FfiCallParams* at(size_t equation) const;
  // Null for a target that a name finds.
  const CallbackParams* callback_at(size_t equation) const;
  // Raises FfiError where no target of the name is registered for the platform.
  std::shared_ptr<const Target> target_of(size_t equation) const;

 private:
  const Program& program_;
  std::vector<std::optional<FfiCallParams>> callbacks_;  // by equation
};

}  // namespace farcall::native
