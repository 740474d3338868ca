#include <farcall/ffi/foreign_call.h>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>

#include "ffi/attribute_frame.h"
#include "ffi/check_spec.h"
#include "ffi/checked_call.h"
#include "ffi/error_value.h"
#include "ffi/future.h"
#include "ffi/internal/metadata.h"
#include "ffi/internal/type_registry.h"

namespace farcall {
namespace {

FARCALL_FFI_CallFrame attribute_frame(Stage stage, const Target& target,
                                      FARCALL_FFI_ExecutionContext* ctx,
                                      const FARCALL_FFI_Attrs& attrs) {
  FARCALL_FFI_CallFrame frame = {};
  frame.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
  frame.api = ffi_api(target.version(stage).minor_version);
  frame.ctx = ctx;
  frame.stage = static_cast<FARCALL_FFI_ExecutionStage>(stage);
  frame.args.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Args, args);
  frame.rets.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Rets, rets);
  frame.attrs = attrs;
  return frame;
}

// Calls a handler outside the fast path, and waits for its future. Raises the error that it
// reports.
void call_and_wait(FARCALL_FFI_Handler* handler, FARCALL_FFI_CallFrame& frame,
                   const ForeignCallSpec& spec) {
  FARCALL_FFI_Error* error = nullptr;
  try {
    error = handler(&frame);
  } catch (...) {
    if (frame.future != nullptr) std::exchange(frame.future, nullptr)->release();
    runtime::throw_handler_exception(spec.target->name(), spec.where);
  }
  if (frame.future != nullptr) {
    runtime::ErrorPointer late(std::exchange(frame.future, nullptr)->wait_and_release());
    if (error == nullptr) error = late.release();
  }
  if (error != nullptr) runtime::throw_ffi_error(error, spec.target->name(), spec.where);
}

template <typename Type>
Type* buffer_kinds(size_t count) {
  // The interface needs an array of one repeated constant. The static array serves nearly every
  // call.
  static constexpr size_t kStatic = 64;
  static auto* few = new std::vector<Type>(kStatic, static_cast<Type>(FARCALL_FFI_ArgType_BUFFER));
  if (count <= kStatic) return few->data();
  static auto* many = new std::vector<Type>(1 << 16, few->front());
  FARCALL_ASSERT(count <= many->size());
  return many->data();
}

const ExecutionOptions& default_options() {
  static const auto* options = new ExecutionOptions;
  return *options;
}

}  // namespace

// ---- ForeignCall ----

ForeignCall::ForeignCall(ForeignCallSpec spec) : spec_(std::move(spec)) {
  runtime::check_spec(spec_);
  attributes_ = std::make_unique<const AttributeFrame>(spec_.attributes);
  if (target().has_stage(Stage::kInstantiate)) instantiate();
}

ForeignCall::~ForeignCall() = default;

void ForeignCall::instantiate() {
  const Target& target = this->target();
  FARCALL_FFI_Handler* handler = target.handler(Stage::kInstantiate);
  // Asked at registration too, but the type of the state may have been registered since.
  const auto metadata = runtime::query_metadata(handler);
  if (metadata.missing && !runtime::adopts_unregistered_types()) {
    throw Error(ErrorCode::kFailedPrecondition,
                fmt::format("ffi_call(\"{}\"): {}. Register the type of the handler's state with "
                            "register_ffi_type.",
                            target.name(), *metadata.missing));
  }
  FARCALL_FFI_ExecutionContext context;
  context.target = &target;
  context.stage = Stage::kInstantiate;
  context.instantiate_state = &state_;
  auto frame = attribute_frame(Stage::kInstantiate, target, &context, attributes_->attrs());
  call_and_wait(handler, frame, spec_);
}

// ---- Invocation ----

Invocation::Invocation(const ForeignCall& call)
    : execute_(call.target().handler(Stage::kExecute)),
      call_(&call),
      num_arguments_(call.spec().arguments.size()),
      context_{.scratch = runtime::Scratch(&call.scratch_peak_)} {
  context_.target = &call.target();
  context_.spec = &call.spec();
  context_.options = &default_options();
  // Read-only from here on: only the instantiate stage may set it.
  context_.instantiate_state = const_cast<runtime::StateSlot*>(&call.state_);
  if (call.target().is_untyped()) {
    context_.untyped.version = call.spec().custom_call_api_version;
    context_.untyped.opaque = call.spec().legacy_backend_config;
    context_.untyped.pointers.resize(num_arguments_ + call.spec().results.size());
  }
  if (call.spec().is_checked) {
    checks_ = std::make_unique<runtime::CheckedCall>(call.spec(), execute_);
    execute_ = runtime::CheckedCall::execute;
    context_.checks = checks_.get();
    context_.scratch.guard();
  }
  build_frame();
}

