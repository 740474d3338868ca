// Programs as text. The grammar is the one that parser.cpp reads.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/quote.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

// Words that have a meaning of their own and are therefore no names of variables.
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

// A string that the parser takes for itself, and not for one of its words.
bool is_plain(std::string_view text) {
  return is_identifier(text) && text != "None" && text != "True" && text != "False" &&
         std::ranges::find(kReserved, text) == std::end(kReserved);
}

struct ValuePrinter {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool v) const { return v ? "True" : "False"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const { return format_element(DType::kFloat64, &v); }
  std::string operator()(const std::string& v) const { return is_plain(v) ? v : quoted(v); }
  std::string operator()(ShapeDtype v) const { return v.to_string(); }
  std::string operator()(const Attributes& v) const { return v.to_string(); }
  std::string operator()(const ProgramPtr& v) const { return v ? to_text(*v) : "None"; }
  std::string operator()(const ValueList& v) const {
    std::string out = "(";
    for (size_t i = 0; i < v.size(); ++i) {
      if (i > 0) out += ", ";
      out += to_text(v[i]);
    }
    return out + (v.size() == 1 ? ",)" : ")");
  }
};

class Printer {
 public:
  Printer(const Program& program, const PrintOptions& options)
      : program_(program), options_(options), names_(program.variable_types.size()) {
    name_variables();
  }

  std::string print() const {
    std::string out = "{ lambda";
    for (const Constant& constant : program_.constants) {
      out += ' ' + binder(constant.variable) + '=' + constant_text(constant);
    }
    out += " ;";
    for (const uint32_t input : program_.inputs) out += ' ' + binder(input);
    out += ". let";
    for (const Equation& equation : program_.equations) out += "\n    " + equation_text(equation);
    out += program_.equations.empty() ? " in (" : "\n  in (";
    for (size_t i = 0; i < program_.outputs.size(); ++i) {
      if (i > 0) out += ", ";
      out += atom_text(program_.outputs[i]);
    }
    return out + (program_.outputs.size() == 1 ? ",) }" : ") }");
  }

 private:
  // Letters in the order of appearance; "_" for results that nothing reads.
  void name_variables() {
    std::vector<bool> is_read(names_.size(), false);
    const auto mark = [&](Atom atom) {
      if (atom.is_variable()) is_read[atom.index] = true;
    };
    for (const Equation& equation : program_.equations) {
      std::ranges::for_each(equation.inputs, mark);
    }
    std::ranges::for_each(program_.outputs, mark);

    size_t next = 0;
    const auto name = [&](uint32_t variable) {
      do {
        names_[variable] = letters(next++);
      } while (std::ranges::find(kReserved, names_[variable]) != std::end(kReserved));
    };
    for (const Constant& constant : program_.constants) name(constant.variable);
    for (const uint32_t input : program_.inputs) name(input);
    for (const Equation& equation : program_.equations) {
      for (const uint32_t output : equation.outputs) {
        if (is_read[output]) {
          name(output);
        } else {
          names_[output] = '_';
        }
      }
    }
  }

  std::string binder(uint32_t variable) const {
    return names_[variable] + ':' + program_.variable_types[variable].to_string();
  }

  std::string atom_text(Atom atom) const {
    if (atom.is_variable()) return names_[atom.index];
    const Literal& literal = program_.literals[atom.index];
    return format_element(literal.type.dtype(), literal.bytes.data()) + ':' +
           literal.type.to_string();
  }

  std::string constant_text(const Constant& constant) const {
    const ShapeDtype type = program_.variable_types[constant.variable];
    if (type.size() > options_.max_constant_elements) return "...";
    const auto* data = static_cast<const std::byte*>(constant.storage.data());
    std::string out = "[";
    for (int64_t i = 0; i < type.size(); ++i) {
      if (i > 0) out += ' ';
      out += format_element(type.dtype(), data + i * byte_width(type.dtype()));
    }
    return out + ']';
  }

  std::string equation_text(const Equation& equation) const {
    std::string out;
    for (const uint32_t output : equation.outputs) out += binder(output) + ' ';
    out += "= ";
    out += equation.primitive->name;
    if (equation.params) {
      const std::vector<NamedValue> fields = equation.params->fields();
      // Many parameters stand on a line each, as they do not fit on one.
      const std::string_view separator = fields.size() > 3 ? "\n      " : " ";
      out += '[';
      for (size_t i = 0; i < fields.size(); ++i) {
        if (i > 0 || fields.size() > 3) out += separator;
        out += fields[i].name + '=' + to_text(fields[i].value);
      }
      out += fields.size() > 3 ? "\n    ]" : "]";
    }
    for (const Atom input : equation.inputs) out += ' ' + atom_text(input);
    if (options_.source_locations && equation.where) {
      out += fmt::format("  # {}:{} ({})", equation.where->file, equation.where->line,
                         equation.where->function);
    }
    return out;
  }

  const Program& program_;
  const PrintOptions& options_;
  std::vector<std::string> names_;
};

}  // namespace

std::string to_text(const Program& program, const PrintOptions& options) {
  return Printer(program, options).print();
}

std::string to_text(const Value& value) {
  return std::visit(ValuePrinter(), static_cast<const Value::variant&>(value));
}

}  // namespace farcall
