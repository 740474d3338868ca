#include <memory>
#include <string_view>

#include <farcall/exchange/export_handler.h>
#include <farcall/ffi.h>
#include <farcall/program/text.h>

#include "exchange/run_frame.h"

namespace farcall::exchange {
namespace {

struct CompiledProgram {
  std::shared_ptr<const Executable> executable;
};

ffi::ErrorOr<std::unique_ptr<CompiledProgram>> instantiate(std::string_view text) {
  try {
    const ProgramPtr program = parse_program(text);
    check_types(*program);
    return std::make_unique<CompiledProgram>(CompiledProgram{compile(program, host_device())});
  } catch (...) {
    return current_error("program");
  }
}

// JAX orders calls of ordered programs by a leading token operand and result, which is dropped
// here.
template <class Buffers>
void leave_token(Buffers& buffers) {
  if (buffers.template isa<ffi::Token>(0)) buffers.remove_prefix(1);
}

ffi::Error execute(ffi::State<CompiledProgram> compiled, ffi::RemainingArgs operands,
                   ffi::RemainingRets results) {
  const Executable& executable = *compiled->executable;
  const auto types = executable.input_types();
  try {
    leave_token(operands);
    leave_token(results);
    check_buffers(operands, results);
    farcall::detail::check_operand_count(types.size(), operands.size());
    for (size_t i = 0; i < types.size(); ++i) {
      const ffi::AnyBuffer operand = *operands.get<ffi::AnyBuffer>(i);
      if (!is_of_type(operand, types[i])) refuse_operand(i, operand, types[i]);
    }
    run_frame(executable, operands, results);
  } catch (...) {
    return current_error(executable.program().name);
  }
  return {};
}

}  // namespace
}  // namespace farcall::exchange

// Outside of unnamed namespaces, as the macro requires.
FARCALL_DEFINE_HANDLER(farcall_program_instantiate, farcall::exchange::instantiate, "program",
                       farcall::ffi::kInstantiate);
FARCALL_DEFINE_HANDLER(farcall_program_execute, farcall::exchange::execute);

namespace farcall {

HandlerBundle program_handlers() {
  return {.instantiate = farcall_program_instantiate, .execute = farcall_program_execute};
}

}  // namespace farcall
