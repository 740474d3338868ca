// One operand of a handler: its decoding and the value that the function receives; and the encoding
// of the function's return value. Decoding and messages are those of farcall/handler.
#pragma once

#include <farcall/handler/detail/explain.h>
#include <farcall/handler/detail/metadata.h>
#include <farcall/handler/detail/returns.h>
#include <farcall/xla/binding.h>

FARCALL_XLA_NAMESPACE

// Open: a kernel may specialize it for other return types, with `static XLA_FFI_Error* Encode(const
// XLA_FFI_Api*, XLA_FFI_InvokeContext*, T)`, or the same with XLA_FFI_Future*.
template <ExecutionStage stage, typename T>
struct ResultEncoding {
  static constexpr bool kMissing = true;
};

namespace internal {

using ::farcall::ffi::HandlerDesc;
using ::farcall::ffi::ParamDesc;
using ::farcall::ffi::detail::Problems;
using ::farcall::ffi::detail::StateType;

// ---- return values --------------------------------------------------------------------------

template <typename T>
struct StateOf {
  static constexpr bool kIsState = false;
};
template <typename T>
struct StateOf<ErrorOr<T>> : ::farcall::ffi::detail::OwnerTraits<T> {
  static constexpr bool kIsState = ::farcall::ffi::detail::OwnerTraits<T>::kIsOwner;
};

template <ExecutionStage stage, typename T>
constexpr bool is_result() {
  constexpr bool runs = stage == ExecutionStage::kExecute || stage == ExecutionStage::kRecord;
  static_assert(!StateOf<T>::kIsState || !runs,
                "farcall: only the instantiate, prepare and initialize stages make state");
  constexpr bool ok = std::is_same_v<T, Error> || std::is_same_v<T, Future> ||
                      StateOf<T>::kIsState || !kIsMissing<ResultEncoding<stage, T>>;
  static_assert(ok,
                "farcall: a handler's function returns Error, Future, or an "
                "ErrorOr<std::unique_ptr<T>> with new state. For another type specialize "
                "xla::ffi::ResultEncoding");
  return ok;
}

FARCALL_FFI_COLD inline FARCALL_FFI_Error* make_error(const FARCALL_FFI_Api* api,
                                                      const Error& error) {
  return ::farcall::ffi::detail::make_error(api, *error.errc(), error.message().c_str());
}

template <ExecutionStage stage, typename T>
FARCALL_FFI_Error* encode_state(FARCALL_FFI_CallFrame* frame, const char* name, T* object) {
  if (object == nullptr) {
    return ::farcall::ffi::detail::named_error(frame->api, ErrorCode::kInternal, name,
                                               "the handler returned no state");
  }
  auto type_id = type_number<T>(frame->api);
  ::farcall::ffi::Error error =
      type_id.has_error()
          ? std::move(type_id).error()
          : ::farcall::ffi::detail::set_state(RuntimeContext(frame), stage, *type_id, object,
                                              &::farcall::ffi::detail::delete_object<T>);
  if (error.success()) return nullptr;
  ::farcall::ffi::detail::delete_object<T>(object);
  return ::farcall::ffi::detail::named_error(frame->api, error.code(), name, error.message());
}

template <ExecutionStage stage, typename T>
FARCALL_FFI_INLINE FARCALL_FFI_Error* encode(FARCALL_FFI_CallFrame* frame, const char* name,
                                             T value) {
  if constexpr (std::is_same_v<T, Error>) {
    return FARCALL_FFI_LIKELY(value.success()) ? nullptr : make_error(frame->api, value);
  } else if constexpr (std::is_same_v<T, Future>) {
    return ::farcall::ffi::detail::return_future(frame, std::move(value));
  } else if constexpr (StateOf<T>::kIsState) {
    if (value.has_error()) return make_error(frame->api, value.error());
    return encode_state<stage>(frame, name, value->release());
  } else {
    auto encoded =
        ResultEncoding<stage, T>::Encode(as_xla(frame->api), as_xla(frame->ctx), std::move(value));
    if constexpr (std::is_same_v<decltype(encoded), XLA_FFI_Error*>) {
      return reinterpret_cast<FARCALL_FFI_Error*>(encoded);
    } else {
      static_assert(std::is_same_v<decltype(encoded), XLA_FFI_Future*>,
                    "farcall: ResultEncoding<...>::Encode returns XLA_FFI_Error* or "
                    "XLA_FFI_Future*");
      frame->future = reinterpret_cast<FARCALL_FFI_Future*>(encoded);
      return nullptr;
    }
  }
}

// ---- one operand ----------------------------------------------------------------------------

// Reports that a kernel's own decoding failed, with its message.
FARCALL_FFI_COLD inline void complain(Problems& problems, std::string_view operand,
                                      const std::string& why) {
  problems.add() << operand << ": "
                 << (why.empty() ? std::string_view("cannot be decoded") : std::string_view(why));
}
FARCALL_FFI_COLD inline void complain(Problems& problems, const char* noun, size_t index,
                                      const std::string& why) {
  ::farcall::ffi::detail::Text operand;
  operand << noun << " " << static_cast<int64_t>(index);
  complain(problems, operand.view(), why);
}

// Decodes a buffer by itself.
template <typename Kind, typename Buffer, typename Value>
struct BufferDecoding {
  static bool Isa(Kind kind, void* operand) {
    return ::farcall::ffi::detail::fits<Buffer>(static_cast<int32_t>(kind),
                                                static_cast<const FARCALL_FFI_Buffer*>(operand));
  }
  static std::optional<Value> Decode(Kind kind, void* operand, DiagnosticEngine& diagnostic) {
    const auto number = static_cast<int32_t>(kind);
    const auto* buffer = static_cast<const FARCALL_FFI_Buffer*>(operand);
    if (::farcall::ffi::detail::fits<Buffer>(number, buffer)) return Value(Buffer(buffer));
    ::farcall::ffi::detail::Text text;
    text << "wanted ";
    ::farcall::ffi::detail::print_type(text, ::farcall::ffi::detail::BufferType<Buffer>::kType);
    text << ", got ";
    ::farcall::ffi::detail::print_buffer(text, number, buffer);
    return diagnostic.Emit(std::string(text.view()));
  }
};

struct Decoder {
  const FARCALL_FFI_CallFrame* frame;
  const std::string_view* names;  // of the attributes, in the order of the binding
  ::farcall::ffi::detail::Positions positions;
  Problems* problems;
};

// The value of one tag: decode() returns whether it fits, take() passes it to the function.
template <typename Tag, size_t index, ParamKind kind = TagTraits<Tag>::kKind>
struct Operand;

template <typename Tag, size_t index, bool is_arg, typename Buffer>
struct BufferOperand {
  static constexpr bool kIsOptional = TagTraits<Tag>::kIsOptional;
  using Value = std::conditional_t<is_arg, Buffer, Result<Buffer>>;
  using Passed = std::conditional_t<kIsOptional, std::optional<Value>, Value>;

