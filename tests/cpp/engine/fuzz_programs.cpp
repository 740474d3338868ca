// Fuzzes programs. Inputs are examples of all primitives, mutated randomly as text or as saved
// bytes. Each is parsed, verified, printed, compared, drawn, saved, differentiated, batched,
// transposed, compiled and run. Each must end with results or with an Error that blames the
// program.
//
//   fuzz_programs text|saved [count [seed [first]]]
//
// Input i of a seed does not depend on the count. A failure reports its number; `fuzz_programs text
// 1 <seed> <number>` reproduces and prints it.
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/program/draw.h>
#include <farcall/program/engine.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>
#include <farcall/program/verify.h>
#include <farcall/program/walk.h>
#include <farcall/trace/derive.h>
#include <farcall/trace/differentiate.h>
#include <farcall/trace/interpreter.h>
#include <farcall/trace/jit.h>

#include "program/examples.h"
#include "program/saved_bytes.h"

namespace farcall {
namespace {

using Clock = std::chrono::steady_clock;

// ---- time limit ----

struct TimeIsUp {};
Clock::time_point deadline;
void check_deadline() {
  if (Clock::now() > deadline) throw TimeIsUp();
}

// ---- generating inputs ----

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  size_t below(size_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class List>
  auto pick(const List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::mt19937_64 engine_;
};

// Splits text into names, numbers, strings and single characters.
std::vector<std::string> tokens_of(std::string_view text) {
  const auto is_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  };
  std::vector<std::string> tokens;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    if (is_word(text[i]) || text[i] == '-') {
      while (end < text.size() && is_word(text[end])) ++end;
    } else if (text[i] == '"') {
      while (end < text.size() && text[end] != '"') end += text[end] == '\\' ? 2 : 1;
      end = std::min(end + 1, text.size());
    }
    tokens.emplace_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const std::string& token : tokens) text += token;
  return text;
}

const std::vector<testing::ExampleEquation>& examples() {
  static const auto all = testing::example_equations();
  return all;
}

// Renames the variables a, b, … of an equation by adding the prefix.
std::string with_names(std::string_view text, const std::string& prefix) {
  std::string out;
  int depth = 0;
  const std::vector<std::string> tokens = tokens_of(text);
  for (size_t i = 0; i < tokens.size(); ++i) {
    const std::string& token = tokens[i];
    if (token == "[" || token == "(" || token == "{") ++depth;
    if (token == "]" || token == ")" || token == "}") --depth;
    const bool is_variable = depth == 0 && token.size() == 1 && token[0] >= 'a' && token[0] <= 'c';
    out += is_variable ? prefix + token : token;
  }
  return out;
}

class TextMaker {
 public:
  explicit TextMaker(Random& random) : random_(random) {}

  std::string make() {
    std::string text = program(random_.one_in(3) ? 1 + random_.below(4) : 1);
    while (random_.one_in(4)) text = wrapped(text);
    for (size_t i = 0, count = random_.pick(kNumChanges); i < count; ++i) change(text);
    return text;
  }

  void change(std::string& text) {
    if (random_.one_in(5)) return change_bytes(text);
    std::vector<std::string> tokens = tokens_of(text);
    if (tokens.empty()) return;
    std::string& token = tokens[random_.below(tokens.size())];
    switch (random_.below(8)) {
      case 0:
        token.clear();
        break;
      case 1:
        token += ' ' + token;
        break;
      case 2:
        std::swap(token, tokens[random_.below(tokens.size())]);
        break;
      case 3:
        token = random_.pick(tokens);
        break;
      case 4:
        token = random_.pick(kWords);
        break;
      default:
        change_number(tokens);
    }
    text = joined(tokens);
  }

 private:
  static constexpr size_t kNumChanges[] = {0, 0, 1, 1, 1, 2, 2, 3, 5};
  static constexpr const char* kNumbers[] = {"0",
                                             "1",
                                             "-1",
                                             "2",
                                             "3",
                                             "4",
                                             "7",
                                             "64",
                                             "-2",
                                             "65",
                                             "1000",
                                             "32767",
                                             "2147483647",
                                             "2147483648",
                                             "-2147483648",
                                             "4294967296",
                                             "4611686018427387903",
                                             "4611686018427387904",
                                             "9223372036854775807",
                                             "-9223372036854775807",
                                             "-9223372036854775808",
                                             "99999999999999999999",
                                             "1e300",
                                             "nan",
                                             "-0.0"};
  static constexpr const char* kWords[] = {
      "f32",    "f64",  "c64",  "c128",     "i32",       "i8",    "u4",   "bool", "bf16",
      "token",  "i64",  "u64",  "None",     "True",      "False", "(",    ")",    "[",
      "]",      "{",    "}",    "@",        "@1",        "@0",    "=",    ",",    ";",
      "lambda", "let",  "in",   "*",        "()",        "(0,)",  "add",  "mul",  "neg",
      "jit",    "a",    "b",    "c",        "\"\"",      "f16",   "clip", "i",    "#",
      "dot",    "scan", "cond", "f8e4m3fn", "\"\\xff\"", "-",     "i2",   "while"};

