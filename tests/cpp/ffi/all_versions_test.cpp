// Handlers built with every published XLA header, and with farcall's header of the same name, in
// one process, called through the runtime.
#include <filesystem>
#include <mutex>
#include <set>

#include <farcall/ffi/library.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::kF32;
using testing::kS64;

struct Release {
  const char* jaxlib;
  int header;  // as PORTABLE_HEADER
  int minor_version;
};

constexpr const char* kOurs = "farcall";

constexpr Release kReleases[] = {{"0.4.31", 431, 0},  {"0.5.3", 503, 1},     {"0.6.2", 602, 1},
                                 {"0.8.0", 800, 1},   {"0.9.0", 900, 2},     {"0.10.2", 1002, 3},
                                 {"0.11.2", 1102, 4}, {"0.12.0.1", 1200, 5}, {kOurs, 1200, 5}};

class AllVersions : public ::testing::TestWithParam<Release> {
 protected:
  // The header's error text: XLA's or farcall's.
  static std::string words(const char* theirs, const char* ours) {
    return GetParam().jaxlib == kOurs ? ours : theirs;
  }

  void SetUp() override {
    const std::string path =
        std::string(FARCALL_PORTABLE_DIR) + "/portable_" + GetParam().jaxlib + ".so";
    if (!std::filesystem::exists(path)) {
      GTEST_SKIP() << "no headers of jaxlib " << GetParam().jaxlib << " (FARCALL_XLA_HEADERS)";
    }
    library_ = std::make_unique<Library>(load_library(path));
    register_once();
  }

  std::string name(const std::string& handler) const {
    return "portable_" + handler + "@" + GetParam().jaxlib;
  }

  void call(const std::string& handler, std::vector<RawBuffer> arguments,
            std::vector<RawBuffer> results, Attributes attributes = {},
            const ExecutionOptions& options = {}) const {
    call_target(name(handler), arguments, results, std::move(attributes), options);
  }

  // Runs a handler with a single buffer, a result s64[].
  int64_t value_of(const std::string& handler, Attributes attributes = {},
                   const ExecutionOptions& options = {}) const {
    alignas(64) int64_t value = -1;
    call(handler, {}, {{kS64, &value}}, std::move(attributes), options);
    return value;
  }

  template <typename T>
  T call_c(const char* function) const {
    return reinterpret_cast<T (*)()>(library_->symbol(function))();
  }

 private:
  void register_once() const {
    static std::set<std::string> done;
    if (!done.insert(GetParam().jaxlib).second) return;
    const int header = GetParam().header;
    register_ffi_type(std::string("Greeting@") + GetParam().jaxlib,
                      call_c<FARCALL_FFI_TypeId*>("portable_greeting_id"));
    // Registers types after the targets that use them; some releases depend on this order.
    const auto bundle =
        HandlerBundle{.instantiate = library_->handler("portable_count_instantiate"),
                      .execute = library_->handler("portable_count")};
    register_ffi_target(name("count"), bundle);
    register_ffi_type(std::string("Counter@") + GetParam().jaxlib,
                      call_c<FARCALL_FFI_TypeId*>("portable_counter_id"),
                      call_c<const void*>("portable_counter_info"));
    if (header >= 1000) {
      register_ffi_target(
          name("states"),
          HandlerBundle{.instantiate = library_->handler("portable_count_instantiate"),
                        .prepare = library_->handler("portable_states_prepare"),
                        .initialize = library_->handler("portable_states_initialize"),
                        .execute = library_->handler("portable_states")});
    }
    for (const char* handler :
         {"scale", "fail", "scalars", "sum_array", "nested", "enum_struct", "variadic", "scratch",
          "stream", "user_data", "run_id", "barrier", "future", "ordinal", "traits", "options"}) {
      const std::string symbol = std::string("portable_") + handler;
      if (library_->find_symbol(symbol) != nullptr) {
        register_ffi_target(name(handler), library_->handler(symbol));
      }
    }
  }

  std::unique_ptr<Library> library_;
};

