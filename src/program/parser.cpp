// Parses programs: a recursive-descent parser for the text that printer.cpp writes.
//
//   program  := "{" "lambda" constant* ";" binder* "." "let" equation* "in" list "}"
//   constant := binder "=" ( "[" element* "]" | reference )
//   binder   := name ":" type
//   equation := binder* "=" name [ "[" (name "=" value)* "]" ] atom*
//   atom     := name | element ":" type
//   value    := None | True | False | number | name | string | type | list | attributes | program
//             | reference | reference "=" program
//
// A reference ("@" number) names a program that is defined earlier in the text; text_form.h
// explains the references of saved programs. Whitespace and "#" comments may stand between any two
// tokens.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>

#include "program/scanner.h"
#include "program/text_form.h"

namespace farcall {
namespace {

// The numbered programs of one text.
using NumberedPrograms = std::unordered_map<int64_t, ProgramPtr>;

class Parser {
 public:
  Parser(Scanner& scanner, LoadedParts* parts, NumberedPrograms& numbered)
      : in_(scanner), parts_(parts), numbered_(numbered) {}

  ProgramPtr parse(std::string name) {
    in_.expect('{');
    in_.expect_word("lambda");
    while (in_.peek() != ';') constant();
    in_.expect(';');
    while (in_.peek() != '.') {
      const auto [name, type] = binder();
      define(name, builder_.add_input(type));
    }
    in_.expect('.');
    in_.expect_word("let");
    while (!in_.accept_word("in")) equation();
    in_.expect('(');
    std::vector<Atom> outputs;
    while (!in_.accept(')')) {
      outputs.push_back(atom());
      if (!in_.accept(',') && in_.peek() != ')') in_.fail("expected ',' or ')'");
    }
    in_.expect('}');
    return builder_.build(outputs, std::move(name));
  }

  Attributes attributes() {
    const Scanner::Nesting nesting(in_);
    std::vector<std::pair<std::string, Attribute>> entries;
    in_.expect('{');
    while (!in_.accept('}')) {
      std::string name = in_.peek() == '"' ? in_.quoted() : std::string(in_.name());
      in_.expect('=');
      entries.emplace_back(std::move(name), attribute());
      in_.accept(',');
    }
    return Attributes(std::move(entries));
  }

 private:
  ShapeDtype type() {
    const std::string_view name = in_.dtype_name();
    const auto dtype = parse_dtype(name);
    if (!dtype) in_.fail(fmt::format("\"{}\" is not a dtype", name));
    in_.expect('[');
    Shape shape;
    while (!in_.accept(']')) {
      shape.push_back(in_.integer());
      if (!in_.accept(',') && in_.peek() != ']') in_.fail("expected ',' or ']'");
    }
    return {*dtype, shape, in_.accept_exact("*")};
  }

  std::pair<std::string, ShapeDtype> binder() {
    const std::string name(in_.name());
    in_.expect(':');
    return {name, type()};
  }

  void define(const std::string& name, uint32_t variable) {
    if (name == "_") return;
    if (!variables_.emplace(name, variable).second) {
      in_.fail(fmt::format("variable \"{}\" is defined twice", name));
    }
  }

  void constant() {
    const auto [name, type] = binder();
    in_.expect('=');
    if (in_.accept_exact("...")) {
      in_.fail(
          fmt::format("the values of constant \"{}\" were left out when this was printed", name));
    }
    if (in_.accept('@')) return define(name, builder_.add_constant(type, stored(type)));
    in_.expect('[');
    if (type.size() > static_cast<int64_t>(in_.remaining())) {
      in_.fail(fmt::format("{} has {} elements, but the text is too short", type.to_string(),
                           type.size()));
    }
    Storage storage = Storage::allocate(type.nbytes());
    auto* data = static_cast<std::byte*>(storage.data());
    for (int64_t i = 0; i < type.size(); ++i) {
      element(type.dtype(), data + i * byte_width(type.dtype()));
    }
    in_.expect(']');
    define(name, builder_.add_constant(type, std::move(storage)));
  }

  Storage stored(ShapeDtype type) {
    const int64_t offset = in_.integer();
    if (!parts_) in_.fail("only saved programs refer to stored constants");
    const auto size = static_cast<int64_t>(parts_->data.size());
    const auto nbytes = static_cast<int64_t>(type.nbytes());
    if (offset < 0 || offset > size || nbytes > size - offset) {
      in_.fail(
          fmt::format("{} bytes at {} do not lie in the {} stored bytes", nbytes, offset, size));
    }
    Storage& storage = parts_->constants[{static_cast<size_t>(offset), type.nbytes()}];
    if (!storage) storage = Storage::copy_of(parts_->data.data() + offset, type.nbytes());
    return storage;
  }

