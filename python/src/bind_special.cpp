// farcall.scipy.special: the special functions.
#include "bind.h"

#include <string>

#include <fmt/format.h>

#include <farcall/ops/special_functions.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

Array argument(nb::handle object, const std::string& function, const char* name) {
  return to_array(object, fmt::format("{}: argument {}", function, name));
}

struct Unary {
  const char* name;
  Array (*function)(const Array&);
  const char* argument = "x";
};
struct Binary {
  const char* name;
  Array (*function)(const Array&, const Array&);
  const char *first, *second;
};

constexpr Unary kUnary[] = {
    {"digamma", special::digamma},
    {"erf", special::erf},
    {"erfc", special::erfc},
    {"erfcx", special::erfcx},
    {"erfinv", special::erfinv},
    {"expit", special::expit},
    {"factorial", special::factorial, "n"},
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
constexpr Binary kBinary[] = {
    {"beta", special::beta, "a", "b"},         {"betaln", special::betaln, "a", "b"},
    {"gammainc", special::gammainc, "a", "x"}, {"gammaincc", special::gammaincc, "a", "x"},
    {"kl_div", special::kl_div, "p", "q"},     {"polygamma", special::polygamma, "n", "x"},
    {"rel_entr", special::rel_entr, "p", "q"}, {"zeta", special::zeta, "x", "q"},
};

}  // namespace

void bind_special(nb::module_& module) {
  for (const Unary& row : kUnary) {
    module.def(
        row.name,
        [row](nb::handle x) {
          return wrap_object(row.function(argument(x, row.name, row.argument)));
        },
        nb::arg(row.argument).none());
  }
  for (const Binary& row : kBinary) {
    module.def(
        row.name,
        [row](nb::handle x, nb::handle y) {
          return wrap_object(
              row.function(argument(x, row.name, row.first), argument(y, row.name, row.second)));
        },
        nb::arg(row.first).none(), nb::arg(row.second).none());
  }
  module.def(
      "betainc",
      [](nb::handle a, nb::handle b, nb::handle x) {
        return wrap_object(special::betainc(
            argument(a, "betainc", "a"), argument(b, "betainc", "b"), argument(x, "betainc", "x")));
      },
      nb::arg("a").none(), nb::arg("b").none(), nb::arg("x").none());
  module.def(
      "multigammaln",
      [](nb::handle a, int64_t d) {
        return wrap_object(special::multigammaln(argument(a, "multigammaln", "a"), d));
      },
      nb::arg("a").none(), nb::arg("d"));
}

}  // namespace farcall::python
