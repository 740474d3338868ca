// einsum and tensordot.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <farcall/ops/lax.h>
#include <farcall/ops/numpy_arrays.h>

#include "ops/internal/numpy.h"

namespace farcall::numpy {
namespace {

template <class... Args>
[[noreturn]] void fail_einsum(std::string_view subscripts, fmt::format_string<Args...> format,
                              Args&&... args) {
  invalid_argument(fmt::format("einsum(\"{}\"): {}", subscripts,
                               fmt::format(format, std::forward<Args>(args)...)));
}

// The letter of each dimension. Dimensions behind "..." have the label kEllipsis - i, where i
// counts from the last one.
using Labels = std::vector<int>;
constexpr int kEllipsis = -1;

struct Term {
  Array array;
  Labels labels;

  bool has(int label) const { return std::ranges::find(labels, label) != labels.end(); }
  int64_t position(int label) const { return std::ranges::find(labels, label) - labels.begin(); }
  std::vector<int64_t> positions(const Labels& wanted) const {
    std::vector<int64_t> result;
    for (const int label : wanted) result.push_back(position(label));
    return result;
  }
};

struct Parsed {
  std::vector<Labels> inputs;
  Labels output;
};

// The labels of one operand or of the output; `num_unnamed` dimensions stand behind "...".
Labels parse_labels(std::string_view subscripts, std::string_view text, int64_t num_unnamed,
                    bool& has_ellipsis) {
  Labels labels;
  has_ellipsis = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (has_ellipsis || text.substr(i, 3) != "...") {
        fail_einsum(subscripts, "\"{}\" may contain dots only as one \"...\"", text);
      }
      for (int64_t j = num_unnamed; j-- > 0;) labels.push_back(kEllipsis - static_cast<int>(j));
      has_ellipsis = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      fail_einsum(subscripts, "'{}' is not a letter", text[i]);
    }
  }
  return labels;
}

std::vector<std::string> split_commas(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The output if none is given: the unnamed dimensions, then the letters that occur once, sorted.
Labels implicit_output(const std::vector<Labels>& inputs, int64_t num_unnamed) {
  std::map<int, int> counts;
  for (const Labels& labels : inputs) {
    for (const int label : labels) ++counts[label];
  }
  Labels output;
  for (int64_t i = num_unnamed; i-- > 0;) output.push_back(kEllipsis - static_cast<int>(i));
  for (const auto& [label, count] : counts) {
    if (label > 0 && count == 1) output.push_back(label);
  }
  return output;
}

Parsed parse_subscripts(std::string_view subscripts, std::span<const Array> operands) {
  std::string text;
  for (const char c : subscripts) {
    if (c != ' ') text += c;
  }
  const size_t arrow = text.find("->");
  const std::vector<std::string> parts = split_commas(std::string_view(text).substr(0, arrow));
  if (parts.size() != operands.size()) {
    fail_einsum(subscripts, "names {} operands, got {}", parts.size(), operands.size());
  }
  Parsed parsed;
  int64_t most_unnamed = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    const auto num_named = static_cast<int64_t>(
        std::ranges::count_if(part, [](unsigned char c) { return std::isalpha(c); }));
    const auto rank = static_cast<int64_t>(operands[i].rank());
    bool has_ellipsis = false;
    parsed.inputs.push_back(
        parse_labels(subscripts, part, std::max(rank - num_named, int64_t{0}), has_ellipsis));
    if (static_cast<int64_t>(parsed.inputs.back().size()) != rank) {
      fail_einsum(subscripts, "\"{}\" names {} dimensions, operand {} is {}", part, num_named, i,
                  operands[i].type().to_string());
    }
    most_unnamed = std::max(most_unnamed, rank - num_named);
  }
  if (arrow == std::string::npos) {
    parsed.output = implicit_output(parsed.inputs, most_unnamed);
    return parsed;
  }
  bool has_ellipsis = false;
  const std::string output = text.substr(arrow + 2);
  parsed.output = parse_labels(subscripts, output, most_unnamed, has_ellipsis);
  for (const int label : parsed.output) {
    const bool is_known = std::ranges::any_of(parsed.inputs, [&](const Labels& labels) {
      return std::ranges::find(labels, label) != labels.end();
    });
    if (!is_known)
      fail_einsum(subscripts, "no operand has the output's '{}'", static_cast<char>(label));
    if (std::ranges::count(parsed.output, label) > 1) {
      fail_einsum(subscripts, "the output names '{}' twice", static_cast<char>(label));
    }
  }
  return parsed;
}

// ---- terms

