// The handler itself, which decodes a call frame according to its binding and calls the function;
// and Ffi, the class that creates bindings and registers handlers.
#pragma once

#include <farcall/xla/operand.h>

FARCALL_XLA_NAMESPACE

namespace internal {

template <ExecutionStage stage, typename Indices, typename Fn, typename... Ts>
class Call;

// A literal type: if the names and the function are constants, so is the handler. A call is then as
// fast as if the names were written in the code.
template <ExecutionStage stage, size_t... Is, typename Fn, typename... Ts>
class Call<stage, std::index_sequence<Is...>, Fn, Ts...> {
  // The index of an operand among those of its kind; for remaining operands, the index of the
  // first.
  static constexpr size_t place(ParamKind kind, size_t at) {
    return kind == ParamKind::kRemainingArgs   ? count_kind<Ts...>(ParamKind::kArgument)
           : kind == ParamKind::kRemainingRets ? count_kind<Ts...>(ParamKind::kResult)
                                               : count_kind<Ts...>(kind, at);
  }
  template <size_t I, typename Tag>
  using OperandOf = Operand<Tag, place(TagTraits<Tag>::kKind, I)>;
  using Operands = ::farcall::ffi::detail::Pack<OperandOf<Is, Ts>...>;

  static constexpr size_t kNumAttrs = count_kind<Ts...>(ParamKind::kAttribute);
  using Names = ::farcall::ffi::detail::NameTable<kNumAttrs>;

  static constexpr bool kIsInvocable =
      std::is_invocable_v<const Fn&, typename OperandOf<Is, Ts>::Passed...>;
  static_assert(kIsInvocable,
                "farcall: the function cannot be called with what its binding gives it: each Arg, "
                "Ret, Attr and Ctx is one parameter, in the order of the binding. The types that "
                "it gets are the arguments of is_invocable_v");

 public:
  constexpr Call(Fn fn, const char* name, uint32_t traits, const std::string_view* names)
      : fn_(std::move(fn)), name_(name), traits_(traits), names_(names) {}

  FARCALL_FFI_INLINE XLA_FFI_Error* operator()(XLA_FFI_CallFrame* xla_frame) const {
    FARCALL_FFI_CallFrame* frame = as_farcall(xla_frame);
    constexpr size_t kNeeded = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
    const bool is_call = frame->struct_size >= kNeeded && frame->extension_start == nullptr &&
                         frame->stage == static_cast<FARCALL_FFI_ExecutionStage>(stage);
    FARCALL_FFI_Error* result = nullptr;
    if (!FARCALL_FFI_LIKELY(is_call) && !admit(frame, result)) return as_xla(result);
#if FARCALL_FFI_EXCEPTIONS
    try {
      return as_xla(decode_and_call(frame));
    } catch (const std::exception& exception) {
      return as_xla(named_error(frame, exception.what()));
    } catch (...) {
      return as_xla(named_error(frame, "unknown exception"));
    }
#else
    return as_xla(decode_and_call(frame));
#endif
  }

 private:
  // ---- fast path ------------------------------------------------------------------------------

  FARCALL_FFI_INLINE FARCALL_FFI_Error* decode_and_call(FARCALL_FFI_CallFrame* frame) const {
    if constexpr (kIsInvocable) {
      using Return = std::invoke_result_t<const Fn&, typename OperandOf<Is, Ts>::Passed...>;
      if constexpr (is_result<stage, Return>()) {
        Operands operands{};
        int32_t scratch[kNumAttrs + 1];
        Problems problems;
        Decoder decoder{frame, names_.names, scratch, &problems};
        bool ok = count_fits<ParamKind::kArgument, ParamKind::kRemainingArgs>(
                      frame->args, frame->args.types, frame->args.args) &&
                  count_fits<ParamKind::kResult, ParamKind::kRemainingRets>(
                      frame->rets, frame->rets.types, frame->rets.rets);
        if constexpr (kNumAttrs != 0) {
          decoder.positions = ::farcall::ffi::detail::locate_names(
              names_, frame->attrs, scratch, std::make_index_sequence<kNumAttrs>{});
          ok = ok && decoder.positions != nullptr;
        }
        // No short-circuit: every failing item is reported.
        ok =
            ok && (1 & ... &
                   static_cast<int>(::farcall::ffi::detail::at<Is>(operands).decode(decoder))) != 0;
        if (!FARCALL_FFI_LIKELY(ok)) return explain(frame, problems);
        return internal::encode<stage>(frame, name_,
                                       fn_(::farcall::ffi::detail::at<Is>(operands).take()...));
      }
    }
    return nullptr;
  }

