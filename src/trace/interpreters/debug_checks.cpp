#include <farcall/trace/debug_checks.h>

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/program/processes.h>
#include <farcall/program/walk.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/record.h>

namespace farcall {
namespace {

std::vector<std::pair<PrimitiveKind, StepRule>>& step_rules() {
  static auto* rules = new std::vector<std::pair<PrimitiveKind, StepRule>>;
  return *rules;
}

struct Found {
  bool nan = false, infinity = false;
};

template <class T>
Found find_in(const void* data, size_t count) {
  const auto* values = static_cast<const T*>(data);
  Found found;
  for (size_t i = 0; i < count; ++i) {
    found.nan = found.nan || std::isnan(values[i]);
    found.infinity = found.infinity || std::isinf(values[i]);
  }
  return found;
}

// For narrow floats, which have no C++ types.
Found find_in_narrow(DType dtype, const void* data, size_t count) {
  const auto* bytes = static_cast<const std::byte*>(data);
  Found found;
  for (size_t i = 0; i < count; ++i) {
    const std::string text = format_element(dtype, bytes + i * byte_width(dtype));
    found.nan = found.nan || text.find("nan") != std::string::npos;
    found.infinity = found.infinity || text.find("inf") != std::string::npos;
  }
  return found;
}

Found find_in(const Array& x);

// Searches the shards of this process.
Found find_in_shards(const Array& x) {
  Found found;
  for (const Array& shard : shards_of(x)) {
    const Found here = find_in(shard);
    found.nan = found.nan || here.nan;
    found.infinity = found.infinity || here.infinity;
  }
  return found;
}

Found find_in(const Array& x) {
  const ShardedBuffer* spread = ShardedBuffer::of(memory_of(x));
  if (spread && !spread->is_fully_addressable()) return find_in_shards(x);
  const auto count = static_cast<size_t>(x.size());
  switch (x.dtype()) {
    case DType::kFloat32:
      return find_in<float>(x.data(), count);
    case DType::kFloat64:
      return find_in<double>(x.data(), count);
    case DType::kComplex64:
      return find_in<float>(x.data(), 2 * count);
    case DType::kComplex128:
      return find_in<double>(x.data(), 2 * count);
    default:
      return is_floating(x.dtype()) ? find_in_narrow(x.dtype(), x.data(), count) : Found();
  }
}

// The checks that the flags ask for.
struct Checks {
  bool nans = is_on(Flag::kDebugNans);
  bool infinities = is_on(Flag::kDebugInfs);

  // "nan" or "inf" if the array holds a forbidden value, else empty.
  std::string_view forbidden(const Array& x) const {
    if (!x.is_concrete()) return {};
    const Found found = find_in(x);
    if (nans && found.nan) return "nan";
    return infinities && found.infinity ? "inf" : std::string_view();
  }
  // The first result with a forbidden value.
  std::optional<size_t> first(std::span<const Array> results) const {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!forbidden(results[i]).empty()) return i;
    }
    return std::nullopt;
  }
  [[noreturn]] void raise(std::string_view operation, std::span<const Array> results, size_t i,
                          const SourceLocationPtr& where) const {
    const std::string_view what = forbidden(results[i]);
    const std::string which = results.size() == 1 ? "" : fmt::format("result {}, ", i);
    const std::string line =
        where ? fmt::format(", at {}:{} ({})", where->file, where->line, where->function) : "";
    throw FloatingPointError(
        fmt::format("invalid value ({}) encountered in {}: {}{}{}. The flag {} makes it an error",
                    what, operation, which, results[i].type().to_string(), line,
                    what == "nan" ? "debug_nans" : "debug_infs"));
  }
};

// Runs programs one equation at a time and checks each result. The flags are off meanwhile.
class Search {
 public:
  std::vector<Array> run(const Program& program, std::span<const Array> inputs) {
    return evaluate(program, inputs,
                    [&](const Equation& equation, std::span<const Array> operands) {
                      return step(equation, operands);
                    });
  }

 private:
  std::vector<Array> step(const Equation& equation, std::span<const Array> operands) {
    std::vector<Array> results = bind_primitive(*equation.primitive, equation.params, operands);
    if (const auto bad = checks_.first(results)) {
      look_inside(equation, operands);
      checks_.raise(equation.primitive->name, results, *bad, equation.where);
    }
    return results;
  }

  void look_inside(const Equation& equation, std::span<const Array> operands) {
    const RunProgram run = [&](const Program& program, std::span<const Array> inputs) {
      return this->run(program, inputs);
    };
    if (const ProgramPtr body = called_program(equation)) {
      run(*body, operands);
      return;
    }
    for (const auto& [kind, rule] : step_rules()) {
      if (kind == equation.primitive->kind) rule(equation.params.get(), operands, run);
    }
  }

  Checks checks_;
  FlagScope no_nan_checks_{Flag::kDebugNans, 0};
  FlagScope no_infinity_checks_{Flag::kDebugInfs, 0};
  InterpreterScope scope_{evaluator()};
};

}  // namespace

FloatingPointError::FloatingPointError(std::string message)
    : Error(ErrorCode::kInvalidArgument, std::move(message)) {}
FloatingPointError::~FloatingPointError() = default;
void FloatingPointError::raise_with(std::string message) const {
  throw FloatingPointError(std::move(message));
}

void set_step_rule(PrimitiveKind kind, StepRule rule) { step_rules().emplace_back(kind, rule); }

void check_results(std::string_view operation, std::span<const Array> results) {
  const Checks checks;
  if (const auto bad = checks.first(results)) {
    checks.raise(operation, results, *bad, current_location());
  }
}

void check_results(const Program& program, std::span<const Array> inputs,
                   std::span<const Array> results) {
  const Checks checks;
  const auto bad = checks.first(results);
  if (!bad) return;
  if (program.equations.size() == 1 && nested_programs(program.equations[0]).empty()) {
    const Equation& equation = program.equations[0];
    const SourceLocationPtr here = current_location();
    checks.raise(equation.primitive->name, results, *bad, here ? here : equation.where);
  }
  // With several processes, running again in one process would wait for the others.
  if (!processes() || processes()->count() == 1) Search().run(program, inputs);
  // Not found: only the compiled program gives the forbidden value, or an argument held it.
  checks.raise(program.name.empty() ? "a program" : std::string_view(program.name), results, *bad,
               current_location());
}

}  // namespace farcall
