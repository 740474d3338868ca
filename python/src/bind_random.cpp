// farcall.random.
#include "bind.h"

#include <nanobind/stl/string.h>

#include <fmt/format.h>

#include <farcall/core/config.h>
#include <farcall/random/random.h>

#include "array_object.h"
#include "convert.h"

namespace farcall::python {
namespace {

using random::OptionalShape;

// An argument with its name for messages.
struct NamedArgument {
  nb::handle value;
  const char* name;
};

Array argument_array(const char* function, const NamedArgument& argument) {
  return python::to_array(argument.value, fmt::format("{}: argument {}", function, argument.name));
}
Array to_key(const char* function, nb::handle key) {
  return argument_array(function, {key, "key"});
}

Shape to_shape(const char* function, nb::handle shape) {
  return to_sizes(shape, fmt::format("{}: shape", function));
}
OptionalShape to_optional_shape(const char* function, nb::handle shape) {
  if (shape.is_none()) return std::nullopt;
  return to_shape(function, shape);
}

DType to_float(nb::handle dtype) { return to_dtype_or(dtype, default_float()); }
DType to_integer(nb::handle dtype) { return to_dtype_or(dtype, default_int()); }
DType to_unsigned(nb::handle dtype) { return to_dtype_or(dtype, default_uint()); }

int64_t to_whole(const char* function, const NamedArgument& argument) {
  return to_size(argument.value, fmt::format("{}: {}", function, argument.name));
}

// A Python int of up to 64 bits. Without 64-bit types only its low 32 bits are used.
Array to_seed(const char* function, nb::handle seed) {
  if (!PyLong_CheckExact(seed.ptr())) return argument_array(function, {seed, "seed"});
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(seed.ptr(), &overflow);
  if (overflow != 0) {
    throw OverflowError(
        fmt::format("{}: seed {} does not fit into 64 bits", function, repr_of(seed)));
  }
  return is_x64() ? Array::scalar(value) : Array::scalar(static_cast<int32_t>(value));
}

// A Python int must fit into uint32; anything else is converted as an array.
Array to_word(nb::handle data) {
  if (!PyLong_CheckExact(data.ptr())) return argument_array("fold_in", {data, "data"});
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(data.ptr(), &overflow);
  if (overflow != 0 || value < 0 || value > 0xffff'ffff) {
    throw OverflowError(
        fmt::format("fold_in: data must lie between 0 and 2^32 - 1, got {}", repr_of(data)));
  }
  return Array::scalar(static_cast<uint32_t>(value));
}

void bind_keys(nb::module_& module) {
  module.def(
      "key",
      [](nb::handle seed, const std::string& impl) {
        random::key_dtype(impl);
        return wrap_object(random::key(to_seed("key", seed)));
      },
      nb::arg("seed").none(), nb::arg("impl"));
  module.def(
      "PRNGKey",
      [](nb::handle seed, const std::string& impl) {
        random::key_dtype(impl);
        return wrap_object(random::PRNGKey(to_seed("PRNGKey", seed)));
      },
      nb::arg("seed").none(), nb::arg("impl"));
  module.def(
      "split",
      [](nb::handle key, nb::handle num) {
        return wrap_object(random::split(to_key("split", key), to_sizes(num, "split: num")));
      },
      nb::arg("key").none(), nb::arg("num").none());
  module.def(
      "fold_in",
      [](nb::handle key, nb::handle data) {
        return wrap_object(random::fold_in(to_key("fold_in", key), to_word(data)));
      },
      nb::arg("key").none(), nb::arg("data").none());
  module.def(
      "clone", [](nb::handle key) { return wrap_object(random::clone(to_key("clone", key))); },
      nb::arg("key").none());
  module.def(
      "key_data",
      [](nb::handle keys) {
        return wrap_object(random::key_data(argument_array("key_data", {keys, "keys"})));
      },
      nb::arg("keys").none());
  module.def(
      "wrap_key_data",
      [](nb::handle words, const std::string& impl) {
        return wrap_object(random::wrap_key_data(
            argument_array("wrap_key_data", {words, "key_bits_array"}), impl));
      },
      nb::arg("key_bits_array").none(), nb::arg("impl"));
  module.def(
      "key_impl",
      [](nb::handle keys) {
        return random::key_impl(argument_array("key_impl", {keys, "keys"}));
      },
      nb::arg("keys").none());
  module.def(
      "key_dtype", [](const std::string& impl) { return dtype_object(random::key_dtype(impl)); },
      nb::arg("impl"));
}

void bind_integers(nb::module_& module) {
  module.def(
      "bits",
      [](nb::handle key, nb::handle shape, nb::handle dtype) {
        return wrap_object(
            random::bits(to_key("bits", key), to_shape("bits", shape), to_unsigned(dtype)));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("dtype").none());
  module.def(
      "randint",
      [](nb::handle key, nb::handle shape, nb::handle minval, nb::handle maxval, nb::handle dtype) {
        return wrap_object(random::randint(to_key("randint", key), to_shape("randint", shape),
                                           argument_array("randint", {minval, "minval"}),
                                           argument_array("randint", {maxval, "maxval"}),
                                           to_integer(dtype)));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("minval").none(),
      nb::arg("maxval").none(), nb::arg("dtype").none());
  module.def(
      "rademacher",
      [](nb::handle key, nb::handle shape, nb::handle dtype) {
        return wrap_object(random::rademacher(to_key("rademacher", key),
                                              to_shape("rademacher", shape), to_integer(dtype)));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("dtype").none());
  module.def(
      "bernoulli",
      [](nb::handle key, nb::handle p, nb::handle shape, const std::string& mode) {
        return wrap_object(random::bernoulli(to_key("bernoulli", key),
                                             argument_array("bernoulli", {p, "p"}),
                                             to_optional_shape("bernoulli", shape), mode));
      },
      nb::arg("key").none(), nb::arg("p").none(), nb::arg("shape").none(), nb::arg("mode"));
  module.def(
      "multinomial",
      [](nb::handle key, nb::handle n, nb::handle p, nb::handle shape, nb::handle dtype,
         int64_t unroll) {
        return wrap_object(
            random::multinomial(to_key("multinomial", key), argument_array("multinomial", {n, "n"}),
                                argument_array("multinomial", {p, "p"}),
                                to_optional_shape("multinomial", shape), to_float(dtype), unroll));
      },
      nb::arg("key").none(), nb::arg("n").none(), nb::arg("p").none(), nb::arg("shape").none(),
      nb::arg("dtype").none(), nb::arg("unroll"));
}

void bind_choices(nb::module_& module) {
  module.def(
      "categorical",
      [](nb::handle key, nb::handle logits, int64_t axis, nb::handle shape, bool replace,
         const std::string& mode) {
        return wrap_object(random::categorical(to_key("categorical", key),
                                               argument_array("categorical", {logits, "logits"}),
                                               {.axis = axis,
                                                .shape = to_optional_shape("categorical", shape),
                                                .replace = replace,
                                                .mode = mode,
                                                .index_dtype = to_integer(nb::none())}));
      },
      nb::arg("key").none(), nb::arg("logits").none(), nb::arg("axis"), nb::arg("shape").none(),
      nb::arg("replace"), nb::arg("mode"));
  module.def(
      "choice",
      [](nb::handle key, nb::handle a, nb::handle shape, bool replace, nb::handle p, int64_t axis,
         const std::string& mode) {
        random::ChoiceOptions options{
            .replace = replace, .axis = axis, .mode = mode, .index_dtype = to_integer(nb::none())};
        if (!p.is_none()) options.p = argument_array("choice", {p, "p"});
        const Array typed = to_key("choice", key), entries = argument_array("choice", {a, "a"});
        const Shape size = to_shape("choice", shape);
        return wrap_object(entries.rank() == 0
                               ? random::choice(typed, to_whole("choice", {a, "a"}), size, options)
                               : random::choice(typed, entries, size, options));
      },
      nb::arg("key").none(), nb::arg("a").none(), nb::arg("shape").none(), nb::arg("replace"),
      nb::arg("p").none(), nb::arg("axis"), nb::arg("mode"));
  module.def(
      "permutation",
      [](nb::handle key, nb::handle x, int64_t axis, bool independent) {
        const Array typed = to_key("permutation", key),
                    given = argument_array("permutation", {x, "x"});
        return wrap_object(given.rank() == 0
                               ? random::permutation(typed, to_whole("permutation", {x, "x"}),
                                                     to_integer(nb::none()))
                               : random::permutation(typed, given, axis, independent));
      },
      nb::arg("key").none(), nb::arg("x").none(), nb::arg("axis"), nb::arg("independent"));
}

// ---- functions with the same signature

template <auto function>
void bind_plain(nb::module_& module, const char* name) {
  module.def(
      name,
      [name](nb::handle key, nb::handle shape, nb::handle dtype) {
        return wrap_object(function(to_key(name, key), to_shape(name, shape), to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("dtype").none());
}

// Functions with one or more parameters and an optional shape.
template <auto function, DType (*to_default)(nb::handle) = to_float>
void bind_with_one(nb::module_& module, const char* name, const char* parameter) {
  module.def(
      name,
      [name, parameter](nb::handle key, nb::handle x, nb::handle shape, nb::handle dtype) {
        return wrap_object(function(to_key(name, key), argument_array(name, {x, parameter}),
                                    to_optional_shape(name, shape), to_default(dtype)));
      },
      nb::arg("key").none(), nb::arg(parameter).none(), nb::arg("shape").none(),
      nb::arg("dtype").none());
}

template <auto function>
void bind_with_two(nb::module_& module, const char* name, const char* first, const char* second) {
  module.def(
      name,
      [=](nb::handle key, nb::handle x, nb::handle y, nb::handle shape, nb::handle dtype) {
        return wrap_object(function(to_key(name, key), argument_array(name, {x, first}),
                                    argument_array(name, {y, second}),
                                    to_optional_shape(name, shape), to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg(first).none(), nb::arg(second).none(), nb::arg("shape").none(),
      nb::arg("dtype").none());
}

// Functions with two parameters that do not determine the shape.
template <auto function>
void bind_scaled(nb::module_& module, const char* name, const char* first, const char* second) {
  module.def(
      name,
      [=](nb::handle key, nb::handle x, nb::handle y, nb::handle shape, nb::handle dtype) {
        return wrap_object(function(to_key(name, key), argument_array(name, {x, first}),
                                    argument_array(name, {y, second}), to_shape(name, shape),
                                    to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg(first).none(), nb::arg(second).none(), nb::arg("shape").none(),
      nb::arg("dtype").none());
}

void bind_floats(nb::module_& module) {
  bind_plain<random::normal>(module, "normal");
  bind_plain<random::exponential>(module, "exponential");
  bind_plain<random::laplace>(module, "laplace");
  bind_plain<random::logistic>(module, "logistic");
  bind_plain<random::cauchy>(module, "cauchy");
  bind_plain<random::maxwell>(module, "maxwell");
  bind_with_one<random::lognormal>(module, "lognormal", "sigma");
  bind_with_one<random::pareto>(module, "pareto", "b");
  bind_with_one<random::rayleigh>(module, "rayleigh", "scale");
  bind_with_one<random::wald>(module, "wald", "mean");
  bind_with_one<random::gamma>(module, "gamma", "a");
  bind_with_one<random::loggamma>(module, "loggamma", "a");
  bind_with_one<random::dirichlet>(module, "dirichlet", "alpha");
  bind_with_one<random::chisquare>(module, "chisquare", "df");
  bind_with_one<random::t>(module, "t", "df");
  bind_with_one<random::geometric, to_integer>(module, "geometric", "p");
  bind_with_one<random::poisson, to_integer>(module, "poisson", "lam");
  bind_with_two<random::truncated_normal>(module, "truncated_normal", "lower", "upper");
  bind_with_two<random::beta>(module, "beta", "a", "b");
  bind_with_two<random::f>(module, "f", "dfnum", "dfden");
  bind_with_two<random::binomial>(module, "binomial", "n", "p");
  bind_scaled<random::double_sided_maxwell>(module, "double_sided_maxwell", "loc", "scale");
  bind_scaled<random::weibull_min>(module, "weibull_min", "scale", "concentration");
  module.def(
      "uniform",
      [](nb::handle key, nb::handle shape, nb::handle dtype, nb::handle minval, nb::handle maxval) {
        return wrap_object(random::uniform(to_key("uniform", key), to_shape("uniform", shape),
                                           to_float(dtype),
                                           argument_array("uniform", {minval, "minval"}),
                                           argument_array("uniform", {maxval, "maxval"})));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("dtype").none(),
      nb::arg("minval").none(), nb::arg("maxval").none());
  module.def(
      "gumbel",
      [](nb::handle key, nb::handle shape, nb::handle dtype, const std::string& mode) {
        return wrap_object(random::gumbel(to_key("gumbel", key), to_shape("gumbel", shape),
                                          to_float(dtype), mode));
      },
      nb::arg("key").none(), nb::arg("shape").none(), nb::arg("dtype").none(), nb::arg("mode"));
  module.def(
      "triangular",
      [](nb::handle key, nb::handle left, nb::handle mode, nb::handle right, nb::handle shape,
         nb::handle dtype) {
        return wrap_object(random::triangular(
            to_key("triangular", key), argument_array("triangular", {left, "left"}),
            argument_array("triangular", {mode, "mode"}),
            argument_array("triangular", {right, "right"}), to_optional_shape("triangular", shape),
            to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg("left").none(), nb::arg("mode").none(),
      nb::arg("right").none(), nb::arg("shape").none(), nb::arg("dtype").none());
  module.def(
      "generalized_normal",
      [](nb::handle key, nb::handle p, nb::handle shape, nb::handle dtype) {
        constexpr const char* kName = "generalized_normal";
        return wrap_object(random::generalized_normal(to_key(kName, key),
                                                      argument_array(kName, {p, "p"}),
                                                      to_shape(kName, shape), to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg("p").none(), nb::arg("shape").none(), nb::arg("dtype").none());
}

void bind_vector_samples(nb::module_& module) {
  module.def(
      "multivariate_normal",
      [](nb::handle key, nb::handle mean, nb::handle cov, nb::handle shape, nb::handle dtype,
         const std::string& method) {
        constexpr const char* kName = "multivariate_normal";
        std::optional<DType> wanted;
        if (!dtype.is_none()) wanted = to_dtype(dtype);
        return wrap_object(random::multivariate_normal(
            to_key(kName, key), argument_array(kName, {mean, "mean"}),
            argument_array(kName, {cov, "cov"}), to_optional_shape(kName, shape), wanted, method));
      },
      nb::arg("key").none(), nb::arg("mean").none(), nb::arg("cov").none(), nb::arg("shape").none(),
      nb::arg("dtype").none(), nb::arg("method"));
  module.def(
      "ball",
      [](nb::handle key, nb::handle d, nb::handle p, nb::handle shape, nb::handle dtype) {
        return wrap_object(random::ball(to_key("ball", key), to_whole("ball", {d, "d"}),
                                        argument_array("ball", {p, "p"}), to_shape("ball", shape),
                                        to_float(dtype)));
      },
      nb::arg("key").none(), nb::arg("d").none(), nb::arg("p").none(), nb::arg("shape").none(),
      nb::arg("dtype").none());
  module.def(
      "orthogonal",
      [](nb::handle key, nb::handle n, nb::handle shape, nb::handle dtype, nb::handle m) {
        std::optional<int64_t> columns;
        if (!m.is_none()) columns = to_whole("orthogonal", {m, "m"});
        return wrap_object(
            random::orthogonal(to_key("orthogonal", key), to_whole("orthogonal", {n, "n"}),
                               to_shape("orthogonal", shape), to_float(dtype), columns));
      },
      nb::arg("key").none(), nb::arg("n").none(), nb::arg("shape").none(), nb::arg("dtype").none(),
      nb::arg("m").none());
}

}  // namespace

void bind_random(nb::module_& module) {
  bind_keys(module);
  bind_integers(module);
  bind_choices(module);
  bind_floats(module);
  bind_vector_samples(module);
}

}  // namespace farcall::python
