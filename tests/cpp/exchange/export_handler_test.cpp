// Functions as handlers, called through farcall's own runtime with hand-made buffers.
#include <farcall/exchange/export_handler.h>

#include <atomic>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ffi/foreign_call.h>
#include <farcall/ops/callback.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/ops/lax.h>
#include <farcall/ops/numpy.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

ShapeDtype f32(std::initializer_list<int64_t> shape) { return {DType::kFloat32, shape}; }

// Memory with XLA's alignment.
struct Memory {
  explicit Memory(ShapeDtype type, std::vector<float> values = {})
      : type(type), storage(Storage::allocate(type.nbytes())) {
    std::copy(values.begin(), values.end(), data());
  }
  float* data() const { return static_cast<float*>(storage.data()); }
  std::vector<float> values() const { return {data(), data() + type.size()}; }
  RawBuffer buffer() const { return {type, storage.data()}; }

  ShapeDtype type;
  Storage storage;
};

std::shared_ptr<const Target> target_of(FARCALL_FFI_Handler* handler) {
  return make_target("exported", HandlerBundle{.execute = handler});
}

void call(FARCALL_FFI_Handler* handler, const std::vector<RawBuffer>& operands,
          const std::vector<RawBuffer>& results, Attributes attributes = {}) {
  call_target(target_of(handler), operands, results, std::move(attributes));
}

template <class F>
std::pair<ErrorCode, std::string> failure(const F& f) {
  try {
    f();
  } catch (const FfiError& error) {
    return {error.code(), error.detail()};
  }
  return {ErrorCode::kOk, ""};
}

// The sums of rows, times a factor.
FARCALL_FFI_Handler* row_sums() {
  static const ProgramPtr program = record(
      [](std::span<const Array> in) {
        return std::vector<Array>{lax::mul(numpy::sum(in[0], {-1}), in[1])};
      },
      std::vector{f32({2, 3}), f32({})}, "row_sums");
  return export_handler("row_sums", program);
}

TEST(ExportHandler, AProgramWritesItsResultsInPlace) {
  const Memory x(f32({2, 3}), {1, 2, 3, 4, 5, 6}), factor(f32({}), {10}), y(f32({2}));
  call(row_sums(), {x.buffer(), factor.buffer()}, {y.buffer()});
  EXPECT_THAT(y.values(), ElementsAre(60, 150));
}

TEST(ExportHandler, NothingIsCopied) {
  static const void *read = nullptr, *written = nullptr;
  register_ffi_target("exchange_test.addresses", [](FARCALL_FFI_CallFrame* frame) {
    read = static_cast<const FARCALL_FFI_Buffer*>(frame->args.args[0])->data;
    written = static_cast<const FARCALL_FFI_Buffer*>(frame->rets.rets[0])->data;
    return static_cast<FARCALL_FFI_Error*>(nullptr);
  });
  FARCALL_FFI_Handler* const handler = export_handler("addresses", [](const Array& x) {
    return ffi_call("exchange_test.addresses", x.type(), {x});
  });
  const Memory x(f32({3})), y(f32({3}));
  call(handler, {x.buffer()}, {y.buffer()});
  EXPECT_EQ(read, x.data());
  EXPECT_EQ(written, y.data());
}

TEST(ExportHandler, TheSameProgramIsTheSameHandler) {
  EXPECT_EQ(row_sums(), row_sums());
  const ProgramPtr program = parse_program("{ lambda ; a:f32[2]. let in (a,) }");
  EXPECT_NE(export_handler("one name", program), export_handler("another", program));
}