  template <typename Kind>
  FARCALL_FFI_INLINE bool decode(const Kind* kinds, void* const* values, int64_t size, Problems*) {
    if constexpr (kIsOptional) {
      if (static_cast<int64_t>(index) >= size) return true;
    }
    buffer = static_cast<const FARCALL_FFI_Buffer*>(values[index]);
    return ::farcall::ffi::detail::fits<Buffer>(kinds[index], buffer);
  }
  FARCALL_FFI_INLINE Passed take() {
    if constexpr (kIsOptional) {
      if (buffer == nullptr) return std::nullopt;
    }
    return Value(Buffer(buffer));
  }

  const FARCALL_FFI_Buffer* buffer = nullptr;
};

// A kernel's own ArgDecoding or RetDecoding.
template <typename Tag, size_t index, bool is_arg, typename T>
struct ForeignOperand {
  static constexpr bool kIsOptional = TagTraits<Tag>::kIsOptional;
  using Value = std::conditional_t<is_arg, T, Result<T>>;
  using Passed = std::conditional_t<kIsOptional, std::optional<Value>, Value>;

  template <typename Kind>
  bool decode(const Kind* kinds, void* const* values, int64_t size, Problems* problems) {
    if (kIsOptional && static_cast<int64_t>(index) >= size) return true;
    DiagnosticEngine diagnostic;
    if constexpr (is_arg) {
      value = ArgDecoding<T>::Decode(static_cast<XLA_FFI_ArgType>(kinds[index]), values[index],
                                     diagnostic);
    } else {
      value = RetDecoding<T>::Decode(static_cast<XLA_FFI_RetType>(kinds[index]), values[index],
                                     diagnostic);
    }
    if (!value) complain(*problems, is_arg ? "argument" : "result", index, diagnostic.Result());
    return value.has_value();
  }
  Passed take() {
    if constexpr (kIsOptional) {
      return std::move(value);
    } else {
      return *std::move(value);
    }
  }

  std::optional<Value> value;
};

template <typename Tag, size_t index, bool is_arg, typename T = typename TagTraits<Tag>::Type>
using AnyOperand = std::conditional_t<kIsBuffer<T>, BufferOperand<Tag, index, is_arg, T>,
                                      ForeignOperand<Tag, index, is_arg, T>>;

template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kArgument> : AnyOperand<Tag, index, true> {
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    const FARCALL_FFI_Args& args = decoder.frame->args;
    return AnyOperand<Tag, index, true>::decode(args.types, args.args, args.size, decoder.problems);
  }
};
template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kResult> : AnyOperand<Tag, index, false> {
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    const FARCALL_FFI_Rets& rets = decoder.frame->rets;
    return AnyOperand<Tag, index, false>::decode(rets.types, rets.rets, rets.size,
                                                 decoder.problems);
  }
};

