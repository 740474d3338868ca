// Calls of every target by name with operands, results and attributes that do not match. Each must
// end with results or with an error that names what does not fit.
#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/core/interrupt.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>

namespace farcall {
namespace {

using ::testing::HasSubstr;

struct Call {
  std::string target;
  std::vector<ShapeDtype> operands, results;
  Attributes attributes;
  std::map<int64_t, int64_t> aliases = {};
};

ShapeDtype f64(std::vector<int64_t> shape) { return {DType::kFloat64, shape}; }
ShapeDtype i32(std::vector<int64_t> shape) { return {DType::kInt32, shape}; }

// Valid calls, for batches of 2.
const std::vector<Call>& good_calls() {
  const ShapeDtype square = f64({2, 3, 3}), wide = f64({2, 3, 5}), tall = f64({2, 5, 3});
  const ShapeDtype complex(DType::kComplex128, {2, 3, 3});
  const auto side = [](bool left) {
    return Attributes{{"left_side", left},
                      {"lower", true},
                      {"transpose_a", false},
                      {"conjugate_a", true},
                      {"unit_diagonal", false}};
  };
  static const std::vector<Call> calls = {
      {"farcall_cholesky", {square}, {square}, {}, {{0, 0}}},
      {"farcall_getrf", {wide}, {wide, i32({2, 3})}, {}},
      {"farcall_getrf", {tall}, {tall, i32({2, 3})}, {}, {{0, 0}}},
      {"farcall_laswp", {tall, i32({2, 3})}, {tall}, {{"inverse", true}}},
      {"farcall_lu_pivots_to_permutation",
       {i32({2, 3})},
       {i32({2, 5})},
       {{"permutation_size", int32_t{5}}}},
      {"farcall_lu_solve",
       {square, square, i32({2, 3}), wide},
       {wide},
       {{"transpose", false}},
       {{3, 0}}},
      {"farcall_trsm", {square, wide}, {wide}, side(true), {{1, 0}}},
      {"farcall_trsm", {square, tall}, {tall}, side(false)},
      {"farcall_geqrf", {tall}, {tall, f64({2, 3})}, {}},
      {"farcall_orgqr", {tall, f64({2, 2})}, {tall}, {}},
      {"farcall_geqp3", {wide}, {i32({2, 5})}, {}},
      {"farcall_gesdd",
       {wide},
       {f64({2, 3}), f64({2, 3, 3}), f64({2, 5, 5})},
       {{"full_matrices", true}, {"compute_uv", true}}},
      {"farcall_gesdd", {wide}, {f64({2, 3})}, {{"full_matrices", false}, {"compute_uv", false}}},
      {"farcall_syevd", {square}, {square, f64({2, 3})}, {{"lower", true}}},
      {"farcall_gees", {square}, {square, square}, {}},
      {"farcall_gehrd", {square}, {square, f64({2, 2})}, {}, {{0, 0}}},
      {"farcall_sytrd",
       {square},
       {square, f64({2, 3}), f64({2, 2}), f64({2, 2})},
       {{"lower", true}},
       {{0, 0}}},
      {"farcall_gtsv",
       {f64({2, 3}), f64({2, 3}), f64({2, 3}), wide},
       {wide},
       {{"perturb_singular", true}},
       {{3, 0}}},
      {"farcall_geev",
       {square},
       {{DType::kComplex128, {2, 3}}, complex, complex},
       {{"left", true}, {"right", true}}},
  };
  return calls;
}

// Small numbers: as int32, they are valid pivots.
Array filled(ShapeDtype type) {
  if (type.is_token()) return lax::create_token();
  return lax::convert_element_type(
      numpy::full(type.shape(), Array(type.dtype() == DType::kInt32 ? 1.0 : 0.5)), type.dtype());
}

std::vector<Array> run(const Call& call) {
  std::vector<Array> operands;
  for (const ShapeDtype& type : call.operands) operands.push_back(filled(type));
  return FfiCall(call.target, call.results, {.input_output_aliases = call.aliases})(
      operands, call.attributes);
}

TEST(HostileCalls, TheCallsFromWhichTheOthersAreMadeWork) {
  std::set<std::string> targets;
  for (const Call& call : good_calls()) {
    EXPECT_EQ(run(call).size(), call.results.size()) << call.target;
    targets.insert(call.target);
  }
  EXPECT_EQ(targets.size(), 16u);
}

// ---- random changes ----

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t limit) { return random_() % limit; }
  template <class List>
  const auto& pick(const List& list) {
    return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
  }