TEST(ExportHandler, BatchesOfAllVmapMethods) {
  const std::vector<float> twelve = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const Memory x(f32({2, 2, 3}), twelve), y(f32({2, 2}));
  const Memory one(f32({1}), {2}), each(f32({2}), {2, 3}), plain(f32({}), {2});
  call(row_sums(), {x.buffer(), each.buffer()}, {y.buffer()});  // broadcast_all
  EXPECT_THAT(y.values(), ElementsAre(12, 30, 72, 99));
  call(row_sums(), {x.buffer(), one.buffer()}, {y.buffer()});  // expand_dims
  EXPECT_THAT(y.values(), ElementsAre(12, 30, 48, 66));
  call(row_sums(), {x.buffer(), plain.buffer()}, {y.buffer()});  // legacy_vectorized
  EXPECT_THAT(y.values(), ElementsAre(12, 30, 48, 66));

  const Memory nested(f32({1, 2, 2, 3}), twelve), outer(f32({2, 1}), {1, 10}), z(f32({2, 2, 2}));
  call(row_sums(), {nested.buffer(), outer.buffer()}, {z.buffer()});
  EXPECT_THAT(z.values(), ElementsAre(6, 15, 24, 33, 60, 150, 240, 330));
}

TEST(ExportHandler, AFunctionIsCompiledForEachType) {
  static std::atomic<int> num_recorded{0};
  FARCALL_FFI_Handler* const handler = export_handler("centred", [](const Array& x) {
    ++num_recorded;
    return x - numpy::mean(x);
  });
  const Memory two(f32({2}), {1, 3}), three(f32({3}), {1, 2, 6}), y(f32({2})), z(f32({3}));
  for (int i = 0; i < 3; ++i) {
    call(handler, {two.buffer()}, {y.buffer()});
    call(handler, {three.buffer()}, {z.buffer()});
  }
  EXPECT_THAT(y.values(), ElementsAre(-1, 1));
  EXPECT_THAT(z.values(), ElementsAre(-2, -1, 3));
  EXPECT_EQ(num_recorded, 2);
}

TEST(ExportHandler, AFunctionOfTreesTakesTheirLeaves) {
  using Pair = std::pair<Array, Array>;
  FARCALL_FFI_Handler* const handler =
      export_handler("swapped", [](const Pair& xy, const Array& z) {
        return std::tuple(xy.second, Pair{xy.first, z});
      });
  const Memory a(f32({1}), {1}), b(f32({1}), {2}), c(f32({1}), {3});
  const Memory x(f32({1})), y(f32({1})), z(f32({1}));
  call(handler, {a.buffer(), b.buffer(), c.buffer()}, {x.buffer(), y.buffer(), z.buffer()});
  EXPECT_THAT(x.values(), ElementsAre(2));
  EXPECT_THAT(y.values(), ElementsAre(1));
  EXPECT_THAT(z.values(), ElementsAre(3));
  const auto [code, text] = failure([&] { call(handler, {a.buffer()}, {x.buffer()}); });
  EXPECT_EQ(code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text, HasSubstr("farcall: swapped: the function takes 3 operands, the call has 1"));
}

TEST(ExportHandler, AResultInTheMemoryOfAnOperand) {
  // Each element of the result depends on the whole operand.
  FARCALL_FFI_Handler* const handler =
      export_handler("reversed", [](const Array& x) { return lax::rev(x, {0}); });
  const Memory x(f32({4}), {1, 2, 3, 4});
  call(handler, {x.buffer()}, {x.buffer()});
  EXPECT_THAT(x.values(), ElementsAre(4, 3, 2, 1));
}

TEST(ExportHandler, MemoryThatIsNotAligned) {
  FARCALL_FFI_Handler* const handler =
      export_handler("doubled", [](const Array& x) { return x + x; });
  const Memory x(f32({5}), {0, 1, 2, 3, 4}), y(f32({5}));
  call(handler, {{f32({4}), x.data() + 1}}, {{f32({4}), y.data() + 1}});
  EXPECT_THAT(std::vector<float>(y.data() + 1, y.data() + 5), ElementsAre(2, 4, 6, 8));
}

