// farcall.nn: activation functions.
#include "bind.h"

#include <string>

#include <fmt/format.h>

#include <farcall/ops/nn.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

Array argument(nb::handle object, const std::string& function, const char* name) {
  return to_array(object, fmt::format("{}: argument {}", function, name));
}

}  // namespace

void bind_nn(nb::module_& module) {
  using Unary = Array (*)(const Array&);
  using Binary = Array (*)(const Array&, const Array&);
  const auto def_unary = [&](const char* name, Unary function) {
    module.def(
        name,
        [name = std::string(name), function](nb::handle x) {
          return wrap_object(function(argument(x, name, "x")));
        },
        nb::arg("x").none());
  };
  const auto def_binary = [&](const char* name, Binary function, const char* second) {
    module.def(
        name,
        [name = std::string(name), function, second](nb::handle x, nb::handle y) {
          return wrap_object(function(argument(x, name, "x"), argument(y, name, second)));
        },
        nb::arg("x").none(), nb::arg(second).none());
  };
  def_unary("soft_sign", nn::soft_sign);
  def_unary("silu", nn::silu);
  def_unary("mish", nn::mish);
  def_unary("selu", nn::selu);
  def_unary("log1mexp", nn::log1mexp);
  def_binary("squareplus", nn::squareplus, "b");
  def_binary("elu", nn::elu, "alpha");
  def_binary("celu", nn::celu, "alpha");
  module.def(
      "gelu",
      [](nb::handle x, bool approximate) {
        return wrap_object(nn::gelu(argument(x, "gelu", "x"), approximate));
      },
      nb::arg("x").none(), nb::arg("approximate"));
}

}  // namespace farcall::python