  // Whether calls may pass any number of further buffers: to remaining operands, or if the binding
  // lists none.
  template <ParamKind kind, ParamKind rest>
  static constexpr bool is_open() {
    return count_kind<Ts...>(kind) == 0 || count_kind<Ts...>(rest) != 0;
  }
  template <ParamKind kind, ParamKind rest, typename Buffers, typename Kind>
  FARCALL_FFI_INLINE static bool count_fits(const Buffers& buffers, const Kind* kinds,
                                            void* const* values) {
    if constexpr (count_kind<Ts...>(kind) == 0 && count_kind<Ts...>(rest) == 0) return true;
    constexpr auto total = static_cast<int64_t>(count_kind<Ts...>(kind));
    constexpr auto required = static_cast<int64_t>(
        (size_t{0} + ... + (TagTraits<Ts>::kKind == kind && !TagTraits<Ts>::kIsOptional ? 1 : 0)));
    const bool fits = is_open<kind, rest>() ? buffers.size >= required
                      : required == total   ? buffers.size == total
                                            : buffers.size >= required && buffers.size <= total;
    return fits && (buffers.size == 0 || (kinds != nullptr && values != nullptr));
  }

  // ---- cold path ------------------------------------------------------------------------------

  FARCALL_FFI_COLD FARCALL_FFI_Error* named_error(const FARCALL_FFI_CallFrame* frame,
                                                  const char* what) const {
    return ::farcall::ffi::detail::named_error(frame->api, ErrorCode::kInternal, name_, what);
  }

  HandlerDesc describe(const ParamDesc* params, size_t num_params) const {
    return {sizeof(HandlerDesc), 1, traits_, stage, name_, params, num_params, nullptr};
  }

  FARCALL_FFI_COLD bool admit(FARCALL_FFI_CallFrame* frame, FARCALL_FFI_Error*& result) const {
    return ::farcall::ffi::detail::admit(frame, describe(nullptr, 0), state_type(), result);
  }

  static constexpr StateType state_type() {
    if constexpr (kIsInvocable) {
      using Return = std::invoke_result_t<const Fn&, typename OperandOf<Is, Ts>::Passed...>;
      if constexpr (StateOf<Return>::kIsState) {
        return &type_number<typename StateOf<Return>::Object>;
      }
    }
    return nullptr;
  }

  template <typename Tag>
  ParamDesc describe_operand(size_t at) const {
    using T = typename TagTraits<Tag>::Type;
    constexpr ParamKind kind = TagTraits<Tag>::kKind;
    ParamDesc param = {kind, TagTraits<Tag>::kIsOptional, "", nullptr};
    if constexpr (kind == ParamKind::kArgument || kind == ParamKind::kResult) {
      using Known = std::conditional_t<kIsBuffer<T>, T, AnyBuffer>;
      param.type = &::farcall::ffi::detail::BufferType<Known>::kType;
    } else if constexpr (kind == ParamKind::kAttribute) {
      param.name = names_.names[count_kind<Ts...>(kind, at)].data();
      param.type = attr_type<T>();
    } else if constexpr (kind == ParamKind::kAllAttributes) {
      param.type = attr_type<T>();
    } else if constexpr (kind == ParamKind::kContext) {
      if constexpr (std::is_base_of_v<BuiltinCtx, CtxDecoding<T>>) {
        param.name = CtxDecoding<T>::kName;
      }
    }
    return param;
  }

  FARCALL_FFI_COLD FARCALL_FFI_Error* explain(const FARCALL_FFI_CallFrame* frame,
                                              const Problems& problems) const {
    ParamDesc params[] = {describe_operand<Ts>(Is)..., ParamDesc{}, ParamDesc{}};
    size_t size = sizeof...(Ts);
    if (is_open<ParamKind::kArgument, ParamKind::kRemainingArgs>()) {
      params[size++] = {ParamKind::kRemainingArgs, false, "", nullptr};
    }
    if (is_open<ParamKind::kResult, ParamKind::kRemainingRets>()) {
      params[size++] = {ParamKind::kRemainingRets, false, "", nullptr};
    }
    return ::farcall::ffi::detail::explain(frame, describe(params, size), problems);
  }

 public:
  // The signature, for tools. Lives until the process ends.
  FARCALL_FFI_COLD HandlerDesc describe() const {
    return describe(new ParamDesc[sizeof...(Ts) + 1]{describe_operand<Ts>(Is)..., ParamDesc{}},
                    sizeof...(Ts));
  }

 private:
  Fn fn_;
  const char* name_;
  uint32_t traits_;
  Names names_;
};

constexpr uint32_t traits_of(std::initializer_list<Traits> traits) {
  uint32_t bits = 0;
  for (Traits trait : traits) bits |= static_cast<uint32_t>(trait);
  return bits;
}

template <ExecutionStage stage, typename Fn, typename... Ts>
using CallOf = Call<stage, std::index_sequence_for<Ts...>, Fn, Ts...>;

}  // namespace internal

