// farcall.scipy.special: the special functions.
#include "bind.h"

#include <optional>

#include <farcall/core/error.h>
#include <farcall/nn/normalization.h>
#include <farcall/ops/special_cases.h>
#include <farcall/ops/special_functions.h>
#include <farcall/scipy/special.h>

#include "bound_function.h"

namespace farcall::python {
namespace {

using Unary = Array (*)(const Array&);
using Binary = Array (*)(const Array&, const Array&);

struct UnaryRow {
  const char* name;
  Unary function;
  const char* argument = "x";
};
struct BinaryRow {
  const char* name;
  Binary function;
  const char *first, *second;
};

constexpr UnaryRow kUnary[] = {
    {"entr", special::entr},         {"exp1", special::exp1},   {"expi", special::expi},
    {"gammasgn", special::gammasgn}, {"logit", special::logit}, {"spence", special::spence},
};
constexpr BinaryRow kBinary[] = {
    {"boxcox", special::boxcox, "x", "lmbda"}, {"boxcox1p", special::boxcox1p, "x", "lmbda"},
    {"expn", special::expn, "n", "x"},         {"poch", special::poch, "z", "m"},
    {"kl_div", special::kl_div, "p", "q"},     {"rel_entr", special::rel_entr, "p", "q"},
    {"xlog1py", special::xlog1py, "x", "y"},   {"xlogy", special::xlogy, "x", "y"},
};

}  // namespace

void bind_special(nb::module_& module) {
  nb::list rows;
#define FARCALL_SPECIAL_UNARY(name, function, x, summary) \
  def_function(module, #name, special::name, {#x});       \
  rows.append(nb::make_tuple(#name, nb::make_tuple(#x), #function, summary));
#define FARCALL_SPECIAL_BINARY(name, function, x, y, summary) \
  def_function(module, #name, special::name, {#x, #y});       \
  rows.append(nb::make_tuple(#name, nb::make_tuple(#x, #y), #function, summary));
#include <farcall/ops/elementwise_list.h>
  module.attr("_elementwise") = rows;
  for (const UnaryRow& row : kUnary) def_function(module, row.name, row.function, {row.argument});
  for (const BinaryRow& row : kBinary) {
    def_function(module, row.name, row.function, {row.first, row.second});
  }
  def_function(module, "bernoulli", special::bernoulli, {"n"});
  def_function<1>(module, "comb", special::comb, {"N", "k", {"repetition", false}});
  def_function(module, "betainc", special::betainc, {"a", "b", "x"});
  def_function(module, "multigammaln", special::multigammaln, {"a", "d"});
  def_function(module, "factorial",
               [](const Array& n, bool exact) {
                 if (exact) {
                   throw Error(ErrorCode::kUnimplemented,
                               "factorial: argument exact must be False");
                 }
                 return special::factorial(n);
               },
               {"n", {"exact", false}});
  const auto def_along = [&](const char* name, auto function) {
    def_function<1>(module, name,
                    [=](const Array& x, const numpy::Axes& axes) { return function(x, axes, {}); },
                    {"x", {"axis", nb::none()}});
  };
  def_along("softmax", nn::softmax);
  def_along("log_softmax", nn::log_softmax);
  def_function(module, "zeta",
               [](const Array& x, const std::optional<Array>& q) {
                 return special::zeta(x, q.value_or(1.0));
               },
               {"x", {"q", nb::none()}});
}

}  // namespace farcall::python