  void element(DType dtype, void* out) { parse_element(dtype, in_.element(), out); }

  // Reads the dtype or type after an element ("1.5:f32"). Returns it with the position after it,
  // and goes back to the element.
  template <class Read>
  auto typed_element(Read read) {
    const size_t start = in_.position();
    in_.element();
    in_.expect(':');
    const auto result = read();
    const size_t end = in_.position();
    in_.go_back(start);
    return std::tuple(result, end);
  }

  Atom atom() {
    const size_t start = in_.position();
    const std::string name(in_.word());
    if (const auto it = variables_.find(name); it != variables_.end()) {
      return Atom::variable(it->second);
    }
    in_.go_back(start);
    const char next = in_.peek();
    if (std::isalpha(static_cast<unsigned char>(next)) && name != "True" && name != "False" &&
        name != "nan" && name != "inf") {
      in_.fail(fmt::format("variable \"{}\" is not defined", name));
    }
    const auto [literal_type, end] = typed_element([&] { return type(); });
    if (literal_type.rank() != 0) in_.fail("a literal must be a scalar");
    Literal literal{literal_type, {}};
    element(literal_type.dtype(), literal.bytes.data());
    in_.go_back(end);
    return builder_.add_literal(literal);
  }

  // Whether another operand follows, not the next equation, which begins with binders or "=".
  bool at_atom() {
    const char next = in_.peek();
    if (next == '=' || next == '\0') return false;
    const size_t start = in_.position();
    const std::string_view word = in_.word();
    const bool is_binder = !word.empty() && in_.peek() == ':' &&
                           !std::isdigit(static_cast<unsigned char>(word[0])) && word != "True" &&
                           word != "False" && word != "nan" && word != "inf";
    in_.go_back(start);
    return !is_binder && word != "in";
  }