INSTANTIATE_TEST_SUITE_P(Jaxlib, AllVersions, ::testing::ValuesIn(kReleases), [](const auto& info) {
  std::string name = info.param.jaxlib;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST_P(AllVersions, ReportsTheVersionOfItsHeader) {
  EXPECT_EQ(call_c<int>("portable_minor"), GetParam().minor_version);
  for (const char* handler : {"scale", "count", "variadic", "scratch", "fail"}) {
    EXPECT_EQ(find_target(name(handler))->version(), (ApiVersion{0, GetParam().minor_version}))
        << handler;
  }
  EXPECT_EQ(find_target(name("count"))->version(Stage::kInstantiate).minor_version,
            GetParam().minor_version);
  if (GetParam().header >= 600) {
    EXPECT_EQ(find_target(name("traits"))->traits(), 1u);
    EXPECT_TRUE(find_target(name("traits"))->is_command_buffer_compatible());
  }
  // Releases that know the type of their state report it, even if it was registered later.
  const int64_t type_id = find_target(name("count"))->state_type_id();
  const int64_t registered = call_c<FARCALL_FFI_TypeId*>("portable_counter_id")->type_id;
  EXPECT_EQ(type_id, GetParam().header >= 800 ? registered : 0);
}

TEST_P(AllVersions, BuffersNumbersAndStrings) {
  alignas(64) float x[4] = {1, 2, 3, 4};
  alignas(64) float y[4] = {};
  call("scale", {{kF32, x}}, {{kF32, y}}, {{"factor", 2.5f}, {"label", "fine"}});
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{2.5, 5, 7.5, 10}));
}

TEST_P(AllVersions, ErrorsCarryCodeTextAndTarget) {
  alignas(64) float x[4] = {}, y[4] = {};
  try {
    call("scale", {{kF32, x}}, {{kF32, y}}, {{"factor", 2.5f}, {"label", "fail"}});
    FAIL() << "no error";
  } catch (const FfiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kOutOfRange);
    EXPECT_EQ(error.detail(), "scale was told to fail");
    EXPECT_EQ(error.target_name(), name("scale"));
    EXPECT_EQ(error.message(),
              "OUT_OF_RANGE: scale was told to fail (ffi target \"" + name("scale") + "\")");
  }
  // All error codes of the interface; other numbers give UNKNOWN.
  for (int code = 1; code <= 20; ++code) {
    const auto wanted = code <= 16 ? static_cast<ErrorCode>(code) : ErrorCode::kUnknown;
    error_of(wanted, [&] { call("fail", {}, {}, {{"code", code}, {"message", "m"}}); });
  }
}

TEST_P(AllVersions, WrongOperandsAreTheHandlersErrors) {
  alignas(64) float x[4] = {}, y[4] = {};
  alignas(64) int64_t wrong[4] = {};
  const Attributes attributes = {{"factor", 2.5f}, {"label", "fine"}};
  const auto refused = [&](std::vector<RawBuffer> arguments, std::vector<RawBuffer> results,
                           Attributes attrs) {
    return error_of(ErrorCode::kInvalidArgument, [&] {
      call("scale", std::move(arguments), std::move(results), std::move(attrs));
    });
  };
  EXPECT_NE(refused({}, {{kF32, y}}, attributes)
                .find(words("Wrong number of arguments", "wanted 1 argument, got 0")),
            std::string::npos);
  EXPECT_NE(refused({{kF32, x}}, {}, attributes)
                .find(words("Wrong number of results", "wanted 1 result, got 0")),
            std::string::npos);
  EXPECT_NE(refused({{kF32, x}}, {{kF32, y}}, {})
                .find(words("Wrong number of attributes", "attribute \"label\": missing")),
            std::string::npos);
  EXPECT_NE(refused({{ShapeDtype(DType::kInt64, {4}), wrong}}, {{kF32, y}}, attributes)
                .find(words("Wrong buffer dtype", "argument 0: wanted f32, got s64[4]")),
            std::string::npos);
  // A double is not accepted as a float.
  EXPECT_NE(refused({{kF32, x}}, {{kF32, y}}, {{"factor", 2.5}, {"label", "fine"}})
                .find(words("scalar data type", "wanted f32 scalar, got f64 scalar")),
            std::string::npos);
  call("scale", {{kF32, x}}, {{kF32, y}}, attributes);  // still usable afterwards
}

// Headers of interface 0.0 crash when they print the name of a newer element type.
TEST_P(AllVersions, YoungerElementTypes) {
  char byte = 0;
  const RawBuffer young = {ShapeDtype(DType::kFloat8E3M4, {}), &byte};
  const std::string text =
      error_of(ErrorCode::kInvalidArgument, [&] { call("scale", {young}, {young}); });
  if (GetParam().minor_version == 0) {
    EXPECT_EQ(text, "ffi_call(\"" + name("scale") +
                        "\"): argument 0 has the element type float8_e3m4, which handlers of "
                        "version 0.0 of the FFI interface do not know. Build the handler with a "
                        "newer header.");
    error_of(ErrorCode::kInvalidArgument, [&] {
      const std::byte bits{};
      call("nested", {}, {},
           {{"inner", Attributes{{"x", Attribute::scalar(DType::kInt4, {&bits, 1})}}}});
    });
  } else {
    EXPECT_NE(text.find(words("Wrong number of attributes", "wanted f32, got f8e3m4[]")),
              std::string::npos)
        << text;
  }
}

