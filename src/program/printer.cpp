// Prints programs. parser.cpp describes the grammar.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/interrupt.h>
#include <farcall/core/quote.h>
#include <farcall/program/text.h>
#include <farcall/program/walk.h>

#include "program/text_form.h"

namespace farcall {
namespace {

// Reserved words, which cannot be names of variables.
constexpr std::string_view kReserved[] = {"in", "inf", "lambda", "let", "nan"};

// a, b, …, z, ba, bb, …
std::string letters(size_t number) {
  std::string name;
  do {
    name.insert(name.begin(), static_cast<char>('a' + number % 26));
    number /= 26;
  } while (number > 0);
  return name;
}

// Whether a string needs no quotes: the parser reads it as a string and not as a reserved word.
bool is_plain(std::string_view text) {
  return is_identifier(text) && text != "None" && text != "True" && text != "False" &&
         std::ranges::find(kReserved, text) == std::end(kReserved);
}

// Whether the value contains a program. Such values are printed on separate lines.
bool holds_program(const Value& value) {
  const auto* list = std::get_if<ValueList>(&value);
  return std::holds_alternative<ProgramPtr>(value) ||
         (list && std::ranges::any_of(*list, holds_program));
}

// The programs that occur more than once in a text. The first occurrence is printed in full, the
// others as a number.
class SharedPrograms {
 public:
  void find_in(const Program& program) {
    for_each_program(program, [this](const Program& each) {
      for (const Equation& equation : each.equations) {
        for (const auto& [name, nested] : nested_programs(equation)) {
          if (!met_.insert(nested.get()).second) numbers_.emplace(nested.get(), 0);
        }
      }
    });
  }
  void find_in(const Value& value) {
    if (const auto* list = std::get_if<ValueList>(&value)) {
      for (const Value& item : *list) find_in(item);
    } else if (const auto* program = std::get_if<ProgramPtr>(&value); program && *program) {
      const bool is_new = met_.insert(program->get()).second;
      if (is_new) return find_in(**program);
      numbers_.emplace(program->get(), 0);
    }
  }

  // The number of the program, 0 until it is printed; null if it occurs only once.
  size_t* number_of(const Program* program) {
    const auto it = numbers_.find(program);
    return it == numbers_.end() ? nullptr : &it->second;
  }
  size_t next_number() { return ++last_; }

 private:
  std::unordered_set<const Program*> met_;
  std::unordered_map<const Program*, size_t> numbers_;
  size_t last_ = 0;
};

// Appends to a string. `indent` is the indentation of the line on which a text begins.
class Printer {
 public:
  Printer(std::string& out, const PrintOptions& options, const SavedParts* saved)
      : out_(out), options_(options), saved_(saved) {}

  // Finds the shared programs of the whole text. Call it before printing.
  template <class T>
  void find_shared(const T& text) {
    shared_.find_in(text);
  }

  void program(const Program& program, size_t indent) {
    const Names names = variable_names(program);
    out_ += "{ lambda";
    for (const Constant& each : program.constants) {
      out_ += ' ';
      binder(program, names, each.variable);
      out_ += '=';
      constant(each, program.variable_types[each.variable]);
    }
    out_ += " ;";
    for (const uint32_t input : program.inputs) {
      out_ += ' ';
      binder(program, names, input);
    }
    out_ += ". let";
    for (const Equation& each : program.equations) {
      new_line(indent + 4);
      equation(program, names, each, indent + 4);
    }
    if (program.equations.empty()) {
      out_ += " in (";
    } else {
      new_line(indent + 2);
      out_ += "in (";
    }
    for (size_t i = 0; i < program.outputs.size(); ++i) {
      if (i > 0) out_ += ", ";
      atom(program, names, program.outputs[i]);
    }
    out_ += program.outputs.size() == 1 ? ",) }" : ") }";
  }

  void value(const Value& value, size_t indent) {
    std::visit([&](const auto& held) { print(held, indent); },
               static_cast<const Value::variant&>(value));
  }

 private:
  using Names = std::vector<std::string>;

  void new_line(size_t indent) { out_.append(1, '\n').append(indent, ' '); }

  void binder(const Program& program, const Names& names, uint32_t variable) {
    out_ += names[variable];
    out_ += ':';
    out_ += program.variable_types[variable].to_string();
  }

  void atom(const Program& program, const Names& names, Atom atom) {
    if (atom.is_variable()) {
      out_ += names[atom.index];
      return;
    }
    const Literal& literal = program.literals[atom.index];
    out_ += format_element(literal.type.dtype(), literal.bytes.data());
    out_ += ':';
    out_ += literal.type.to_string();
  }

  void constant(const Constant& constant, ShapeDtype type) {
    if (saved_ && type.size() > 0) {
      out_ += fmt::format("@{}", saved_->offset_of(constant.storage));
      return;
    }
    if (type.size() > options_.max_constant_elements) {
      out_ += "...";
      return;
    }
    const auto* data = static_cast<const std::byte*>(constant.storage.data());
    out_ += '[';
    for (int64_t i = 0; i < type.size(); ++i) {
      if (i > 0) out_ += ' ';
      out_ += format_element(type.dtype(), data + i * byte_width(type.dtype()));
    }
    out_ += ']';
  }

