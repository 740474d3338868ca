// Handlers that are registered with a plugin, on the plugin for CPUs and on one for CUDA, whose
// registry needs no GPU.
#include "pjrt/handlers.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/ffi.h>
#include <farcall/ffi/registry.h>
#include <farcall/ops/ffi_call.h>
#include <farcall/program/engine.h>
#include <farcall/trace/jit.h>
#include <farcall/trace/placement.h>
#include <farcall/trace/record.h>

#include "pjrt/client.h"
#include "pjrt/plugin.h"
#include "plugin_path.h"

namespace {

struct Tally {
  int64_t count = 0;
};
// A type whose id is a variable, as in handlers that use XLA's header.
struct Marked {
  static FARCALL_FFI_TypeId id;
};
FARCALL_FFI_TypeId Marked::id = {0};
struct Offset {
  float value;
  static FARCALL_FFI_TypeId id;
};
FARCALL_FFI_TypeId Offset::id = {0};

}  // namespace

FARCALL_DEFINE_HANDLER(
    tally_instantiate, [] { return std::make_unique<Tally>(); }, farcall::ffi::kInstantiate);
FARCALL_DEFINE_HANDLER(tally_execute, [](farcall::ffi::State<Tally> state) {
  ++state->count;
  return farcall::ffi::Error();
});
FARCALL_DEFINE_HANDLER(add_offset, [](farcall::ffi::UserData<Offset> offset,
                                      farcall::ffi::BufferR0<farcall::ffi::F32> x,
                                      farcall::ffi::ResultBufferR0<farcall::ffi::F32> y) {
  *y->typed_data() = *x.typed_data() + offset->value;
  return farcall::ffi::Error();
});
FARCALL_DEFINE_HANDLER(other_execute, [] { return farcall::ffi::Error(); });

namespace farcall::pjrt {
namespace {

using ::testing::HasSubstr;

struct Case {
  const char* name;
  const char* path;
  const char* platform;
};
void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

class HandlersOf : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!*GetParam().path) GTEST_SKIP() << "no plugin for " << GetParam().platform;
    plugin_ = std::make_unique<Plugin>(GetParam().path);
  }
  std::shared_ptr<const Target> target(const std::string& name, const HandlerBundle& bundle,
                                       FARCALL_FFI_Handler_Traits traits = 0) const {
    return make_target("handlers_test." + name, bundle, GetParam().platform, traits);
  }
  // A registry that does not know what others have registered with the plugin.
  Handlers fresh() const { return Handlers(*plugin_, GetParam().platform); }
  std::string error_of(const Target& target) const {
    try {
      fresh().add(target);
    } catch (const Error& error) {
      return error.message();
    }
    return "no error";
  }

  std::unique_ptr<Plugin> plugin_;
};

TEST_P(HandlersOf, AllStagesAndTheTypeOfTheirState) {
  const auto tally = target("tally", {.instantiate = tally_instantiate, .execute = tally_execute});
  Handlers handlers = fresh();
  handlers.add(*tally);
  handlers.add(*tally);
  EXPECT_EQ(error_of(*tally), "no error");
}

TEST_P(HandlersOf, AnotherHandlerUnderATakenNameIsRefused) {
  fresh().add(*target("taken", {.execute = tally_execute}));
  const auto other = target("taken", {.execute = other_execute});
  EXPECT_THAT(error_of(*other), HasSubstr("the plugin refuses target \"handlers_test.taken\": "));
}

TEST_P(HandlersOf, TraitsReachThePlugin) {
  constexpr auto kTrait = FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE;
  fresh().add(*target("trait", {.execute = other_execute}, kTrait));
  EXPECT_EQ(error_of(*target("trait", {.execute = other_execute}, kTrait)), "no error");
  EXPECT_THAT(error_of(*target("trait", {.execute = other_execute})),
              HasSubstr("the plugin refuses"));
}

TEST_P(HandlersOf, TypesKeepTheirIds) {
  register_ffi_type("handlers_test.marked", &Marked::id);
  Handlers handlers = fresh();
  handlers.add_type(Marked::id.type_id);
  handlers.add_type(Marked::id.type_id);
  fresh().add_type(Marked::id.type_id);
  handlers.add_type(987654321);  // not a type of farcall's registry: left to the plugin
}

TEST_P(HandlersOf, CallablesAreRefused) {
  const auto callable = make_target(
      "callable", [](FARCALL_FFI_CallFrame*) -> FARCALL_FFI_Error* { return nullptr; },
      GetParam().platform);
  EXPECT_THAT(error_of(*callable), HasSubstr("\"callable\" is a C++ callable"));
}

TEST_P(HandlersOf, UntypedFunctionsAreForGpus) {
  static const auto function = [](void*, void**, const char*, size_t) {};
  void (*const pointer)(void*, void**, const char*, size_t) = function;
  register_legacy_target("handlers_test.untyped", reinterpret_cast<void*>(pointer),
                         GetParam().platform);
  const auto untyped = find_target("handlers_test.untyped", GetParam().platform, 1);
  if (std::string_view(GetParam().platform) == "cpu") {
    EXPECT_THAT(error_of(*untyped), HasSubstr("write it as a typed handler"));
  } else {
    EXPECT_EQ(error_of(*untyped), "no error");
  }
}

// ---- programs, on the plugin for CPUs ----

TEST(DirectCalls, UserDataAndStateReachHandlers) {
  if (!*kPluginPath) GTEST_SKIP() << "the package lammps-jax-pjrt-cpu is not installed";
  setenv("FARCALL_PJRT_PLUGIN", kPluginPath, 1);
  setenv("FARCALL_PJRT_FOREIGN_CALLS", "direct", 1);
  register_ffi_type("handlers_test.offset", &Offset::id);
  register_ffi_target("handlers_test.add_offset", add_offset);
  const ShapeDtype types[] = {ShapeDtype(DType::kFloat32, {})};
  const ProgramPtr program = record(
      [&](std::span<const Array> x) {
        return std::vector<Array>{FfiCall("handlers_test.add_offset", {types[0]})({x[0]})};
      },
      types);
  const Device& device = *find_engine("pjrt").devices()[0];
  const auto executable = compile(program, device);
  EXPECT_EQ(executable->report().size(), 1u);
  const Array x = device_put(Array::scalar(1.f), device);
  for (const float value : {2.f, 30.f}) {
    Offset offset{value};
    ExecutionOptions options;
    options.user_data = {{Offset::id.type_id, &offset}};
    EXPECT_EQ(run(*executable, {&x, 1}, options)[0].item<float>(), 1 + value);
  }
  try {
    run(*executable, {&x, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("add_offset: user data: "));
  }
}

TEST(DirectCalls, AnUnknownWayOfCallingIsRefused) {
  if (!*kPluginPath) GTEST_SKIP() << "the package lammps-jax-pjrt-cpu is not installed";
  setenv("FARCALL_PJRT_FOREIGN_CALLS", "sometimes", 1);
  try {
    const Client client(find_engine("pjrt"), kPluginPath);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "FARCALL_PJRT_FOREIGN_CALLS must be \"relay\" or \"direct\", got \"sometimes\"");
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, HandlersOf,
                         ::testing::Values(Case{"cpu", kPluginPath, "cpu"},
                                           Case{"cuda", kCudaPluginPath, "cuda"}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace farcall::pjrt