// `index` is the number of buffers bound individually.
template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kRemainingArgs> {
  using Passed = RemainingArgs;
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    args = &decoder.frame->args;
    return true;
  }
  FARCALL_FFI_INLINE Passed take() {
    constexpr auto used = static_cast<int64_t>(index);
    return {args->types + index, args->args + index, args->size > used ? args->size - used : 0};
  }
  const FARCALL_FFI_Args* args = nullptr;
};
template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kRemainingRets> {
  using Passed = RemainingRets;
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    rets = &decoder.frame->rets;
    return true;
  }
  FARCALL_FFI_INLINE Passed take() {
    constexpr auto used = static_cast<int64_t>(index);
    return {rets->types + index, rets->rets + index, rets->size > used ? rets->size - used : 0};
  }
  const FARCALL_FFI_Rets* rets = nullptr;
};

template <typename T>
struct AttrValue {
  using Passed = AttrType<T>;
  FARCALL_FFI_INLINE bool decode(FARCALL_FFI_AttrType kind, const void* attr,
                                 [[maybe_unused]] std::string_view name,
                                 [[maybe_unused]] Problems* problems) {
    if constexpr (kIsBuiltinAttr<T>) {
      return decode_attr<T>(kind, attr, value);
    } else {
      std::string why;
      const bool ok = decode_attr<T>(kind, attr, value, &why);
      if (!ok) {
        ::farcall::ffi::detail::Text operand;
        operand << (name.empty() ? "attributes" : "attribute \"") << name;
        complain(*problems, (operand << (name.empty() ? "" : "\"")).view(), why);
      }
      return ok;
    }
  }
  FARCALL_FFI_INLINE Passed take() { return *std::move(value); }
  std::optional<Passed> value;
};
template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kAttribute> : AttrValue<typename TagTraits<Tag>::Type> {
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    const int32_t at = decoder.positions[index];
    const FARCALL_FFI_Attrs& attrs = decoder.frame->attrs;
    return at >= 0 && AttrValue<typename TagTraits<Tag>::Type>::decode(
                          attrs.types[at], attrs.attrs[at], decoder.names[index], decoder.problems);
  }
};
template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kAllAttributes> : AttrValue<typename TagTraits<Tag>::Type> {
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    return AttrValue<typename TagTraits<Tag>::Type>::decode(
        FARCALL_FFI_AttrType_DICTIONARY, &decoder.frame->attrs, {}, decoder.problems);
  }
};

template <typename Tag, size_t index>
struct Operand<Tag, index, ParamKind::kContext> {
  using Decoding = CtxDecoding<typename TagTraits<Tag>::Type>;
  using Passed = typename Decoding::Type;
  FARCALL_FFI_INLINE bool decode(const Decoder& decoder) {
    if constexpr (std::is_base_of_v<BuiltinCtx, Decoding>) {
      FarcallErrorOr<Passed> item = Decoding::get(RuntimeContext(decoder.frame));
      if (FARCALL_FFI_LIKELY(item.has_value())) {
        value.emplace(*std::move(item));
        return true;
      }
      decoder.problems->add_context(Decoding::kName, item.error());
      return false;
    } else {
      value = decode_foreign(decoder);
      return value.has_value();
    }
  }
  FARCALL_FFI_INLINE Passed take() { return *std::move(value); }

  static std::optional<Passed> decode_foreign(const Decoder& decoder) {
    DiagnosticEngine diagnostic;
    auto item =
        Decoding::Decode(as_xla(decoder.frame->api), as_xla(decoder.frame->ctx), diagnostic);
    if (!item) complain(*decoder.problems, "context item", index, diagnostic.Result());
    return item;
  }

  std::optional<Passed> value;
};

}  // namespace internal

// A kernel's own decoding may begin with that of a buffer.
template <>
struct ArgDecoding<AnyBuffer> : internal::BufferDecoding<XLA_FFI_ArgType, AnyBuffer, AnyBuffer> {};
template <DataType dtype, size_t rank>
struct ArgDecoding<Buffer<dtype, rank>>
    : internal::BufferDecoding<XLA_FFI_ArgType, Buffer<dtype, rank>, Buffer<dtype, rank>> {};
template <>
struct RetDecoding<AnyBuffer>
    : internal::BufferDecoding<XLA_FFI_RetType, AnyBuffer, Result<AnyBuffer>> {};
template <DataType dtype, size_t rank>
struct RetDecoding<Buffer<dtype, rank>>
    : internal::BufferDecoding<XLA_FFI_RetType, Buffer<dtype, rank>, Result<Buffer<dtype, rank>>> {
};

FARCALL_XLA_NAMESPACE_END