  void equation(const Program& program, const Names& names, const Equation& equation,
                size_t indent) {
    poll_interrupt(num_equations_++);
    for (const uint32_t output : equation.outputs) {
      binder(program, names, output);
      out_ += ' ';
    }
    out_ += "= ";
    out_ += equation.primitive->name;
    if (equation.params) params(*equation.params, indent);
    for (const Atom input : equation.inputs) {
      out_ += ' ';
      atom(program, names, input);
    }
    if (options_.source_locations && equation.where) {
      out_ += "  # " + to_text(*equation.where);
    }
  }

  void params(const Params& params, size_t indent) {
    const std::vector<NamedValue> fields = params.fields();
    // Programs, and more than three parameters, are printed on separate lines.
    const bool in_lines =
        fields.size() > 3 || std::ranges::any_of(fields, holds_program, &NamedValue::value);
    out_ += '[';
    for (size_t i = 0; i < fields.size(); ++i) {
      if (in_lines) {
        new_line(indent + 2);
      } else if (i > 0) {
        out_ += ' ';
      }
      out_ += fields[i].name;
      out_ += '=';
      value(fields[i].value, in_lines ? indent + 2 : indent);
    }
    if (in_lines) new_line(indent);
    out_ += ']';
  }

  void print(std::monostate, size_t) { out_ += "None"; }
  void print(bool v, size_t) { out_ += v ? "True" : "False"; }
  void print(int64_t v, size_t) { out_ += std::to_string(v); }
  void print(double v, size_t) { out_ += format_element(DType::kFloat64, &v); }
  void print(const std::string& v, size_t) { out_ += is_plain(v) ? v : quoted(v); }
  void print(ShapeDtype v, size_t) { out_ += v.to_string(); }
  void print(const Attributes& v, size_t) { out_ += v.to_string(); }
  void print(const ProgramPtr& v, size_t indent) {
    if (!v) {
      out_ += "None";
    } else if (saved_) {
      out_ += fmt::format("@{}", saved_->number_of(v.get()));
    } else if (size_t* const number = shared_.number_of(v.get())) {
      const bool is_first = *number == 0;
      if (is_first) *number = shared_.next_number();
      out_ += fmt::format("@{}", *number);
      if (!is_first) return;
      out_ += '=';
      program(*v, indent);
    } else {
      program(*v, indent);
    }
  }
  void print(const ValueList& v, size_t indent) {
    const bool in_lines = std::ranges::any_of(v, holds_program);
    out_ += '(';
    for (size_t i = 0; i < v.size(); ++i) {
      if (i > 0) out_ += in_lines ? "," : ", ";
      if (in_lines) new_line(indent + 2);
      value(v[i], in_lines ? indent + 2 : indent);
    }
    if (v.size() == 1) out_ += ',';
    if (in_lines) new_line(indent);
    out_ += ')';
  }

  std::string& out_;
  const PrintOptions& options_;
  const SavedParts* saved_;
  SharedPrograms shared_;
  size_t num_equations_ = 0;  // printed so far
};

}  // namespace

std::vector<std::string> variable_names(const Program& program) {
  std::vector<std::string> names(program.variable_types.size());
  std::vector<bool> is_read(names.size(), false);
  const auto mark = [&](Atom atom) {
    if (atom.is_variable()) is_read[atom.index] = true;
  };
  for (const Equation& equation : program.equations) {
    std::ranges::for_each(equation.inputs, mark);
  }
  std::ranges::for_each(program.outputs, mark);

  size_t next = 0;
  const auto name = [&](uint32_t variable) {
    do {
      names[variable] = letters(next++);
    } while (std::ranges::find(kReserved, names[variable]) != std::end(kReserved));
  };
  for (const Constant& constant : program.constants) name(constant.variable);
  for (const uint32_t input : program.inputs) name(input);
  for (const Equation& equation : program.equations) {
    for (const uint32_t output : equation.outputs) {
      if (is_read[output]) {
        name(output);
      } else {
        names[output] = '_';
      }
    }
  }
  return names;
}

std::string to_text(const Program& program, const PrintOptions& options) {
  std::string out;
  Printer printer(out, options, nullptr);
  printer.find_shared(program);
  printer.program(program, 0);
  return out;
}

std::string to_text(const SourceLocation& location) {
  return fmt::format("{}:{} ({})", location.file, location.line, location.function);
}

std::string to_text(const Value& value) {
  std::string out;
  const PrintOptions options;
  Printer printer(out, options, nullptr);
  printer.find_shared(value);
  printer.value(value, 0);
  return out;
}

std::string saved_text(const Program& program, const SavedParts& saved) {
  std::string out;
  Printer(out, {}, &saved).program(program, 0);
  return out;
}

}  // namespace farcall
