// Explains what is wrong with a call: one message with every mistake in its arguments, results and
// attributes. Runs only after decoding has failed, on the handler's constant description.
#pragma once

#include <farcall/handler/detail/api.h>
#include <farcall/handler/detail/describe.h>
#include <farcall/handler/detail/text.h>

#include <cstdint>
#include <string_view>

namespace farcall::ffi::detail {

class Problems {
 public:
  // Begins a problem; the caller appends its text.
  FARCALL_FFI_COLD Text& add() {
    if (count_++ != 0) text_ << "; ";
    return text_;
  }

  FARCALL_FFI_COLD void add_context(const char* item, const Error& error) {
    add() << item << ": " << error.message();
  }

  int64_t count() const { return count_; }
  std::string_view view() const { return text_.view(); }

 private:
  Text text_;
  int64_t count_ = 0;
};

FARCALL_FFI_COLD inline FARCALL_FFI_Error* named_error(const FARCALL_FFI_Api* api, ErrorCode code,
                                                       const char* handler,
                                                       std::string_view message) {
  Text text;
  text << handler << ": " << message << std::string_view("\0", 1);
  return make_error(api, code, text.view().data());
}

// `prefix` is the path of the dictionary; empty for the attributes of the call.
FARCALL_FFI_COLD inline void explain_attributes(Problems& problems, std::string_view prefix,
                                                const FARCALL_FFI_Attrs& attrs,
                                                const NamedType* wanted, size_t num_wanted) {
  constexpr int64_t kMaxListed = 8;
  auto begin = [&](std::string_view name) -> Text& {
    return problems.add() << "attribute \"" << prefix << name << "\": ";
  };
  for (size_t i = 0; i < num_wanted; ++i) {
    const NamedType& type = wanted[i];
    const int64_t at = index_of(attrs, type.name);
    if (at < 0) {
      if (type.is_optional) continue;
      Text& text = begin(type.name) << "missing (the call has ";
      if (attrs.size == 0) text << "none";
      for (int64_t j = 0; j < attrs.size && j < kMaxListed; ++j) {
        text << (j == 0 ? "\"" : ", \"") << attr_name(attrs, j) << "\"";
      }
      text << (attrs.size > kMaxListed ? ", ...)" : ")");
      continue;
    }
    const FARCALL_FFI_AttrType kind = attrs.types[at];
    const void* value = attrs.attrs[at];
    if (attribute_fits(*type.type, kind, value)) continue;
    if (type.type->kind == TypeKind::kStruct && kind == FARCALL_FFI_AttrType_DICTIONARY &&
        value != nullptr && attrs_are_whole(*static_cast<const FARCALL_FFI_Attrs*>(value))) {
      Text path;
      path << prefix << type.name << ".";
      explain_attributes(problems, path.view(), *static_cast<const FARCALL_FFI_Attrs*>(value),
                         type.type->children, type.type->num_children);
      continue;
    }
    Text& text = begin(type.name) << "wanted ";
    print_type(text, *type.type);
    text << ", got ";
    print_attribute(text, kind, value, type.type->num_children != 0);
  }

  for (int64_t j = 0; j < attrs.size; ++j) {
    const std::string_view name = attr_name(attrs, j);
    bool is_wanted = false;
    for (size_t i = 0; i < num_wanted; ++i) is_wanted = is_wanted || name == wanted[i].name;
    if (is_wanted) continue;
    Text& text = begin(name) << "unknown (wanted ";
    for (size_t i = 0; i < num_wanted; ++i) {
      text << (i == 0 ? "\"" : ", \"") << wanted[i].name << "\"";
    }
    text << ")";
  }
}

// Checks the arguments or results of a frame against the parameters of that kind.
FARCALL_FFI_COLD inline void explain_buffers(Problems& problems, const HandlerDesc& handler,
                                             ParamKind kind, const int32_t* kinds,
                                             void* const* values, int64_t size) {
  const bool is_arg = kind == ParamKind::kArgument;
  const char* noun = is_arg ? "argument" : "result";
  const ParamKind rest = is_arg ? ParamKind::kRemainingArgs : ParamKind::kRemainingRets;
  int64_t required = 0;
  int64_t total = 0;
  bool is_open = false;
  for (size_t i = 0; i < handler.num_params; ++i) {
    const ParamDesc& param = handler.params[i];
    if (param.kind == rest) is_open = true;
    if (param.kind != kind) continue;
    ++total;
    if (!param.is_optional) ++required;
  }
  if (total == 0 && !is_open && handler.stage != ExecutionStage::kExecute &&
      handler.stage != ExecutionStage::kRecord) {
    return;  // the stage ignores buffers
  }
  if (size < 0 || (size > 0 && (kinds == nullptr || values == nullptr))) {
    problems.add() << noun << "s: the call frame is malformed";
    return;
  }
  if (size < required || (size > total && !is_open)) {
    Text& text = problems.add() << "wanted ";
    if (required < total || is_open) text << "at least ";
    if (size > total && !is_open && required < total) {
      text << required << " and at most " << total << " " << noun << "s, got " << size;
    } else {
      text << required << " " << noun << (required == 1 ? "" : "s") << ", got " << size;
    }
  }
  int64_t index = 0;
  for (size_t i = 0; i < handler.num_params && index < size; ++i) {
    const ParamDesc& param = handler.params[i];
    if (param.kind != kind) continue;
    const auto* buffer = static_cast<const FARCALL_FFI_Buffer*>(values[index]);
    if (!buffer_fits(*param.type, kinds[index], buffer)) {
      Text& text = problems.add() << noun << " " << index << ": wanted ";
      print_type(text, *param.type);
      text << ", got ";
      print_buffer(text, kinds[index], buffer);
    }
    ++index;
  }
}

FARCALL_FFI_COLD inline void explain_all_attributes(Problems& problems, const HandlerDesc& handler,
                                                    const FARCALL_FFI_Attrs& attrs) {
  size_t num_wanted = 0;
  const TypeDesc* whole = nullptr;
  auto* wanted = new NamedType[handler.num_params + 1];
  for (size_t i = 0; i < handler.num_params; ++i) {
    const ParamDesc& param = handler.params[i];
    if (param.kind == ParamKind::kAllAttributes) whole = param.type;
    if (param.kind != ParamKind::kAttribute) continue;
    wanted[num_wanted++] = {param.name, param.type, param.is_optional, 0};
  }
  if (whole != nullptr || num_wanted != 0) {
    if (!attrs_are_whole(attrs)) {
      problems.add() << "attributes: the call frame is malformed";
    } else if (whole == nullptr) {
      explain_attributes(problems, "", attrs, wanted, num_wanted);
    } else if (whole->kind == TypeKind::kStruct) {
      explain_attributes(problems, "", attrs, whole->children, whole->num_children);
    }
  }
  delete[] wanted;
}

// `context_problems` holds the errors of the context items.
FARCALL_FFI_COLD inline FARCALL_FFI_Error* explain(const FARCALL_FFI_CallFrame* frame,
                                                   const HandlerDesc& handler,
                                                   const Problems& context_problems) {
  static_assert(sizeof(FARCALL_FFI_ArgType) == 4 && sizeof(FARCALL_FFI_RetType) == 4);
  Problems problems;
  explain_buffers(problems, handler, ParamKind::kArgument,
                  reinterpret_cast<const int32_t*>(frame->args.types), frame->args.args,
                  frame->args.size);
  explain_buffers(problems, handler, ParamKind::kResult,
                  reinterpret_cast<const int32_t*>(frame->rets.types), frame->rets.rets,
                  frame->rets.size);
  explain_all_attributes(problems, handler, frame->attrs);

  Text text;
  const int64_t count = problems.count() + context_problems.count();
  if (count > 1) text << count << " problems: ";
  text << problems.view();
  if (problems.count() != 0 && context_problems.count() != 0) text << "; ";
  text << context_problems.view();
  if (count == 0) text << "the call cannot be decoded";
  return named_error(frame->api, ErrorCode::kInvalidArgument, handler.name, text.view());
}

}  // namespace farcall::ffi::detail