  Call mutated() {
    Call call = pick(good_calls());
    for (size_t i = 0, count = below(4); i < count; ++i) change(call);
    return call;
  }

 private:
  ShapeDtype other(ShapeDtype type) {
    constexpr DType kDTypes[] = {DType::kFloat32,    DType::kFloat64, DType::kComplex64,
                                 DType::kComplex128, DType::kInt32,   DType::kInt64,
                                 DType::kBool,       DType::kFloat16};
    constexpr int64_t kSizes[] = {0, 0, 1, 2, 3, 4, 5, 40, int64_t{1} << 31, int64_t{1} << 40};
    Shape shape(type.shape().begin(), type.shape().end());
    DType dtype = type.dtype();
    switch (below(4)) {
      case 0:
        dtype = pick(kDTypes);
        break;
      case 1:
        if (!shape.empty()) shape[below(shape.size())] = pick(kSizes);
        break;
      case 2:
        if (!shape.empty()) shape.erase(shape.begin() + static_cast<int64_t>(below(shape.size())));
        break;
      default:
        shape.insert(shape.begin() + static_cast<int64_t>(below(shape.size() + 1)), pick(kSizes));
    }
    int64_t elements = 1;
    for (const int64_t size : shape) {
      if (size > (1 << 20) && std::ranges::find(shape, 0) == shape.end()) return type;
      elements *= size > (1 << 20) ? 1 : size;
    }
    return elements > 4000 ? type : ShapeDtype(dtype, shape);
  }

  void change(Call& call) {
    std::vector<ShapeDtype>& types = below(2) ? call.operands : call.results;
    switch (below(6)) {
      case 0:
        if (!types.empty()) types.erase(types.begin() + static_cast<int64_t>(below(types.size())));
        break;
      case 1:
        types.push_back(types.empty() ? f64({2, 2}) : pick(types));
        break;
      case 2:
        if (call.attributes.size() > 0) {
          const std::string name = (call.attributes.begin() + below(call.attributes.size()))->first;
          call.attributes.set(name, below(2) ? Attribute(below(2) == 0) : Attribute(int32_t{-1}));
        }
        break;
      case 3:
        call.aliases = {{static_cast<int64_t>(below(3)), static_cast<int64_t>(below(3))}};
        break;
      default:
        if (!types.empty()) {
          ShapeDtype& type = types[below(types.size())];
          type = other(type);
        }
    }
  }

  std::mt19937_64 random_;
};

TEST(HostileCalls, EndInResultsOrInAnErrorOfTheCall) {
  Mutator mutator(20261122);
  int worked = 0, refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const Call call = mutator.mutated();
    try {
      const auto results = run(call);
      ASSERT_EQ(results.size(), call.results.size());
      for (size_t j = 0; j < results.size(); ++j) EXPECT_EQ(results[j].type(), call.results[j]);
      ++worked;
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::kInternal) << error.message();
      EXPECT_THAT(error.message(), HasSubstr(call.target));
      ++refused;
    }
  }
  EXPECT_GT(worked, 1000);
  EXPECT_GT(refused, 2000);
}

// ---- one of each kind, with its error text ----

std::string refusal(const Call& call) {
  try {
    run(call);
  } catch (const Error& error) {
    return error.message();
  }
  return "no error was raised";
}

