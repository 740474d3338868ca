#include "tools/check/cases.h"

#include <algorithm>

#include <fmt/format.h>

namespace farcall::tools {
namespace {

// The maximum size of one call's arrays, for sizes chosen here and for sizes given by the user.
constexpr size_t kMostBytes = size_t{1} << 24, kMostGivenBytes = size_t{1} << 28;

// Rows of sizes; a row has one size for each letter.
std::vector<std::vector<int64_t>> rows(size_t num_letters) {
  std::vector<std::vector<int64_t>> rows;
  const auto row = [&](auto&& size_of) {
    rows.emplace_back();
    for (size_t i = 0; i < num_letters; ++i)
      rows.back().push_back(size_of(static_cast<int64_t>(i)));
  };
  row([](int64_t i) { return 3 + 2 * i; });
  row([](int64_t i) { return 16 + 16 * i; });
  row([](int64_t) { return 1; });
  for (size_t empty = 0; empty < num_letters; ++empty) {
    row([&](int64_t i) { return static_cast<size_t>(i) == empty ? 0 : 4; });
  }
  if (num_letters > 1) row([](int64_t) { return 0; });
  row([](int64_t i) { return 17 + 2 * i; });
  row([](int64_t i) { return 64 >> (i < 4 ? i : 4); });
  if (num_letters > 1)
    row([&](int64_t i) { return 5 + 2 * (static_cast<int64_t>(num_letters) - i); });
  if (num_letters > 1) row([](int64_t) { return 8; });
  for (const int64_t tail :
       {2,  4,  5,  6,  7,  8,  9,  11, 13, 15, 31,  32,  33,  63,  65,  66,  83,   84,
        85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 127, 129, 128, 255, 256, 257, 1024, 4096}) {
    row([&](int64_t i) { return static_cast<size_t>(i) + 1 == num_letters ? tail : 2; });
  }
  static constexpr int64_t kLarge[] = {65537, 0, 257, 41, 17, 11};
  if (num_letters == 1) {
    row([](int64_t) { return 1000; });
    row([](int64_t) { return kLarge[0]; });
  } else {
    const int64_t large = kLarge[std::min<size_t>(num_letters, 5)];
    row([&](int64_t i) { return i == 0 ? 127 : 3; });
    row([&](int64_t) { return 33; });
    row([&](int64_t i) { return large + i; });
  }
  return rows;
}

void add_case(const CheckSpec& spec, Sizes sizes, std::vector<Case>& cases) {
  const bool is_given = sizes.empty() || !spec.sizes.empty();
  auto made = make_case(spec, std::move(sizes));
  if (!made || made->nbytes() > (is_given ? kMostGivenBytes : kMostBytes)) return;
  const auto is_same = [&](const Case& other) { return other.sizes == made->sizes; };
  if (std::ranges::none_of(cases, is_same)) cases.push_back(std::move(*made));
}

}  // namespace

size_t Case::nbytes() const {
  size_t total = 0;
  for (const auto* types : {&arguments, &results}) {
    for (const ShapeDtype& type : *types) total += type.nbytes();
  }
  return total;
}

std::string Case::to_string() const {
  const auto list = [](const std::vector<ShapeDtype>& types) {
    std::string text;
    for (const ShapeDtype& type : types) text += (text.empty() ? "" : ", ") + type_text(type);
    return text;
  };
  return fmt::format("{} -> {}", list(arguments), list(results));
}

uint64_t Case::data_seed(uint64_t seed) const {
  uint64_t hash = seed;
  for (const char c : to_string()) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

std::optional<Case> make_case(const CheckSpec& spec, Sizes sizes) {
  Case made = {.sizes = std::move(sizes), .arguments = {}, .results = {}};
  for (const bool is_argument : {true, false}) {
    for (const Operand& operand : is_argument ? spec.arguments : spec.results) {
      const auto type = operand.type(made.sizes);
      if (!type) return std::nullopt;
      (is_argument ? made.arguments : made.results).push_back(*type);
    }
  }
  return made;
}

std::string why_no_cases(const CheckSpec& spec) {
  Sizes sizes;
  std::string text;
  for (const std::string& letter : letters_of(spec)) {
    const auto given = spec.sizes.find(letter);
    sizes[letter] = given == spec.sizes.end() ? 16 : given->second[0];
    text += fmt::format("{}{}={}", text.empty() ? " for " : ", ", letter, sizes[letter]);
  }
  for (const auto* operands : {&spec.arguments, &spec.results}) {
    for (const Operand& operand : *operands) {
      if (operand.type(sizes)) continue;
      return fmt::format(
          "none of the sizes that were tried make every shape valid: {} is not valid{}. Choose "
          "sizes with --size LETTER=1,2,3",
          operand.to_string(), text);
    }
  }
  return fmt::format("the operands are too large: {} have {} MB",
                     make_case(spec, sizes)->to_string(), make_case(spec, sizes)->nbytes() >> 20);
}

std::vector<Case> make_cases(const CheckSpec& spec) {
  const auto letters = letters_of(spec);
  std::vector<Case> cases;
  for (const auto& row : rows(letters.size())) {
    // If a letter has given sizes, each row is repeated for all of them.
    size_t num_rounds = 1;
    for (const std::string& letter : letters) {
      if (const auto given = spec.sizes.find(letter); given != spec.sizes.end())
        num_rounds = std::max(num_rounds, given->second.size());
    }
    for (size_t round = 0; round < num_rounds; ++round) {
      Sizes sizes;
      for (size_t i = 0; i < letters.size(); ++i) {
        const auto given = spec.sizes.find(letters[i]);
        sizes[letters[i]] =
            given == spec.sizes.end() ? row[i] : given->second[round % given->second.size()];
      }
      add_case(spec, std::move(sizes), cases);
    }
  }
  return cases;
}

}  // namespace farcall::tools
