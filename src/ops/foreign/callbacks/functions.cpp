// The C++ functions for callbacks, and the adapters for users' functions.
#include <cstdio>
#include <cstring>
#include <utility>

#include <fmt/args.h>
#include <fmt/format.h>

#include <farcall/core/element_number.h>
#include <farcall/core/error.h>
#include <farcall/core/short_list.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/promotion.h>
#include <farcall/trace/interpreter.h>

namespace farcall {
namespace {

// Reports an empty std::function before the program runs.
template <class F>
void check_function(CallbackKind kind, const CallbackOptions& options, const F& function) {
  if (function) return;
  invalid_argument(
      fmt::format("{} {}: the function is empty", callback_kind_name(kind), options.name));
}

// Converts a plain number that a function returned to the declared dtype. A number of a higher
// kind, such as a float for an integer dtype, is returned unchanged. Raises OverflowError for an
// integer that does not fit.
Array as_declared(const Array& x, ShapeDtype declared, CallbackKind kind_of_call,
                  std::string_view name) {
  if (!x.type().weak_type() || declared.rank() != 0) return x;
  const auto kind = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_floating(dtype) ? 2 : dtype == DType::kBool ? 0 : 1;
  };
  if (kind(x.dtype()) > kind(declared.dtype())) return x;
  const auto* scalar = dynamic_cast<const ScalarNode*>(&x.node());
  const auto* integer = scalar ? std::get_if<int64_t>(&scalar->number()) : nullptr;
  std::byte element[8];
  if (integer && is_integer(declared.dtype()) &&
      !convert_element(DType::kInt64, integer, declared.dtype(), element)) {
    throw OverflowError(fmt::format("{} {}: the result {} does not fit into {}",
                                    callback_kind_name(kind_of_call), name, *integer,
                                    dtype_name(declared.dtype())));
  }
  return convert(x, {declared.dtype(), false});
}

CallbackPtr make(CallbackKind kind, const CallbackOptions& options, ArrayFunction function) {
  check_function(kind, options, function);
  return make_program_callback(options.name, on_arrays(kind, options.name, std::move(function)));
}

// Adds one operand as an argument of a format string.
void add_field(fmt::dynamic_format_arg_store<fmt::format_context>& fields, const Array& x) {
  if (x.rank() > 0 || x.type().is_token()) return fields.push_back(x.to_string());
  switch (x.dtype()) {
    case DType::kBool:
      return fields.push_back(x.item<bool>());
    case DType::kInt32:
      return fields.push_back(x.item<int32_t>());
    case DType::kInt64:
      return fields.push_back(x.item<int64_t>());
    case DType::kFloat32:
      return fields.push_back(x.item<float>());
    case DType::kFloat64:
      return fields.push_back(x.item<double>());
    default:
      return fields.push_back(x.to_string());
  }
}

}  // namespace

CallbackPtr make_program_callback(std::string name, CallbackFunction function,
                                  bool command_buffer_compatible, bool takes_lock_of_front) {
  return make_callback(
      std::move(name),
      [function = std::move(function)](const CallbackCall& call) {
        const InterpreterScope scope(evaluator());
        function(call);
      },
      takes_lock_of_front,
      command_buffer_compatible ? FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE : 0);
}

CallbackFunction on_arrays(CallbackKind kind, std::string name, ArrayFunction function) {
  return [kind, name = std::move(name), function = std::move(function)](const CallbackCall& call) {
    ShortList<Array, 8> arrays(call.arguments.size());
    for (const Buffer& argument : call.arguments) {
      arrays.emplace_back(argument.type(), Storage::copy_of(argument.data(), argument.nbytes()));
    }
    std::vector<Array> results = function(arrays.span());
    if (kind == CallbackKind::kDebug) return;
    if (results.size() != call.results.size()) {
      invalid_argument(fmt::format("{} {}: the function returned {} results, {} were declared",
                                   callback_kind_name(kind), name, results.size(),
                                   call.results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const ShapeDtype wanted = call.results[i].type().strengthened();
      if (results[i].is_null()) {
        invalid_argument(fmt::format(
            "{} {}: result {} was declared as {}, but the function returned an empty Array",
            callback_kind_name(kind), name, i, wanted.to_string()));
      }
      results[i] = as_declared(results[i], wanted, kind, name);
      const ShapeDtype got = results[i].type().strengthened();
      if (got != wanted) {
        invalid_argument(
            fmt::format("{} {}: result {} was declared as {}, but the function returned {}. "
                        "Return what was declared, or declare what is returned",
                        callback_kind_name(kind), name, i, wanted.to_string(), got.to_string()));
      }
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const size_t nbytes = call.results[i].nbytes();
      if (nbytes > 0) std::memcpy(call.results[i].data(), results[i].data(), nbytes);
    }
  };
}

BufferCallback::BufferCallback(BufferFunction function, std::vector<ShapeDtype> result_types,
                               CallbackOptions options)
    : callback_(make_program_callback(
          options.name,
          [function = std::move(function)](const CallbackCall& call) {
            ExecutionContext context = call.context;
            function(context, call.results, call.arguments);
          },
          options.command_buffer_compatible)),
      result_types_(std::move(result_types)),
      options_(std::move(options)) {}

std::vector<Array> BufferCallback::operator()(ListOf<Array> operands) const {
  return bind_callback(CallbackKind::kBuffer, callback_, operands, result_types_, options_);
}

BufferCallback buffer_callback(BufferFunction function, std::vector<ShapeDtype> result_types,
                               CallbackOptions options) {
  check_function(CallbackKind::kBuffer, options, function);
  return BufferCallback(std::move(function), std::move(result_types), std::move(options));
}

std::vector<Array> pure_callback(ArrayFunction function, std::vector<ShapeDtype> result_types,
                                 ListOf<Array> operands, const CallbackOptions& options) {
  return bind_callback(CallbackKind::kPure, make(CallbackKind::kPure, options, std::move(function)),
                       operands, result_types, options);
}

std::vector<Array> io_callback(ArrayFunction function, std::vector<ShapeDtype> result_types,
                               ListOf<Array> operands, const CallbackOptions& options) {
  return bind_callback(CallbackKind::kIo, make(CallbackKind::kIo, options, std::move(function)),
                       operands, result_types, options);
}

void debug::callback(std::function<void(std::span<const Array>)> function, ListOf<Array> operands,
                     const CallbackOptions& options) {
  check_function(CallbackKind::kDebug, options, function);
  const auto discard = [function = std::move(function)](std::span<const Array> arrays) {
    function(arrays);
    return std::vector<Array>();
  };
  bind_callback(CallbackKind::kDebug, make(CallbackKind::kDebug, options, discard), operands, {},
                options);
}

void debug::print(std::string_view format, ListOf<Array> operands, bool is_ordered) {
  const auto line = [format = std::string(format)](std::span<const Array> values) {
    fmt::dynamic_format_arg_store<fmt::format_context> fields;
    for (const Array& value : values) add_field(fields, value);
    std::string text;
    try {
      text = fmt::vformat(format, fields);
    } catch (const fmt::format_error& error) {
      invalid_argument(fmt::format("debug::print: format \"{}\" with {} operands: {}", format,
                                   values.size(), error.what()));
    }
    std::puts(text.c_str());
  };
  callback(line, operands, {.name = "print", .is_ordered = is_ordered});
}

void effects_barrier() {
  // Programs run their callbacks on the calling thread before they return, so there is nothing to
  // wait for.
  std::fflush(stdout);
}

}  // namespace farcall