// ---- Ffi ------------------------------------------------------------------------------------

class Ffi {
 public:
  template <ExecutionStage stage = ExecutionStage::kExecute>
  static constexpr Binding<stage> Bind() {
    return Binding<stage>();
  }
  static constexpr auto BindInstantiate() { return Bind<ExecutionStage::kInstantiate>(); }
  static constexpr auto BindPrepare() { return Bind<ExecutionStage::kPrepare>(); }
  static constexpr auto BindInitialize() { return Bind<ExecutionStage::kInitialize>(); }
  static constexpr auto BindExecute() { return Bind<ExecutionStage::kExecute>(); }
  static constexpr auto BindRecord() { return Bind<ExecutionStage::kRecord>(); }

#ifndef FARCALL_XLA_LEAN
  // Derives the binding from the types of the function's parameters.
  template <typename Fn, ExecutionStage stage = ExecutionStage::kExecute>
  static auto BindTo(Fn fn, std::initializer_list<Traits> traits = {});
#endif

  // A function as a type, which compilers can always inline.
  template <auto fn>
  struct Wrapper;
  template <typename R, typename... Args, R (*fn)(Args...)>
  struct Wrapper<fn> {
    FARCALL_FFI_INLINE constexpr R operator()(Args... args) const {
      return fn(std::forward<Args>(args)...);
    }
  };

  virtual ~Ffi() = default;
  virtual XLA_FFI_Error* Call(XLA_FFI_CallFrame* call_frame) const = 0;

  static inline XLA_FFI_Error* RegisterStaticHandler(const XLA_FFI_Api* api, std::string_view name,
                                                     std::string_view platform,
                                                     XLA_FFI_Handler_Bundle bundle,
                                                     XLA_FFI_Handler_Traits traits = 0) {
    XLA_FFI_Handler_Register_Args args = {};
    args.struct_size = XLA_FFI_Handler_Register_Args_STRUCT_SIZE;
    args.name = {name.data(), name.size()};
    args.platform = {platform.data(), platform.size()};
    args.bundle = bundle;
    args.traits = traits;
    if (api->api_version.minor_version < 4) {
      // Bundles had four pointers, so the traits are where the fifth pointer is now.
      const uint64_t bits = traits;
      static_assert(sizeof(args.bundle.record) == sizeof(bits));
      std::char_traits<char>::copy(reinterpret_cast<char*>(&args.bundle.record),
                                   reinterpret_cast<const char*>(&bits), sizeof(bits));
      args.struct_size -= sizeof(args.bundle.record);
    }
    return api->XLA_FFI_Handler_Register(&args);
  }
  static inline XLA_FFI_Error* RegisterStaticHandler(const XLA_FFI_Api* api, std::string_view name,
                                                     std::string_view platform,
                                                     XLA_FFI_Handler* execute,
                                                     XLA_FFI_Handler_Traits traits = 0) {
    return RegisterStaticHandler(
        api, name, platform, XLA_FFI_Handler_Bundle{nullptr, nullptr, nullptr, execute, nullptr},
        traits);
  }

  static inline XLA_FFI_Error* RegisterTypeId(const XLA_FFI_Api* api, std::string_view name,
                                              XLA_FFI_TypeId* type_id,
                                              const XLA_FFI_TypeInfo* type_info) {
    XLA_FFI_Type_Register_Args args = {};
    args.struct_size = XLA_FFI_Type_Register_Args_STRUCT_SIZE;
    args.name = {name.data(), name.size()};
    args.type_id = type_id;
    args.type_info = type_info;
    return api->XLA_FFI_Type_Register(&args);
  }
  static inline XLA_FFI_Error* RegisterTypeId(const XLA_FFI_Api* api, std::string_view name,
                                              XLA_FFI_TypeId* type_id, XLA_FFI_TypeInfo type_info) {
    return RegisterTypeId(api, name, type_id, &type_info);
  }
};