  std::string program(size_t num_equations) {
    std::string inputs, equations, outputs;
    for (size_t i = 0; i < num_equations; ++i) {
      const testing::ExampleEquation example = random_.pick(examples());
      const std::string prefix = "x" + std::to_string(i);
      inputs += ' ' + with_names(example.inputs, prefix);
      std::string equation = with_names(example.equation, prefix);
      for (size_t at = 0, k = 0; (at = equation.find("_:", at)) != std::string::npos; ++k) {
        if (at > 0 && equation[at - 1] != ' ') {
          ++at;
          continue;
        }
        const std::string name = "r" + std::to_string(i) + "_" + std::to_string(k);
        equation.replace(at, 1, name);
        outputs += name + ", ";
        at += name.size();
      }
      equations += equation + "\n";
    }
    return "{ lambda ;" + inputs + ". let\n" + equations + "in (" + outputs + ") }";
  }

  // Wraps the program in a call, once or twice, or in a branch.
  std::string wrapped(const std::string& text) {
    ProgramPtr program;
    try {
      program = parse_program(text);
    } catch (const Error&) {
      return text;
    }
    std::string inputs, names, results, outputs, binders;
    for (size_t i = 0; i < program->inputs.size(); ++i) {
      inputs += " p" + std::to_string(i) + ":" + program->input_types()[i].to_string();
      names += " p" + std::to_string(i);
    }
    const auto bind = [&](const std::string& prefix) {
      binders.clear();
      for (size_t i = 0; i < program->outputs.size(); ++i) {
        const std::string name = prefix + std::to_string(i);
        binders += name + ":" + program->output_types()[i].to_string() + " ";
        outputs += name + ", ";
      }
      return binders;
    };
    const std::string shared = "@7=" + text;
    std::string body;
    switch (random_.below(5)) {
      case 0:
        body = bind("q") + "= jit[name=f jaxpr=" + shared + "]" + names + "\n" + bind("s") +
               "= jit[name=g jaxpr=@7]" + names;
        break;
      case 1:
        inputs = " n:i32[]" + inputs;
        body = bind("q") + "= cond[branches=(" + shared + ", @7)] n" + names;
        break;
      case 2:
        body = bind("q") + "= checkpoint[jaxpr=" + text +
               " prevent_cse=True policy=dots_saveable names=()]" + names;
        break;
      case 3:
        body = bind("q") + "= custom_vjp_call[name=f call_jaxpr=" + text + " num_consts=0]" + names;
        break;
      default:
        body = bind("q") + "= scan[jaxpr=" + text +
               " length=3 num_carry=0 num_consts=" + std::to_string(program->inputs.size()) +
               " reverse=False unroll=1]" + names;
        for (size_t i = 0; i < program->outputs.size(); ++i) {
          const ShapeDtype type = program->output_types()[i];
          std::string stacked = type.to_string();
          stacked.insert(stacked.find('[') + 1, type.rank() == 0 ? "3" : "3,");
          const std::string name = "q" + std::to_string(i) + ":";
          body.replace(body.find(name), name.size() + type.to_string().size(), name + stacked);
        }
    }
    return "{ lambda ;" + inputs + ". let\n" + body + "\nin (" + outputs + ") }";
  }

  void change_number(std::vector<std::string>& tokens) {
    std::vector<size_t> numbers;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (std::isdigit(static_cast<unsigned char>(tokens[i].back()))) numbers.push_back(i);
    }
    if (numbers.empty()) return;
    std::string& token = tokens[numbers[random_.below(numbers.size())]];
    // Dtype names end in digits too; they keep their letters.
    if (!std::isalpha(static_cast<unsigned char>(token[0]))) token = random_.pick(kNumbers);
  }