TEST(ExportHandler, ResultsThatAreOperandsConstantsOrShared) {
  FARCALL_FFI_Handler* const handler = export_handler("all", [](const Array& x) {
    const Array sum = x + x;
    return std::tuple(x, sum, sum, Array::of<float>({7, 8}));
  });
  const Memory x(f32({2}), {1, 2}), a(f32({2})), b(f32({2})), c(f32({2})), d(f32({2}));
  call(handler, {x.buffer()}, {a.buffer(), b.buffer(), c.buffer(), d.buffer()});
  EXPECT_THAT(a.values(), ElementsAre(1, 2));
  EXPECT_THAT(b.values(), ElementsAre(2, 4));
  EXPECT_THAT(c.values(), ElementsAre(2, 4));
  EXPECT_THAT(d.values(), ElementsAre(7, 8));
}

TEST(ExportHandler, EmptyArrays) {
  FARCALL_FFI_Handler* const handler =
      export_handler("empty", [](const Array& x) { return std::tuple(x + x, numpy::sum(x)); });
  const Memory sum(f32({}), {5});
  call(handler, {{f32({0, 3}), nullptr}}, {{f32({0, 3}), nullptr}, sum.buffer()});
  EXPECT_THAT(sum.values(), ElementsAre(0));
}

TEST(ExportHandler, ViewsThatCallbacksKeepOutliveTheCall) {
  static std::shared_ptr<const void> kept;
  static const float* seen = nullptr;
  const CallbackPtr callback = make_callback("keep", [](const CallbackCall& call) {
    seen = call.arguments[0].values<float>().data();
    call.results[0].values<float>()[0] = 1;
    kept = call.keeper->keep();
  });
  FARCALL_FFI_Handler* const handler = export_handler("keeps", [callback](const Array& x) {
    return bind_callback(CallbackKind::kBuffer, callback, std::vector{x}, std::vector{f32({1})},
                         {})[0];
  });
  {
    const Memory x(f32({1}), {42}), y(f32({1}));
    call(handler, {x.buffer()}, {y.buffer()});
    EXPECT_THAT(y.values(), ElementsAre(1));
    *x.data() = 0;
  }
  EXPECT_EQ(*seen, 42);
  kept.reset();
}