void Invocation::build_frame() {
  const auto& spec = call_->spec();
  buffers_.reserve(spec.arguments.size() + spec.results.size());
  for (const auto* types : {&spec.arguments, &spec.results}) {
    for (const ShapeDtype& type : *types) {
      // The spec keeps its types, and so these dimensions, alive.
      buffers_.push_back({.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Buffer, dims),
                          .extension_start = nullptr,
                          .dtype = static_cast<FARCALL_FFI_DataType>(type.dtype()),
                          .data = nullptr,
                          .rank = static_cast<int64_t>(type.rank()),
                          .dims = const_cast<int64_t*>(type.shape().data())});
    }
  }
  pointers_.reserve(buffers_.size());
  for (auto& buffer : buffers_) pointers_.push_back(&buffer);

  frame_ =
      attribute_frame(Stage::kExecute, call_->target(), &context_, call_->attributes_->attrs());
  frame_.args.size = static_cast<int64_t>(num_arguments());
  frame_.args.types = buffer_kinds<FARCALL_FFI_ArgType>(num_arguments());
  frame_.args.args = pointers_.data();
  frame_.rets.size = static_cast<int64_t>(num_results());
  frame_.rets.types = buffer_kinds<FARCALL_FFI_RetType>(num_results());
  frame_.rets.rets = pointers_.data() + num_arguments();
}

Invocation::Invocation(Invocation&& other) noexcept
    : execute_(other.execute_),
      checks_(std::move(other.checks_)),
      call_(other.call_),
      num_arguments_(other.num_arguments_),
      num_leaked_(other.num_leaked_),
      buffers_(std::move(other.buffers_)),
      pointers_(std::move(other.pointers_)),
      frame_(other.frame_),
      context_(std::move(other.context_)) {
  frame_.ctx = &context_;
}

Invocation::~Invocation() { end(); }

void Invocation::begin(const ExecutionOptions& options) {
  end();
  context_.options = &options;
  if (options.run_id == 0) context_.run_id = new_run_id();
}

void Invocation::prepare() { run_stage(Stage::kPrepare); }
void Invocation::initialize() { run_stage(Stage::kInitialize); }

void Invocation::run_stage(Stage stage) {
  const Target& target = call_->target();
  FARCALL_FFI_Handler* handler = target.handler(stage);
  if (handler == nullptr) return;
  FARCALL_FFI_CallFrame frame = frame_;
  frame.stage = static_cast<FARCALL_FFI_ExecutionStage>(stage);
  frame.api = ffi_api(target.version(stage).minor_version);
  context_.stage = stage;
  // On every exit, the stage is execute again and the scratch is empty.
  struct Restore {
    Invocation& self;
    ~Restore() {
      self.context_.stage = Stage::kExecute;
      self.num_leaked_ += self.context_.scratch.clear();
    }
  } restore{*this};
  call_and_wait(handler, frame, call_->spec());
}

void Invocation::end() noexcept {
  context_.initialize_state.reset();
  context_.prepare_state.reset();
  context_.options = &default_options();
}

void Invocation::add_memory(std::vector<Storage>& all) const {
  if (checks_) checks_->add_memory(all);
}

void Invocation::finish(FARCALL_FFI_Error* error) {
  runtime::ErrorPointer owned(error);
  if (frame_.future != nullptr) {
    // Waits also after an error: the handler may still be writing.
    runtime::ErrorPointer late(std::exchange(frame_.future, nullptr)->wait_and_release());
    if (owned == nullptr) owned = std::move(late);
  }
  num_leaked_ += context_.scratch.clear();
  if (owned != nullptr) {
    rethrow_kept_interrupt();
    runtime::throw_ffi_error(owned.release(), call_->target().name(), call_->spec().where);
  }
}

void Invocation::handler_threw() {
  num_leaked_ += context_.scratch.clear();
  // Not waited for: perhaps nobody will complete it.
  if (frame_.future != nullptr) std::exchange(frame_.future, nullptr)->release();
  if (call_->target().callable()) runtime::rethrow_with_line(call_->spec().where);
  runtime::throw_handler_exception(call_->target().name(), call_->spec().where);
}

// ---- call_target ----

void call_target(std::shared_ptr<const Target> target, std::span<const RawBuffer> arguments,
                 std::span<const RawBuffer> results, Attributes attributes,
                 const ExecutionOptions& options) {
  ForeignCallSpec spec = {.target = std::move(target), .attributes = std::move(attributes)};
  for (const auto& buffer : arguments) spec.arguments.push_back(buffer.type);
  for (const auto& buffer : results) spec.results.push_back(buffer.type);
  const ForeignCall call(std::move(spec));
  Invocation invocation(call);
  for (size_t i = 0; i < arguments.size(); ++i) invocation.set_argument(i, arguments[i].data);
  for (size_t i = 0; i < results.size(); ++i) invocation.set_result(i, results[i].data);
  invocation.begin(options);
  invocation.prepare();
  invocation.initialize();
  invocation.execute();
  invocation.end();
}

void call_target(std::string_view name, std::span<const RawBuffer> arguments,
                 std::span<const RawBuffer> results, Attributes attributes,
                 const ExecutionOptions& options, std::string_view platform) {
  call_target(find_target(name, platform), arguments, results, std::move(attributes), options);
}

}  // namespace farcall