TEST_P(AllVersions, ScalarsOfEveryType) {
  EXPECT_EQ(value_of("scalars", {{"b", true},
                                 {"i8", int8_t{-8}},
                                 {"i16", int16_t{-16}},
                                 {"i32", int32_t{-32}},
                                 {"i64", int64_t{-64}},
                                 {"f32", 0.5f},
                                 {"f64", 0.25}}),
            0x7f);
}

TEST_P(AllVersions, ArraysDictionariesEnumsAndStructs) {
  EXPECT_EQ(value_of("sum_array", {{"values", std::vector<int64_t>{1, 20, 300}}}), 321);
  EXPECT_EQ(value_of("sum_array", {{"values", std::vector<int64_t>{}}}), 0);
  const Attributes inner = {{"value", int64_t{40}}, {"text", "ab"}};
  EXPECT_EQ(value_of("nested", {{"inner", inner}, {"other", true}}), 42);
  error_of(ErrorCode::kNotFound, [&] { value_of("nested"); });
  const Attributes range = {{"low", int64_t{3}}, {"high", int64_t{4}}};
  EXPECT_EQ(value_of("enum_struct", {{"mode", int32_t{0}}, {"range", range}}), 7);
  EXPECT_EQ(value_of("enum_struct", {{"mode", int32_t{1}}, {"range", range}}), 12);
}

TEST_P(AllVersions, AnyNumberOfBuffersOfAnyKind) {
  alignas(64) int64_t total = -1;
  alignas(64) char in[64] = "some bytes of some kind", out[64] = {};
  std::vector<RawBuffer> arguments = {{ShapeDtype(DType::kUInt8, {4, 2}), in},
                                      {ShapeDtype(DType::kComplex64, {2}), in},
                                      {ShapeDtype(DType::kBFloat16, {0, 3}), nullptr},
                                      {ShapeDtype(DType::kBool, {}), in}};
  const int64_t bytes = 8 + 16 + 0 + 1;
  if (GetParam().header < 500) {
    call("variadic", arguments, {{kS64, &total}});
    EXPECT_EQ(total, bytes);
    return;
  }
  std::vector<RawBuffer> results = arguments;
  for (auto& result : results) {
    if (result.data != nullptr) result.data = out;
  }
  results.push_back({kS64, &total});
  call("variadic", arguments, results);
  EXPECT_EQ(total, bytes);
  EXPECT_EQ(std::string_view(out, 16), std::string_view(in, 16));
}

TEST_P(AllVersions, InstanceState) {
  const int64_t alive = call_c<int64_t>("portable_counters_alive");
  const int64_t made = call_c<int64_t>("portable_counters_made");
  {
    const ForeignCall call({.target = find_target(name("count")),
                            .results = {kS64},
                            .attributes = {{"start", int64_t{5}}}});
    Invocation first(call), second(call);
    alignas(64) int64_t value = -1;
    first.set_result(0, &value);
    second.set_result(0, &value);
    for (int64_t i = 5; i < 8; ++i) {
      first.execute();
      EXPECT_EQ(value, i);
    }
    second.execute();  // one state for all invocations
    EXPECT_EQ(value, 8);
    EXPECT_EQ(call_c<int64_t>("portable_counters_alive"), alive + 1);
  }
  EXPECT_EQ(call_c<int64_t>("portable_counters_alive"), alive);
  EXPECT_EQ(call_c<int64_t>("portable_counters_made"), made + 1);
  const std::string text = error_of(ErrorCode::kInvalidArgument, [&] {
    value_of("count", {{"start", int64_t{-1}}});
  });
  EXPECT_NE(text.find("start is negative"), std::string::npos) << text;
}