TEST(ExportHandler, ManyThreadsWithManyTypes) {
  FARCALL_FFI_Handler* const handler =
      export_handler("summed", [](const Array& x) { return numpy::sum(x); });
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 200; ++i) {
        const int64_t size = i % 7 + 1;
        const Memory x(f32({size}), std::vector<float>(static_cast<size_t>(size), 1)), y(f32({}));
        call(handler, {x.buffer()}, {y.buffer()});
        if (*y.data() != static_cast<float>(size)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(ExportHandler, MistakesOfTheCall) {
  const Memory x(f32({2, 3})), factor(f32({})), y(f32({2})), z(f32({3}));
  const RawBuffer whole{{DType::kInt32, {2, 3}}, x.data()};
  const auto text = [&](const std::vector<RawBuffer>& operands,
                        const std::vector<RawBuffer>& results, Attributes attributes = {}) {
    const auto [code, detail] =
        failure([&] { call(row_sums(), operands, results, std::move(attributes)); });
    EXPECT_EQ(code, ErrorCode::kInvalidArgument);
    return detail;
  };
  EXPECT_EQ(text({x.buffer()}, {y.buffer()}),
            "farcall: row_sums: the function takes 2 operands, the call has 1");
  EXPECT_THAT(text({whole, factor.buffer()}, {y.buffer()}),
              HasSubstr("farcall: row_sums: operand 0 should be f32[2,3], or a batch of them"));
  EXPECT_THAT(text({z.buffer(), factor.buffer()}, {y.buffer()}), HasSubstr("got f32[3]"));
  EXPECT_EQ(text({x.buffer(), factor.buffer()}, {}),
            "farcall: row_sums: the function returns 1 result, the call expects 0");
  EXPECT_EQ(text({x.buffer(), factor.buffer()}, {z.buffer()}),
            "farcall: row_sums: result 0 is f32[2], the call expects f32[3]; the caller gives the "
            "types of the function's results: ffi_call as result_shape_dtypes, tvm-ffi as tensors "
            "after the operands");
  EXPECT_EQ(text({x.buffer(), factor.buffer()}, {y.buffer()}, {{"eps", 1.0}}),
            "farcall: row_sums: the function takes no attributes, the call has \"eps\"");
  // Different batch sizes.
  const Memory two(f32({2, 2, 3})), three(f32({3}));
  EXPECT_THAT(text({two.buffer(), three.buffer()}, {y.buffer()}), HasSubstr("operand 1 should be"));
}

TEST(ExportHandler, WhatTheFunctionRaises) {
  FARCALL_FFI_Handler* const handler =
      export_handler("refuses", FlatFunction([](std::span<const Array> in) -> std::vector<Array> {
                       if (in[0].type().rank() == 0) throw std::runtime_error("no scalars");
                       return {lax::reshape(in[0], {5})};
                     }));
  const Memory x(f32({2})), y(f32({5})), scalar(f32({}));
  const auto [code, text] = failure([&] { call(handler, {x.buffer()}, {y.buffer()}); });
  EXPECT_EQ(code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text, HasSubstr("farcall: refuses: reshape"));
  const auto [other, its_text] = failure([&] { call(handler, {scalar.buffer()}, {y.buffer()}); });
  EXPECT_EQ(other, ErrorCode::kInternal);
  EXPECT_THAT(its_text, HasSubstr("no scalars"));
}

TEST(ExportHandler, KeysAreRefusedAtOnce) {
  const ProgramPtr program = parse_program("{ lambda ; a:key<fry>[2]. let in (a,) }");
  try {
    export_handler("keys", program);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.message(), HasSubstr("export_handler: operand 0 is key<fry>[2]"));
  }
}

// ---- the program as an attribute ----

std::shared_ptr<const Target> program_target() {
  return make_target("farcall.program", program_handlers());
}

TEST(ProgramHandlers, TheTextIsAnAttribute) {
  const Memory x(f32({2}), {1, 2}), y(f32({2}));
  const std::string text = "{ lambda ; a:f32[2]. let b:f32[2] = mul a a in (b,) }";
  call_target(program_target(), std::vector{x.buffer()}, std::vector{y.buffer()},
              {{"program", text}});
  EXPECT_THAT(y.values(), ElementsAre(1, 4));
}

TEST(ProgramHandlers, Mistakes) {
  const Memory x(f32({2})), y(f32({3}));
  const auto call = [&](std::string text, const Memory& operand) {
    return failure([&] {
      call_target(program_target(), std::vector{operand.buffer()}, std::vector{y.buffer()},
                  {{"program", std::move(text)}});
    });
  };
  const auto [code, text] = call("{ lambda ; a:f32[2]. let in (b,) }", x);
  EXPECT_EQ(code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(text, HasSubstr("farcall: program: "));
  EXPECT_THAT(text, HasSubstr("line 1"));
  const auto [missing, its_text] = call(
      "{ lambda ; a:f32[2]. let b:f32[2] = ffi_call[attributes={} batched_operands=()"
      " custom_call_api_version=4 has_side_effect=False input_layouts=(None,)"
      " input_output_aliases=() legacy_backend_config=None output_layouts=(None,)"
      " result_types=(f32[2],) target_name=nobody vmap_method=None] a in (b,) }",
      x);
  EXPECT_EQ(missing, ErrorCode::kNotFound);
  EXPECT_THAT(its_text, HasSubstr("farcall: program: "));
  EXPECT_THAT(call("{ lambda ; a:f32[3]. let in (a,) }", x).second,
              HasSubstr("operand 0 should be f32[3], got f32[2]"));
  EXPECT_THAT(call("{ lambda ; a:f32[2]. let in (a,) }", x).second,
              HasSubstr("result 0 is f32[2], the call expects f32[3]"));
}

}  // namespace
}  // namespace farcall