// Replaces two dimensions with the same label by their diagonal.
void take_diagonals(Term& term) {
  for (size_t i = 0; i < term.labels.size(); ++i) {
    for (size_t j = i + 1; j < term.labels.size(); ++j) {
      if (term.labels[i] != term.labels[j]) continue;
      const int label = term.labels[i];
      term.array = diagonal(term.array, 0, static_cast<int64_t>(i), static_cast<int64_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<int64_t>(j));
      term.labels.erase(term.labels.begin() + static_cast<int64_t>(i));
      term.labels.push_back(label);
      return take_diagonals(term);
    }
  }
}

// Drops dimensions of size one that have another size in another operand: they are broadcast.
void drop_broadcast(Term& term, const std::map<int, int64_t>& sizes) {
  Shape shape;
  Labels labels;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    const int64_t size = term.array.shape()[i];
    if (size == 1 && sizes.at(term.labels[i]) != 1) continue;
    shape.push_back(size);
    labels.push_back(term.labels[i]);
  }
  term = {reshape(term.array, shape), labels};
}

void sum_out(Term& term, const std::set<int>& needed) {
  std::vector<int64_t> axes;
  Labels kept;
  for (size_t i = 0; i < term.labels.size(); ++i) {
    if (needed.contains(term.labels[i])) {
      kept.push_back(term.labels[i]);
    } else {
      axes.push_back(static_cast<int64_t>(i));
    }
  }
  if (axes.empty()) return;
  const bool is_bool = term.array.dtype() == DType::kBool;
  term = {is_bool ? lax::reduce_or(term.array, axes) : lax::reduce_sum(term.array, axes), kept};
}

// The product of two terms, summed over the labels that are not in `needed`.
Term multiply_terms(Term x, Term y, const std::set<int>& needed) {
  std::set<int> needed_x = needed, needed_y = needed;
  needed_x.insert(y.labels.begin(), y.labels.end());
  needed_y.insert(x.labels.begin(), x.labels.end());
  sum_out(x, needed_x);
  sum_out(y, needed_y);
  Labels batch, contracted, result;
  for (const int label : x.labels) {
    if (y.has(label)) (needed.contains(label) ? batch : contracted).push_back(label);
  }
  result = batch;
  for (const Term* term : {&x, &y}) {
    const Term& other = term == &x ? y : x;
    for (const int label : term->labels) {
      if (!other.has(label)) result.push_back(label);
    }
  }
  return {lax::dot_general(x.array, y.array, x.positions(contracted), y.positions(contracted),
                           x.positions(batch), y.positions(batch)),
          result};
}

std::set<int> needed_by(const std::vector<Term>& terms, size_t x, size_t y, const Labels& output) {
  std::set<int> needed(output.begin(), output.end());
  for (size_t i = 0; i < terms.size(); ++i) {
    if (i != x && i != y) needed.insert(terms[i].labels.begin(), terms[i].labels.end());
  }
  return needed;
}

// The pair for which the size of the product minus the sizes of both terms is smallest. Ties are
// broken by the number of operations. This is the greedy method of D. Smith and J. Gray,
// opt_einsum, 2018.
std::pair<size_t, size_t> cheapest_pair(const std::vector<Term>& terms, const Labels& output,
                                        const std::map<int, int64_t>& sizes) {
  std::pair<size_t, size_t> best = {0, 1};
  std::pair<double, double> best_cost;
  for (size_t i = 0; i < terms.size(); ++i) {
    for (size_t j = i + 1; j < terms.size(); ++j) {
      const std::set<int> needed = needed_by(terms, i, j, output);
      std::set<int> all(terms[i].labels.begin(), terms[i].labels.end());
      all.insert(terms[j].labels.begin(), terms[j].labels.end());
      double size = 1, flops = 1;
      for (const int label : all) {
        flops *= static_cast<double>(sizes.at(label));
        if (needed.contains(label)) size *= static_cast<double>(sizes.at(label));
      }
      const double replaced =
          static_cast<double>(terms[i].array.size()) + static_cast<double>(terms[j].array.size());
      const std::pair cost(size - replaced, flops);
      if ((i == 0 && j == 1) || cost < best_cost) {
        best = {i, j};
        best_cost = cost;
      }
    }
  }
  return best;
}

void check_path_step(std::string_view subscripts, const std::vector<int64_t>& step, size_t count) {
  for (const int64_t i : step) {
    if (i < 0 || i >= static_cast<int64_t>(count)) {
      fail_einsum(subscripts, "the path names operand {}, but there are only {}", i, count);
    }
  }
  if (step.empty()) fail_einsum(subscripts, "a step of the path names no operand");
}