namespace internal {

// The signature of the C function that calls this handler.
template <typename Call>
HandlerDesc describe(XLA_FFI_Handler* handler, const Call& call) {
  HandlerDesc described = call.describe();
  described.handler = reinterpret_cast<FARCALL_FFI_Handler*>(handler);
  return described;
}

// Builds the handler from the arguments of the macros.
template <ExecutionStage stage, typename... Ts, typename Fn>
constexpr CallOf<stage, Fn, Ts...> bind(const char* name, Fn fn,
                                        const Binding<stage, Ts...>& binding,
                                        std::initializer_list<Traits> traits = {}) {
  return {std::move(fn), name, traits_of(traits), binding.names()};
}

template <typename Parameter, typename Bound>
constexpr auto bind_parameter(Bound binding) {
  using P = ::farcall::ffi::detail::Bare<Parameter>;
  if constexpr (!std::is_void_v<typename ArgBinding<P>::Arg>) {
    return std::move(binding).template Arg<typename ArgBinding<P>::Arg>();
  } else if constexpr (!std::is_void_v<typename RetBinding<P>::Ret>) {
    return std::move(binding).template Ret<typename RetBinding<P>::Ret>();
  } else if constexpr (!std::is_void_v<typename AttrBinding<P>::Attr>) {
    return std::move(binding).template Attr<typename AttrBinding<P>::Attr>(
        std::string_view(AttrBinding<P>::name()).data());
  } else if constexpr (!std::is_void_v<typename AttrsBinding<P>::Attrs>) {
    return std::move(binding).template Attrs<typename AttrsBinding<P>::Attrs>();
  } else {
    static_assert(!std::is_void_v<typename CtxBinding<P>::Ctx>,
                  "farcall: the binding of this parameter does not follow from its type. Give a "
                  "binding (Ffi::Bind()...), or specialize ArgBinding, RetBinding, AttrBinding, "
                  "AttrsBinding or CtxBinding of xla::ffi");
    return std::move(binding).template Ctx<typename CtxBinding<P>::Ctx>();
  }
}
template <ExecutionStage stage, typename... Parameters>
struct AutoBinding {
  static constexpr auto make() { return add<Parameters...>(Ffi::Bind<stage>()); }
  template <typename... Left, typename Bound>
  static constexpr auto add(Bound binding) {
    if constexpr (sizeof...(Left) == 0) {
      return binding;
    } else {
      return add_first<Left...>(std::move(binding));
    }
  }
  template <typename First, typename... Left, typename Bound>
  static constexpr auto add_first(Bound binding) {
    return add<Left...>(bind_parameter<First>(std::move(binding)));
  }
};
template <ExecutionStage stage, typename List>
struct AutoBindingOf;
template <ExecutionStage stage, typename... Parameters>
struct AutoBindingOf<stage, ::farcall::ffi::detail::TypeList<Parameters...>>
    : AutoBinding<stage, Parameters...> {};
template <ExecutionStage stage, typename Fn>
constexpr auto auto_binding() {
  return AutoBindingOf<stage, typename ::farcall::ffi::detail::FunctionTraits<Fn>::Params>::make();
}

template <typename Fn>
constexpr auto bind(const char* name, Fn fn) {
  // Qualified: with types of std among the parameters, std::bind is a candidate too.
  return internal::bind(name, std::move(fn), auto_binding<ExecutionStage::kExecute, Fn>());
}

}  // namespace internal

#ifndef FARCALL_XLA_LEAN
// A handler that a program owns and calls itself.
template <ExecutionStage stage, typename Fn, typename... Ts>
class Handler final : public Ffi {
 public:
  Handler(Fn fn, uint32_t traits, const std::string_view* names)
      : call_(std::move(fn), "handler", traits, names) {}

  XLA_FFI_Error* Call(XLA_FFI_CallFrame* call_frame) const override { return call_(call_frame); }

 private:
  internal::CallOf<stage, Fn, Ts...> call_;
};

template <ExecutionStage stage, typename... Ts>
template <typename Fn>
auto Binding<stage, Ts...>::To(Fn fn, std::initializer_list<Traits> traits) const {
  return std::make_unique<Handler<stage, Fn, Ts...>>(std::move(fn), internal::traits_of(traits),
                                                     names_);
}

template <typename Fn, ExecutionStage stage>
auto Ffi::BindTo(Fn fn, std::initializer_list<Traits> traits) {
  return internal::auto_binding<stage, Fn>().To(std::move(fn), traits);
}
#endif  // FARCALL_XLA_LEAN

// The function table of a runtime linked into the program.
const XLA_FFI_Api* GetXlaFfiApi();

namespace internal {

inline const char* GetErrorMessage(const XLA_FFI_Api* api, XLA_FFI_Error* error) {
  XLA_FFI_Error_GetDetails_Args args = {};
  args.struct_size = XLA_FFI_Error_GetDetails_Args_STRUCT_SIZE;
  args.error = error;
  api->XLA_FFI_Error_GetDetails(&args);
  return args.message;
}
inline void DestroyError(const XLA_FFI_Api* api, XLA_FFI_Error* error) {
  XLA_FFI_Error_Destroy_Args args = {};
  args.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE;
  args.error = error;
  api->XLA_FFI_Error_Destroy(&args);
}

}  // namespace internal
FARCALL_XLA_NAMESPACE_END
