// The handler itself: decodes a call frame, calls the function, encodes its return value.
//
// The fast path compares a kind, a dtype and a rank per buffer, and a name and a type per
// attribute. It allocates nothing. All other code is cold and shared by the handlers of a library.
#pragma once

#include <cstddef>
#include <exception>
#include <type_traits>
#include <utility>

#include <farcall/handler/detail/binding.h>
#include <farcall/handler/detail/explain.h>
#include <farcall/handler/detail/metadata.h>
#include <farcall/handler/detail/names.h>
#include <farcall/handler/detail/returns.h>
#include <farcall/handler/detail/shape.h>

namespace farcall::ffi::detail {

template <typename Def, typename Params = typename Shape<Def>::Params>
class Handler;

template <typename Def, typename... Ps>
class Handler<Def, TypeList<Ps...>> {
  using Shape = detail::Shape<Def>;
  using Return = typename Shape::Return;
  template <typename P>
  static constexpr ParamKind kKindOf = Param<Bare<P>>::kKind;

  using Values = Pack<typename Param<Bare<Ps>>::Stored...>;

  // Decoding: each step returns whether its parameter fits, and stores its value in `values`.

  struct Decoder {
    const FARCALL_FFI_CallFrame* frame;
    Positions positions;
    Problems* problems;
  };

  template <size_t I, typename P, typename Stored>
  FARCALL_FFI_INLINE static bool decode_one(const Decoder& decoder, Stored& stored) {
    using T = Bare<P>;
    constexpr ParamKind kind = kKindOf<P>;
    constexpr auto index = static_cast<int64_t>(Shape::count(kind, I));
    const FARCALL_FFI_CallFrame& frame = *decoder.frame;
    if constexpr (kind == ParamKind::kArgument) {
      return decode_buffer<T>(frame.args.types, frame.args.args, frame.args.size, index, stored);
    } else if constexpr (kind == ParamKind::kResult) {
      return decode_buffer<T>(frame.rets.types, frame.rets.rets, frame.rets.size, index, stored);
    } else if constexpr (kind == ParamKind::kContext) {
      using Item = typename WithoutOptional<T>::type;
      ErrorOr<Item> item = CtxDecoding<Item>::decode(Context(decoder.frame));
      if (FARCALL_FFI_LIKELY(item.has_value())) {
        stored.emplace(*std::move(item));
        return true;
      }
      if constexpr (!kIsOptional<T>) {
        decoder.problems->add_context(CtxDecoding<Item>::kName, item.error());
      }
      return kIsOptional<T>;
    } else if constexpr (kind == ParamKind::kAttribute && Shape::Spec::kTakesAll) {
      return decode_attribute(FARCALL_FFI_AttrType_DICTIONARY, &frame.attrs, stored);
    } else if constexpr (kind == ParamKind::kAttribute) {
      const int32_t at = decoder.positions[index];
      if (FARCALL_FFI_LIKELY(at >= 0)) {
        return decode_attribute(frame.attrs.types[at], frame.attrs.attrs[at], stored);
      }
      if constexpr (Shape::template has_default<index>()) {
        stored =
            static_cast<T>(detail::at<Shape::Spec::option_of(index)>(Shape::kSpec.options).value);
      }
      return Shape::template has_default<index>() || kIsOptional<T>;
    } else {
      return true;
    }
  }

  template <typename T, typename Kind>
  FARCALL_FFI_INLINE static bool decode_buffer(const Kind* kinds, void* const* values, int64_t size,
                                               int64_t index, const FARCALL_FFI_Buffer*& stored) {
    if constexpr (kIsOptional<T>) {
      stored = nullptr;
      if (index >= size) return true;
    }
    stored = static_cast<const FARCALL_FFI_Buffer*>(values[index]);
    return fits<typename Param<T>::BufferClass>(kinds[index], stored);
  }

  // The value that the function receives for a parameter.
  template <size_t I, typename P, typename Stored>
  FARCALL_FFI_INLINE static Bare<P> take(const FARCALL_FFI_CallFrame& frame, Stored& stored) {
    using T = Bare<P>;
    constexpr ParamKind kind = kKindOf<P>;
    if constexpr (kind == ParamKind::kArgument || kind == ParamKind::kResult) {
      using BufferClass = typename Param<T>::BufferClass;
      if constexpr (kIsOptional<T>) {
        return stored == nullptr ? T() : T(BufferClass(stored));
      } else {
        return T(BufferClass(stored));
      }
    } else if constexpr (kind == ParamKind::kRemainingArgs) {
      return T(frame.args.types + Shape::kNumArgs, frame.args.args + Shape::kNumArgs,
               rest(frame.args.size, Shape::kNumArgs));
    } else if constexpr (kind == ParamKind::kRemainingRets) {
      return T(frame.rets.types + Shape::kNumRets, frame.rets.rets + Shape::kNumRets,
               rest(frame.rets.size, Shape::kNumRets));
    } else if constexpr (kind == ParamKind::kContext && !kIsOptional<T>) {
      return *std::move(stored);
    } else {
      return std::move(stored);
    }
  }