// Each step of the path removes the named terms and appends their product.
void follow_path(std::string_view subscripts, std::vector<Term>& terms, const EinsumPath& path,
                 const Labels& output) {
  for (std::vector<int64_t> step : path) {
    check_path_step(subscripts, step, terms.size());
    std::ranges::sort(step);
    Term product = terms[step[0]];
    std::vector<Term> group, rest;
    for (size_t i = 0; i < terms.size(); ++i) {
      const bool is_named = std::ranges::find(step, static_cast<int64_t>(i)) != step.end();
      (is_named ? group : rest).push_back(terms[i]);
    }
    while (group.size() > 1) {
      std::vector<Term> all = group;
      all.insert(all.end(), rest.begin(), rest.end());
      const std::set<int> needed = needed_by(all, 0, 1, output);
      group[1] = multiply_terms(group[0], group[1], needed);
      group.erase(group.begin());
    }
    rest.push_back(group[0]);
    terms = std::move(rest);
  }
}

// The path from left to right: the first two operands, then each product (the last term) with the
// first remaining operand.
EinsumPath path_in_order(size_t count) {
  EinsumPath path;
  for (size_t i = 1; i < count; ++i) {
    path.push_back({0, i == 1 ? 1 : static_cast<int64_t>(count - i)});
  }
  return path;
}

std::vector<Term> make_terms(std::string_view subscripts, const Parsed& parsed,
                             std::span<const Array> operands, std::map<int, int64_t>& sizes) {
  std::vector<ShapeDtype> types;
  for (const Array& operand : operands) types.push_back(operand.type());
  const PromotedDType to = with_error_prefix("einsum", [&] { return promote_types(types); });
  std::vector<Term> terms;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < parsed.inputs[i].size(); ++j) {
      int64_t& size = sizes.try_emplace(parsed.inputs[i][j], 1).first->second;
      const int64_t here = operands[i].shape()[j];
      const auto check = [&](int64_t other, bool is_broadcast) {
        if (here == other || is_broadcast) return;
        fail_einsum(subscripts,
                    "one letter has two sizes, {} and {}; dimension {} of operand {} is {}", other,
                    here, j, i, operands[i].type().to_string());
      };
      check(size, here == 1 || size == 1);
      // Dimensions of a diagonal are not broadcast.
      const Labels& labels = parsed.inputs[i];
      const auto first = std::ranges::find(labels, labels[j]) - labels.begin();
      check(operands[i].shape()[static_cast<size_t>(first)], /*is_broadcast=*/false);
      if (here != 1) size = here;
    }
    terms.push_back({convert(operands[i], to), parsed.inputs[i]});
  }
  for (Term& term : terms) {
    take_diagonals(term);
    drop_broadcast(term, sizes);
  }
  return terms;
}

}  // namespace

Array einsum(std::string_view subscripts, ListOf<Array> operands, const EinsumOptions& options) {
  if (options.preferred) {
    std::vector<Array> wide;
    for (const Array& operand : operands) wide.push_back(widened(operand, *options.preferred));
    const Array product =
        einsum(subscripts, wide, {.path = options.path, .in_order = options.in_order});
    return astype(product, *options.preferred);
  }
  if (operands.empty()) fail_einsum(subscripts, "needs at least one operand");
  const Parsed parsed = parse_subscripts(subscripts, operands);
  std::map<int, int64_t> sizes;
  std::vector<Term> terms = make_terms(subscripts, parsed, operands, sizes);
  if (options.in_order) {
    follow_path(subscripts, terms, path_in_order(terms.size()), parsed.output);
  } else if (options.path) {
    follow_path(subscripts, terms, *options.path, parsed.output);
  }
  while (terms.size() > 1) {
    const auto [i, j] = cheapest_pair(terms, parsed.output, sizes);
    Term product = multiply_terms(terms[i], terms[j], needed_by(terms, i, j, parsed.output));
    terms.erase(terms.begin() + static_cast<int64_t>(j));
    terms[i] = std::move(product);
  }
  Term& result = terms[0];
  sum_out(result, {parsed.output.begin(), parsed.output.end()});
  return transpose(result.array, result.positions(parsed.output));
}

Array tensordot(const Array& x, const Array& y, ListOf<int64_t> axes_x, ListOf<int64_t> axes_y,
                std::optional<DType> preferred) {
  if (preferred) {
    return astype(tensordot(widened(x, *preferred), widened(y, *preferred), axes_x, axes_y),
                  *preferred);
  }
  const ShapeDtype types[] = {x.type(), y.type()};
  return with_error_prefix("tensordot", [&] {
    const PromotedDType to = promote_types(types);
    std::vector<int64_t> left, right;
    for (const int64_t axis : axes_x) left.push_back(normalize_axis(axis, x.rank(), "tensordot"));
    for (const int64_t axis : axes_y) right.push_back(normalize_axis(axis, y.rank(), "tensordot"));
    return lax::dot_general(convert(x, to), convert(y, to), left, right);
  });
}

}  // namespace farcall::numpy
