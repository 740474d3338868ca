// farcall.scipy.special: the special functions.
#include "bind.h"

#include <optional>

#include <farcall/core/error.h>
#include <farcall/ops/special_cases.h>
#include <farcall/ops/special_functions.h>

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
    {"digamma", special::digamma},
    {"entr", special::entr},
    {"erf", special::erf},
    {"erfc", special::erfc},
    {"erfcx", special::erfcx},
    {"erfinv", special::erfinv},
    {"expit", special::expit},
    {"gamma", special::gamma},
    {"gammaln", special::gammaln},
    {"gammasgn", special::gammasgn},
    {"i0", special::i0},
    {"i0e", special::i0e},
    {"i1", special::i1},
    {"i1e", special::i1e},
    {"log_ndtr", special::log_ndtr},
    {"logit", special::logit},
    {"ndtr", special::ndtr},
    {"ndtri", special::ndtri, "p"},
};
constexpr BinaryRow kBinary[] = {
    {"beta", special::beta, "a", "b"},         {"betaln", special::betaln, "a", "b"},
    {"boxcox", special::boxcox, "x", "lmbda"}, {"boxcox1p", special::boxcox1p, "x", "lmbda"},
    {"gammainc", special::gammainc, "a", "x"}, {"gammaincc", special::gammaincc, "a", "x"},
    {"kl_div", special::kl_div, "p", "q"},     {"polygamma", special::polygamma, "n", "x"},
    {"rel_entr", special::rel_entr, "p", "q"}, {"xlog1py", special::xlog1py, "x", "y"},
    {"xlogy", special::xlogy, "x", "y"},
};

}  // namespace

void bind_special(nb::module_& module) {
  for (const UnaryRow& row : kUnary) def_function(module, row.name, row.function, {row.argument});
  for (const BinaryRow& row : kBinary) {
    def_function(module, row.name, row.function, {row.first, row.second});
  }
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
  def_function(module, "zeta",
               [](const Array& x, const std::optional<Array>& q) {
                 return special::zeta(x, q.value_or(1.0));
               },
               {"x", {"q", nb::none()}});
}

}  // namespace farcall::python
