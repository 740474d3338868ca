// Scanner: a position in the text of a program, and functions that read tokens.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>
#include <farcall/program/walk.h>

namespace farcall {

class Scanner {
 public:
  static constexpr std::string_view kErrorPrefix = "program text, line ";

  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view what) const {
    const auto before = text_.substr(0, position_);
    const auto line = 1 + std::ranges::count(before, '\n');
    const auto newline = before.rfind('\n');
    const size_t column = position_ - (newline == std::string_view::npos ? 0 : newline + 1) + 1;
    invalid_argument(fmt::format("{}{}, column {}: {}", kErrorPrefix, line, column, what));
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
  // The next character that is not a space; '\0' at the end.
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
  // The name of a dtype; dtypes of keys have a part in angle brackets.
  std::string_view dtype_name() {
    const std::string_view found = name();
    const size_t end = position_, start = end - found.size();
    if (!accept_here('<')) return found;
    word();
    if (accept_here('>')) return text_.substr(start, position_ - start);
    position_ = end;
    return found;
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

  // Counts nested lists, attributes and programs, and limits their depth: text must not exhaust the
  // stack.
  class Nesting {
   public:
    explicit Nesting(Scanner& in) : in_(in) {
      // Twice, because each program may be in a list.
      constexpr int64_t kMaxDepth = 2 * kMaxProgramDepth + 100;
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
  bool at_end() {
    skip_space();
    return position_ == text_.size();
  }

 private:
  template <class Predicate>
  std::string_view take(Predicate accepts) {
    const size_t start = position_;
    while (position_ < text_.size() && accepts(static_cast<unsigned char>(text_[position_]))) {
      ++position_;
    }
    return text_.substr(start, position_ - start);
  }

  bool accept_here(char c) {
    if (position_ >= text_.size() || text_[position_] != c) return false;
    ++position_;
    return true;
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
  int64_t depth_ = 0;
};

}  // namespace farcall
