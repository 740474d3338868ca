#include "engine/native/plan/foreign_calls.h"

#include "engine/native/engine.h"

namespace farcall::native {

ForeignCalls::ForeignCalls(const Program& program)
    : program_(program), callbacks_(program.equations.size()) {
  for (size_t i = 0; i < callbacks_.size(); ++i) {
    if (const CallbackParams* params = callback_at(i)) {
      callbacks_[i] = as_foreign_call(*params, program.equations[i].inputs.size());
    }
  }
}

const FfiCallParams* ForeignCalls::at(size_t equation) const {
  if (callbacks_[equation]) return &*callbacks_[equation];
  const Equation& found = program_.equations[equation];
  if (found.primitive->kind != PrimitiveKind::kForeignCall) return nullptr;
  return &params_as<FfiCallParams>(found.params.get());
}

const CallbackParams* ForeignCalls::callback_at(size_t equation) const {
  return try_callback(program_.equations[equation].params.get());
}

std::shared_ptr<const Target> ForeignCalls::target_of(size_t equation) const {
  if (const CallbackParams* callback = callback_at(equation)) return callback->callback->target;
  const FfiCallParams& params = *at(equation);
  return find_called_target(params.target_name, kPlatform,
                            static_cast<int>(params.custom_call_api_version));
}

}  // namespace farcall::native