  void change_bytes(std::string& text) {
    for (size_t i = 0, count = 1 + random_.below(3); i < count && !text.empty(); ++i) {
      const size_t at = random_.below(text.size());
      const char byte = random_.one_in(2) ? static_cast<char>(random_.below(256)) : text[at];
      switch (random_.below(3)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.erase(at, 1 + random_.below(4));
          break;
        default:
          text.insert(at, 1, byte);
      }
    }
  }

  Random& random_;
};

std::string saved_input(Random& random) {
  TextMaker maker(random);
  std::string text = maker.make();
  std::string bytes;
  try {
    Attributes metadata{{"who", "fuzz"}, {"in_tree", "[]"}, {"numbers", std::vector<double>{1, 2}}};
    bytes = serialize_program(*parse_program(text), {std::move(metadata)});
  } catch (const Error&) {
    return testing::saved_bytes("metadata {} program \"f\" " + text, 64 * random.below(3));
  }
  if (random.one_in(4)) {  // unchanged, or changed with a checksum that does not match
    if (random.one_in(2)) bytes[random.below(bytes.size())] ^= static_cast<char>(random.below(256));
    return bytes;
  }
  uint64_t text_size = 0;
  std::memcpy(&text_size, bytes.data() + 24, 8);
  std::string inner = bytes.substr(40, text_size), data = bytes.substr(40 + text_size);
  for (size_t i = 0, count = random.below(4); i < count; ++i) maker.change(inner);
  return testing::saved_bytes(inner, data);
}

// ---- operations on a program ----

[[noreturn]] void broken(const char* what, const Program& program) {
  std::fprintf(stderr, "%s\n%s\n", what, to_text(program).c_str());
  std::abort();
}

bool is_small(const Program& whole) {
  bool small = nesting_of(whole).num_equations <= 2000;
  for_each_program(whole, [&](const Program& program) {
    small = small && program.variable_types.size() < 2000;
    for (const ShapeDtype& type : program.variable_types) small = small && type.size() <= 1 << 14;
  });
  return small;
}

struct Counts {
  int64_t parsed = 0, compiled = 0, run = 0, derived = 0, stopped = 0;
};

class Exercise {
 public:
  Exercise(Random& random, Counts& counts) : random_(random), counts_(counts) {}

  void all(const ProgramPtr& program) {
    ++counts_.parsed;
    verify(*program);
    look(*program);
    compile_and_run(program);
    if (is_small(*program)) transform(program, 2);
  }

 private:
  // An error ends only this step, not the following ones.
  template <class Step>
  void attempt(Step&& step) {
    try {
      step();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kInternal) throw;
    }
  }

  void look(const Program& program) {
    const std::string text = to_text(program);
    const ProgramPtr again = parse_program(text);
    if (to_text(*again) != text) broken("the text is another one when it is read back", program);
    static_cast<void>(*again == program);
    if (!(program == program)) broken("it does not equal itself", program);
    static_cast<void>(hash_of(program) + hash_of(*again));
    static_cast<void>(program.cost().flops);
    if (random_.one_in(8)) static_cast<void>(to_dot(program));
    if (random_.one_in(8)) static_cast<void>(to_svg(program));
    attempt([&] {
      const LoadedProgram loaded = deserialize_program(serialize_program(program), {false});
      if (to_text(*loaded.program) != text) broken("it is another one when it is loaded", program);
    });
  }

  void compile_and_run(const ProgramPtr& program) {
    attempt([&] {
      const auto executable = default_engine().compile(program, {});
      ++counts_.compiled;
      const MemoryUse use = executable->memory();
      constexpr size_t kMaxBytes = size_t{1} << 22;
      if (use.argument_bytes > kMaxBytes || use.output_bytes > kMaxBytes ||
          use.temp_bytes > kMaxBytes || !is_small(*program)) {
        return;
      }
      std::vector<Array> inputs;
      for (const ShapeDtype& type : program->input_types()) inputs.push_back(input(type));
      run(*executable, inputs);
      ++counts_.run;
    });
  }

  // Any bytes are valid elements, except for bools and dtypes narrower than a byte.
  Array input(ShapeDtype type) {
    Storage storage = Storage::allocate(type.nbytes());
    auto* bytes = static_cast<uint8_t*>(storage.data());
    const bool is_byte = dtype_info(type.dtype()).bits >= 8;
    for (size_t i = 0; i < type.nbytes(); ++i) {
      bytes[i] = is_byte ? static_cast<uint8_t>(random_.below(256)) : 0;
    }
    return Array(type, std::move(storage));
  }

  void transform(const ProgramPtr& program, int depth) {
    if (depth == 0) return;
    const auto types = program->input_types();
    std::vector<bool> varies;
    std::vector<int64_t> axes;
    for (const ShapeDtype& type : types) {
      varies.push_back(has_tangent(type) && !random_.one_in(4));
      axes.push_back(type.is_token() || random_.one_in(3)
                         ? kNotBatched
                         : static_cast<int64_t>(random_.below(type.rank() + 1)));
    }
    const auto follow = [&](const ProgramPtr& derived) {
      ++counts_.derived;
      verify(*derived);
      if (random_.one_in(2)) look(*derived);
      compile_and_run(derived);
      if (random_.one_in(4) && is_small(*derived)) transform(derived, depth - 1);
    };
    attempt([&] { follow(jvp_program(program, varies).program); });
    attempt([&] {
      follow(batch_program(program, BatchAxis{2, random_.one_in(2) ? "i" : ""}, axes).program);
    });
    attempt([&] {
      const ProgramJvp jvp = jvp_program(program, varies);
      std::vector<bool> is_unknown(types.size(), false);
      is_unknown.resize(jvp.program->inputs.size(), true);
      const ProgramPartialEval split = partial_eval_program(jvp.program, is_unknown);
      follow(split.known);
      std::vector<bool> is_linear(split.num_residuals, false);
      is_linear.resize(split.unknown->inputs.size(), true);
      std::vector<bool> has_cotangent;
      for (const ShapeDtype& type : split.unknown->output_types()) {
        has_cotangent.push_back(has_tangent(type));
      }
      follow(transpose_program(split.unknown, is_linear, has_cotangent).program);
    });
  }

  Random& random_;
  Counts& counts_;
};