  static int64_t rest(int64_t size, size_t bound) {
    const auto used = static_cast<int64_t>(bound);
    return size > used ? size - used : 0;
  }

  template <ParamKind kind, ParamKind remaining, typename Buffers, typename Kind>
  FARCALL_FFI_INLINE static bool count_fits(const Buffers& buffers, const Kind* kinds,
                                            void* const* values) {
    constexpr auto total = static_cast<int64_t>(Shape::count(kind));
    constexpr auto required = static_cast<int64_t>(Shape::count_required(kind));
    constexpr bool is_open = Shape::count(remaining) != 0;
    if constexpr (total == 0 && !is_open) return !Shape::kRuns || buffers.size == 0;
    const bool fits = is_open             ? buffers.size >= required
                      : required == total ? buffers.size == total
                                          : buffers.size >= required && buffers.size <= total;
    return fits && (buffers.size == 0 || (kinds != nullptr && values != nullptr));
  }

  template <size_t... Is>
  FARCALL_FFI_INLINE static FARCALL_FFI_Error* decode_and_call(FARCALL_FFI_CallFrame* frame,
                                                               std::index_sequence<Is...>) {
    Values values{};
    int32_t scratch[Shape::kNumAttrs + 1];
    Problems problems;
    Decoder decoder{frame, scratch, &problems};
    bool ok = count_fits<ParamKind::kArgument, ParamKind::kRemainingArgs>(
                  frame->args, frame->args.types, frame->args.args) &&
              count_fits<ParamKind::kResult, ParamKind::kRemainingRets>(
                  frame->rets, frame->rets.types, frame->rets.rets);
    if constexpr (Shape::kNumAttrs != 0) {
      decoder.positions = locate_names(Shape::kNames, frame->attrs, scratch,
                                       std::make_index_sequence<Shape::kNumAttrs>{});
      ok = ok && decoder.positions != nullptr;
    }
    // No short-circuit: every failing item is reported.
    ok = ok &&
         (1 & ... & static_cast<int>(decode_one<Is, Ps>(decoder, detail::at<Is>(values)))) != 0;
    if (!FARCALL_FFI_LIKELY(ok)) return explain(frame, kDesc, problems);
    if constexpr (std::is_void_v<Return>) {
      Shape::kSpec.function(take<Is, Ps>(*frame, detail::at<Is>(values))...);
      return nullptr;
    } else {
      return return_value<Return>(
          frame, kDesc.name, Shape::kStage,
          Shape::kSpec.function(take<Is, Ps>(*frame, detail::at<Is>(values))...));
    }
  }

 public:
  static FARCALL_FFI_Error* call(FARCALL_FFI_CallFrame* frame);

  static constexpr HandlerDesc kDesc = {sizeof(HandlerDesc), 1,
                                        Shape::traits(),     Shape::kStage,
                                        Def::name(),         Shape::kParams.params,
                                        sizeof...(Ps),       &Handler::call};
};

template <typename Def, typename... Ps>
FARCALL_FFI_Error* Handler<Def, TypeList<Ps...>>::call(FARCALL_FFI_CallFrame* frame) {
  if constexpr (Shape::kIsOk) {
    constexpr size_t kNeeded = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
    const bool is_call = frame->struct_size >= kNeeded && frame->extension_start == nullptr &&
                         frame->stage == static_cast<FARCALL_FFI_ExecutionStage>(Shape::kStage);
    FARCALL_FFI_Error* result = nullptr;
    if (!FARCALL_FFI_LIKELY(is_call) && !admit(frame, kDesc, Shape::kStateType, result))
      return result;
#if FARCALL_FFI_EXCEPTIONS
    try {
      return decode_and_call(frame, typename Shape::Indices{});
    } catch (const std::exception& exception) {
      return named_error(frame->api, ErrorCode::kInternal, kDesc.name, exception.what());
    } catch (...) {
      return named_error(frame->api, ErrorCode::kInternal, kDesc.name, "unknown exception");
    }
#else
    return decode_and_call(frame, typename Shape::Indices{});
#endif
  }
  return nullptr;
}

}  // namespace farcall::ffi::detail