TEST_P(AllVersions, StatesOfAllStages) {
  if (GetParam().header < 1000) GTEST_SKIP() << "came with interface 0.3";
  const int64_t alive = call_c<int64_t>("portable_counters_alive");
  {
    const ForeignCall call({.target = find_target(name("states")),
                            .results = {ShapeDtype(DType::kInt64, {3})},
                            .attributes = {{"start", int64_t{1}}}});
    EXPECT_TRUE(call.has_execution_stages());
    Invocation invocation(call);
    alignas(64) int64_t values[3] = {};
    invocation.set_result(0, values);
    const ExecutionOptions options;
    for (int run = 0; run < 3; ++run) {
      invocation.begin(options);
      invocation.prepare();
      invocation.initialize();
      EXPECT_EQ(call_c<int64_t>("portable_counters_alive"), alive + 3);
      invocation.execute();
      invocation.execute();
      invocation.end();
      EXPECT_EQ(call_c<int64_t>("portable_counters_alive"), alive + 1);
      EXPECT_EQ(std::vector<int64_t>(values, values + 3), (std::vector<int64_t>{1, 11, 111}));
    }
  }
  EXPECT_EQ(call_c<int64_t>("portable_counters_alive"), alive);
}

TEST_P(AllVersions, Scratch) {
  const auto at = [](int64_t size, int64_t alignment) {
    return Attributes{{"size", size}, {"alignment", alignment}};
  };
  for (const int64_t alignment : {1, 64, 4096}) {
    EXPECT_EQ(value_of("scratch", at(1000, alignment)), 0) << alignment;
  }
  EXPECT_EQ(value_of("scratch", at(0, 1)), 0);
  const ForeignCall call(
      {.target = find_target(name("scratch")), .results = {kS64}, .attributes = at(10, 1)});
  Invocation invocation(call);
  alignas(64) int64_t value;
  invocation.set_result(0, &value);
  invocation.execute();
  invocation.execute();
  // The first header leaks its allocations.
  EXPECT_EQ(invocation.num_leaked_scratch_blocks(), GetParam().header < 500 ? 4u : 0u);
}

TEST_P(AllVersions, ContextItems) {
  const std::string text = error_of(ErrorCode::kInvalidArgument, [&] { call("stream", {}, {}); });
  EXPECT_NE(text.find("the GPU context is not available on platform \"cpu\""), std::string::npos)
      << text;

  struct {
    int64_t value = 99;
  } greeting;
  ExecutionOptions options = {.run_id = 4242, .device_ordinal = 3};
  const int64_t type_id = call_c<FARCALL_FFI_TypeId*>("portable_greeting_id")->type_id;
  const std::string missing =
      error_of(ErrorCode::kInvalidArgument, [&] { value_of("user_data", {}, options); });
  EXPECT_NE(missing.find("no user data of type \"Greeting@"), std::string::npos) << missing;
  options.user_data = {{type_id, &greeting}};
  EXPECT_EQ(value_of("user_data", {}, options), 99);
  if (GetParam().minor_version >= 1) {
    EXPECT_EQ(value_of("run_id", {}, options), 4242);
  }
  if (GetParam().header >= 600) {
    EXPECT_EQ(value_of("ordinal", {}, options), 3);
  }
}

TEST_P(AllVersions, OptionsAndExtensions) {
  if (GetParam().minor_version < 5) GTEST_SKIP() << "came with interface 0.5";
  ExecutionOptions options;
  EXPECT_NE(error_of(ErrorCode::kInvalidArgument, [&] { value_of("options", {}, options); })
                .find(words("Extension number not found in context",
                            "number: the context does not have it")),
            std::string::npos);
  struct {
    FARCALL_FFI_Extension base = {sizeof(base) + 8, {4711, 1, 0}, nullptr};
    int64_t number = 1000;
  } extension;
  const FARCALL_FFI_Extension other = {sizeof(other), {1, 1, 0}, &extension.base};
  options.extensions = &other;
  EXPECT_EQ(value_of("options", {}, options), 1000);
  options.custom_options = make_custom_options({{"level", int64_t{7}}});
  EXPECT_EQ(value_of("options", {}, options), 1007);
}

TEST_P(AllVersions, ThreadPoolAndFutures) {
  if (GetParam().minor_version < 1) GTEST_SKIP() << "came with interface 0.1";
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    const ExecutionOptions options = {.thread_pool = &pool};
    EXPECT_EQ(value_of("barrier", {}, options), threads);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(value_of("future", {{"fail", false}}, options), 77);
    EXPECT_NE(error_of(ErrorCode::kDataLoss,
                       [&] {
                         value_of("future", {{"fail", true}}, options);
                       })
                  .find("lost on the way"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace farcall