// ---- one input ----

std::string current;

[[noreturn]] void fail(int64_t number, const std::string& what) {
  std::fprintf(stderr, "input %" PRId64 ": %s\n%s\n", number, what.c_str(), current.c_str());
  std::abort();
}

void run_input(bool is_saved, bool is_shown, uint64_t seed, int64_t number, Counts& counts) {
  // A single input may run in a debugger, so it gets more time.
  const auto most = std::chrono::milliseconds(is_shown ? 100'000 : 200);
  Random random(seed * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(number));
  const Clock::time_point start = Clock::now();
  deadline = start + most;
  try {
    current = is_saved ? saved_input(random) : TextMaker(random).make();
    if (is_shown) std::printf("%s\n", current.c_str());
    const ProgramPtr program =
        is_saved ? deserialize_program(current, {false}).program : parse_program(current);
    Exercise(random, counts).all(program);
  } catch (const TimeIsUp&) {
    ++counts.stopped;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) fail(number, error.message());
  } catch (const std::exception& error) {
    fail(number, std::string("an exception of another kind: ") + error.what());
  }
  // Generous, since the machine may be busy.
  if (Clock::now() - start > 150 * most) fail(number, "it was not stopped in time");
}

int run_all(int argc, char** argv) {
  const std::string_view kind = argc > 1 ? argv[1] : "";
  if (kind != "text" && kind != "saved") {
    std::fprintf(stderr, "usage: fuzz_programs text|saved [count [seed [first]]]\n");
    return 2;
  }
  const int64_t count = argc > 2 ? std::atoll(argv[2]) : 2000;
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
  const int64_t first = argc > 4 ? std::atoll(argv[4]) : 0;
  set_interrupt_check(check_deadline);
  Counts counts;
  for (int64_t i = first; i < first + count; ++i) {
    run_input(kind == "saved", count == 1, seed, i, counts);
    // Thousands of programs run once each; cached ones are never reused.
    if (i % 256 == 0) clear_evaluator_cache();
  }
  std::printf("%s: %" PRId64 " inputs of seed %" PRIu64 " from %" PRId64 ": %" PRId64
              " were programs, %" PRId64 " derived from them, %" PRId64 " compiled, %" PRId64
              " run, %" PRId64 " stopped\n",
              argv[1], count, seed, first, counts.parsed, counts.derived, counts.compiled,
              counts.run, counts.stopped);
  return 0;
}

}  // namespace
}  // namespace farcall

int main(int argc, char** argv) { return farcall::run_all(argc, argv); }