TEST(HostileCalls, TheErrorNamesTheOperandAndWhatCame) {
  const ShapeDtype square = f64({2, 3, 3});
  EXPECT_THAT(refusal({"farcall_cholesky", {square}, {{DType::kFloat32, {2, 3, 3}}}, {}}),
              HasSubstr("are (f64[2,3,3]) by the shape rule of the target's definition; the call "
                        "asks for (f32[2,3,3])"));
  EXPECT_THAT(
      refusal({"farcall_syevd", {f64({4, 40})}, {f64({4, 40}), f64({4})}, {{"lower", true}}}),
      HasSubstr("operand a must be f64[...,n,n], got f64[4,40]"));
  EXPECT_THAT(refusal({"farcall_geqrf", {square}, {square, f64({3})}, {}}),
              HasSubstr("are (f64[2,3,3], f64[2,3]) by the shape rule"));
  EXPECT_THAT(refusal({"farcall_orgqr", {f64({3, 2}), f64({3})}, {f64({3, 2})}, {}}),
              HasSubstr("got 3 reflections for 3 rows and 2 columns"));
  EXPECT_THAT(refusal({"farcall_gehrd", {f64({3, 3})}, {f64({3, 3}), f64({3})}, {}}),
              HasSubstr("by the shape rule"));
  EXPECT_THAT(refusal({"farcall_cholesky", {i32({2, 2})}, {i32({2, 2})}, {}}),
              HasSubstr("operand a must be f32, f64, c64 or c128[...,n,n], got i32[2,2]"));
  EXPECT_THAT(refusal({"farcall_gees", {square}, {square, square}, {}, {{0, 1}}}),
              HasSubstr("result q has the memory of operand a"));
  const int64_t large = int64_t{1} << 32;
  EXPECT_THAT(
      refusal({"farcall_getrf", {f64({0, large, 1})}, {f64({0, large, 1}), i32({0, 1})}, {}}),
      HasSubstr("operand a: LAPACK counts rows and columns in 32 bits"));
}

TEST(HostileCalls, PivotsLieInTheMatrix) {
  for (const int32_t pivot : {-1, 3, INT32_MIN, INT32_MAX}) {
    const Array pivots = Array::of<int32_t>({0, pivot, 2}, {3});
    const Array x = numpy::zeros(std::vector<int64_t>{3, 2}, DType::kFloat64);
    const Array lu = numpy::zeros(std::vector<int64_t>{3, 3}, DType::kFloat64);
    const auto text = [](const std::function<void()>& call) -> std::string {
      try {
        call();
      } catch (const Error& error) {
        return error.message();
      }
      return "no error was raised";
    };
    const std::string wanted =
        "operand pivots: element 1 is " + std::to_string(pivot) + ", which does not lie in [0, 3)";
    EXPECT_THAT(text([&] {
                  FfiCall("farcall_laswp", {x.type()})({x, pivots}, {{"inverse", false}});
                }),
                HasSubstr(wanted));
    EXPECT_THAT(
        text([&] {
          FfiCall("farcall_lu_solve", {x.type()})({lu, lu, pivots, x}, {{"transpose", false}});
        }),
        HasSubstr(wanted));
    EXPECT_THAT(text([&] {
                  FfiCall("farcall_lu_pivots_to_permutation", {i32({3})})(
                      {pivots}, {{"permutation_size", int32_t{3}}});
                }),
                HasSubstr(wanted));
  }
}

// A batch of any number of empty matrices takes no time.
TEST(HostileCalls, EmptyMatricesTakeNoTime) {
  const ShapeDtype none = f64({int64_t{1} << 40, 0, 0});
  EXPECT_EQ(run({"farcall_cholesky", {none}, {none}, {}})[0].type(), none);
}

struct Interrupted {};

TEST(HostileCalls, ABatchIsInterrupted) {
  const Array many = filled(f64({50000, 8, 8}));
  const Storage triangles = Storage::allocate(many.type().nbytes());
  const RawBuffer arguments[] = {{many.type(), const_cast<void*>(many.data())}};
  const RawBuffer results[] = {{many.type(), triangles.data()}};
  set_interrupt_check([] { throw Interrupted(); });
  // Called without an engine, which would also poll for interrupts. The front end's exception
  // propagates unchanged.
  EXPECT_THROW(call_target("farcall_gees", arguments, results, {}), Interrupted);
  set_interrupt_check(nullptr);
}

}  // namespace
}  // namespace farcall