  void equation() {
    poll_interrupt(builder_.program().equations.size());
    std::vector<std::pair<std::string, ShapeDtype>> outputs;
    while (!in_.accept('=')) outputs.push_back(binder());
    const std::string_view name = in_.name();
    const Primitive* primitive = find_primitive(name);
    if (!primitive) in_.fail(fmt::format("there is no primitive \"{}\"", name));
    ParamsPtr params = parameters(*primitive);
    std::vector<Atom> operands;
    while (at_atom()) operands.push_back(atom());

    const auto results = builder_.add_equation(*primitive, std::move(params), operands);
    if (results.size() != outputs.size()) {
      in_.fail(fmt::format("{} returns {} results, but {} are named", name, results.size(),
                           outputs.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const ShapeDtype inferred = builder_.type_of(Atom::variable(results[i]));
      if (outputs[i].second != inferred) {
        in_.fail(fmt::format("result {} of {} is {}, not {}", i, name, inferred.to_string(),
                             outputs[i].second.to_string()));
      }
      define(outputs[i].first, results[i]);
    }
  }

  ParamsPtr parameters(const Primitive& primitive) {
    std::vector<NamedValue> fields;
    if (in_.accept('[')) {
      while (!in_.accept(']')) {
        std::string name(in_.name());
        if (std::ranges::find(fields, name, &NamedValue::name) != fields.end()) {
          in_.fail(fmt::format("parameter \"{}\" is given twice", name));
        }
        in_.expect('=');
        fields.push_back({std::move(name), value()});
      }
    }
    if (!primitive.parse) {
      if (!fields.empty()) in_.fail(fmt::format("{} has no parameters", primitive.name));
      return nullptr;
    }
    return with_error_prefix(primitive.name, [&] {
      ParamsPtr params = primitive.parse(fields);
      check_names(fields, params->fields());
      return params;
    });
  }

  // Raises for unknown names. Missing fields were found while parsing.
  static void check_names(std::span<const NamedValue> given, std::span<const NamedValue> known) {
    for (const NamedValue& field : given) {
      if (std::ranges::find(known, field.name, &NamedValue::name) != known.end()) continue;
      invalid_argument(fmt::format("there is no parameter \"{}\"", field.name));
    }
  }

  Value value() {
    const char next = in_.peek();
    if (next == '(') return list();
    if (next == '"') return in_.quoted();
    if (next == '{') return braces();
    if (next == '@') return numbered_program();
    if (std::isdigit(static_cast<unsigned char>(next)) || next == '-' || next == '+') {
      return number();
    }
    const size_t start = in_.position();
    const std::string word(in_.dtype_name());
    if (word == "None") return {};
    if (word == "True") return true;
    if (word == "False") return false;
    if (in_.peek() == '[') {
      in_.go_back(start);
      return type();
    }
    if (word == "nan" || word == "inf") {
      in_.go_back(start);
      return number();
    }
    return word;
  }

  Value number() {
    const std::string_view text = in_.element();
    if (text.find_first_not_of("+-0123456789") == std::string_view::npos) {
      int64_t integer = 0;
      parse_element(DType::kInt64, text, &integer);
      return integer;
    }
    double real = 0;
    parse_element(DType::kFloat64, text, &real);
    return real;
  }

  Value list() {
    const Scanner::Nesting nesting(in_);
    in_.expect('(');
    ValueList values;
    while (!in_.accept(')')) {
      values.push_back(value());
      if (!in_.accept(',') && in_.peek() != ')') in_.fail("expected ',' or ')'");
    }
    return values;
  }

  Value braces() {
    const size_t start = in_.position();
    const Scanner::Nesting nesting(in_);
    in_.expect('{');
    const bool is_program = in_.accept_word("lambda") &&
                            in_.peek() != '=';  // else "lambda" is the name of an attribute
    in_.go_back(start);
    if (is_program) return Parser(in_, parts_, numbered_).parse({});
    return attributes();
  }

  ProgramPtr numbered_program() {
    in_.expect('@');
    const int64_t number = in_.integer();
    if (parts_) return stored_program(number);
    if (in_.accept('=')) return define_program(number);
    const auto found = numbered_.find(number);
    if (found == numbered_.end()) {
      in_.fail(fmt::format("no program before this has the number {}", number));
    }
    return found->second;
  }

  ProgramPtr define_program(int64_t number) {
    const Scanner::Nesting nesting(in_);
    ProgramPtr program = Parser(in_, parts_, numbered_).parse({});
    if (!numbered_.emplace(number, program).second) {
      in_.fail(fmt::format("two programs have the number {}", number));
    }
    return program;
  }

  ProgramPtr stored_program(int64_t number) {
    const auto count = static_cast<int64_t>(parts_->programs.size());
    if (number < 0 || number >= count) {
      in_.fail(fmt::format("program {} is not among the {} before this one", number, count));
    }
    return parts_->programs[static_cast<size_t>(number)];
  }

  Attribute attribute() {
    const char next = in_.peek();
    if (next == '"') return Attribute(in_.quoted());
    if (next == '{') return Attribute(attributes());
    if (next == '[') return array_attribute();
    const auto [dtype, end] = typed_element([&] { return attribute_dtype(); });
    std::array<std::byte, 16> bytes{};
    element(dtype, bytes.data());
    in_.go_back(end);
    return Attribute::scalar(dtype, std::span(bytes).first(byte_width(dtype)));
  }

  Attribute array_attribute() {
    in_.expect('[');
    const size_t start = in_.position();
    size_t count = 0;
    while (!in_.accept(']')) {
      in_.element();
      in_.accept(',');
      ++count;
    }
    in_.expect(':');
    const DType dtype = attribute_dtype();
    const size_t end = in_.position();
    in_.go_back(start);
    std::vector<std::byte> bytes(count * byte_width(dtype));
    for (size_t i = 0; i < count; ++i) {
      element(dtype, bytes.data() + i * byte_width(dtype));
      in_.accept(',');
    }
    in_.go_back(end);
    return Attribute::array(dtype, count, bytes);
  }

  DType attribute_dtype() {
    const std::string_view name = in_.dtype_name();
    const auto dtype = parse_dtype(name);
    if (!dtype) in_.fail(fmt::format("\"{}\" is not a dtype", name));
    if (is_key(*dtype)) in_.fail("attributes hold no keys");
    return *dtype;
  }

  Scanner& in_;
  LoadedParts* parts_;
  NumberedPrograms& numbered_;
  ProgramBuilder builder_;
  std::unordered_map<std::string, uint32_t> variables_;
};

}  // namespace

ProgramPtr read_program(Scanner& in, LoadedParts* parts, std::string name) {
  NumberedPrograms numbered;
  return Parser(in, parts, numbered).parse(std::move(name));
}

Attributes read_attributes(Scanner& in) {
  NumberedPrograms numbered;
  return Parser(in, nullptr, numbered).attributes();
}

ProgramPtr parse_program(std::string_view text) {
  Scanner scanner(text);
  ProgramPtr program = read_with_place(scanner, [&] { return read_program(scanner, nullptr); });
  if (!scanner.at_end()) scanner.fail("the program has ended, but text follows");
  verify(*program);
  return program;
}

}  // namespace farcall
