// Programs from text: a recursive descent over the form that printer.cpp writes.
//
//   program  := "{" "lambda" constant* ";" binder* "." "let" equation* "in" list "}"
//   constant := binder "=" "[" element* "]"
//   binder   := name ":" type
//   equation := binder* "=" name [ "[" (name "=" value)* "]" ] atom*
//   atom     := name | element ":" type
//   value    := None | True | False | number | name | string | type | list | attributes | program
//
// Whitespace and "#" comments may stand between any two tokens.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <farcall/core/element_text.h>
#include <farcall/core/error.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>

namespace farcall {
namespace {

// Position in the text, and the tokens that everything is made of.
class Scanner {
 public:
  static constexpr std::string_view kErrorPrefix = "program text, line ";

  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view what) const {
    const auto before = text_.substr(0, position_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto newline = before.rfind('\n');
    const size_t column = position_ - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}{}, column {}: {}", kErrorPrefix, line, column, what));
  }

  void skip_space() {
    while (position_ < text_.size()) {
      const char c = text_[position_];
      if (c == '#') {
        while (position_ < text_.size() && text_[position_] != '\n') ++position_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++position_;
      } else {
        return;
      }
    }
  }
  // The next character that is no space; '\0' at the end.
  char peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(fmt::format("expected '{}'", c));
  }
  bool accept_word(std::string_view word) {
    skip_space();
    const size_t start = position_;
    if (this->word() == word) return true;
    position_ = start;
    return false;
  }
  void expect_word(std::string_view wanted) {
    if (!accept_word(wanted)) fail(fmt::format("expected \"{}\"", wanted));
  }
  // Letters, digits and underscores; may be empty.
  std::string_view word() {
    skip_space();
    return take([](unsigned char c) { return std::isalnum(c) || c == '_'; });
  }
  std::string_view name() {
    const std::string_view found = word();
    if (found.empty()) fail("expected a name");
    return found;
  }
  // The text of one element: a number, True, False, or a complex number in parentheses.
  std::string_view element() {
    skip_space();
    const size_t start = position_;
    if (position_ < text_.size() && text_[position_] == '(') {
      take([](unsigned char c) { return c != ')'; });
      if (position_ < text_.size()) ++position_;
    } else {
      take([](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; });
    }
    if (position_ == start) fail("expected a value");
    return text_.substr(start, position_ - start);
  }
  std::string quoted() {
    expect('"');
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
      if (text_[position_] != '\\') {
        out += text_[position_++];
        continue;
      }
      ++position_;
      out += escape();
    }
    if (position_ >= text_.size()) fail("the string has no end");
    ++position_;
    return out;
  }
  int64_t integer() {
    skip_space();
    int64_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) fail("expected an integer");
    position_ += static_cast<size_t>(end - begin);
    return value;
  }
  bool accept_exact(std::string_view literal) {
    skip_space();
    if (!text_.substr(position_).starts_with(literal)) return false;
    position_ += literal.size();
    return true;
  }

  // Lists, attributes and programs inside one another; text must not exhaust the stack.
  class Nesting {
   public:
    explicit Nesting(Scanner& in) : in_(in) {
      constexpr int kMaxDepth = 100;
      if (in_.depth_ >= kMaxDepth) in_.fail("the text is nested too deeply");
      ++in_.depth_;
    }
    ~Nesting() { --in_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    Scanner& in_;
  };

  size_t position() const { return position_; }
  size_t remaining() const { return text_.size() - position_; }
  void go_back(size_t position) { position_ = position; }
  bool at_end() { return peek() == '\0'; }

 private:
  template <class Predicate>
  std::string_view take(Predicate accepts) {
    const size_t start = position_;
    while (position_ < text_.size() && accepts(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    }
    return text_.substr(start, position_ - start);
  }

  char escape() {
    if (position_ >= text_.size()) fail("the string has no end");
    const char c = text_[position_++];
    if (c == 'n') return '\n';
    if (c == 't') return '\t';
    if (c == 'r') return '\r';
    if (c != 'x') return c;
    unsigned value = 0;
    const char* const begin = text_.data() + position_;
    const char* const limit = text_.data() + std::min(position_ + 2, text_.size());
    const auto [end, error] = std::from_chars(begin, limit, value, 16);
    if (error != std::errc() || end != begin + 2) fail("expected two hexadecimal digits");
    position_ += 2;
    return static_cast<char>(value);
  }

  std::string_view text_;
  size_t position_ = 0;
  int depth_ = 0;
};

class Parser {
 public:
  explicit Parser(Scanner& scanner) : in_(scanner) {}

  ProgramPtr parse() {
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
    return builder_.build(outputs);
  }

 private:
  ShapeDtype type() {
    const std::string_view name = in_.name();
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
    in_.expect('[');
    if (type.size() > static_cast<int64_t>(in_.remaining())) {
      in_.fail(fmt::format("{} has {} elements, and there is not so much text", type.to_string(),
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

  void element(DType dtype, void* out) { parse_element(dtype, in_.element(), out); }

  // An element whose dtype stands behind it: "1.5:f32".
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

  // Whether another operand follows: not the next equation, which begins with binders or "=".
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
      in_.fail(
          fmt::format("{} gives {} results, {} are named", name, results.size(), outputs.size()));
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
        in_.expect('=');
        fields.push_back({std::move(name), value()});
      }
    }
    if (!primitive.parse) {
      if (!fields.empty()) in_.fail(fmt::format("{} has no parameters", primitive.name));
      return nullptr;
    }
    return with_error_prefix(primitive.name, [&] { return primitive.parse(fields); });
  }

  Value value() {
    const char next = in_.peek();
    if (next == '(') return list();
    if (next == '"') return in_.quoted();
    if (next == '{') return braces();
    if (std::isdigit(static_cast<unsigned char>(next)) || next == '-' || next == '+') {
      return number();
    }
    const size_t start = in_.position();
    const std::string word(in_.name());
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
    const bool is_program = in_.accept_word("lambda") && in_.peek() != '=';  // an attribute's name
    in_.go_back(start);
    if (is_program) return Parser(in_).parse();
    return attributes();
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
    const std::string_view name = in_.name();
    const auto dtype = parse_dtype(name);
    if (!dtype) in_.fail(fmt::format("\"{}\" is not a dtype", name));
    return *dtype;
  }

  Scanner& in_;
  ProgramBuilder builder_;
  std::map<std::string, uint32_t, std::less<>> variables_;
};

}  // namespace

ProgramPtr parse_program(std::string_view text) {
  Scanner scanner(text);
  ProgramPtr program;
  try {
    program = Parser(scanner).parse();
  } catch (const Error& error) {
    // What the values themselves refuse happens where the reading stands.
    if (error.message().starts_with(Scanner::kErrorPrefix)) throw;
    scanner.fail(error.message());
  }
  if (!scanner.at_end()) scanner.fail("the program has ended, but text follows");
  verify(*program);
  return program;
}

}  // namespace farcall
