// Saved programs: round trips, and the errors for invalid bytes.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <farcall/ffi/registry.h>
#include <farcall/primitives/call.h>
#include <farcall/program/save.h>
#include <farcall/program/text.h>

#include "building.h"
#include "saved_bytes.h"

namespace farcall {
namespace {

using testing::error_of;
using testing::ffi_call_params;
using testing::kVector;
using testing::program_of;
using testing::saved_bytes;
using testing::with_checksum;

// Two calls of one program, which holds a constant with an unusual NaN.
ProgramPtr two_calls() {
  ProgramBuilder inner;
  const uint32_t bits[] = {0x7fc12345, 0x80000000, 0x3f800000};
  Storage storage = Storage::allocate(sizeof(bits));
  std::memcpy(storage.data(), bits, sizeof(bits));
  const Atom operands[] = {Atom::variable(inner.add_input(kVector)),
                           Atom::variable(inner.add_constant(kVector, storage))};
  const Atom sum =
      Atom::variable(inner.add_equation(testing::primitive("add"), nullptr, operands)[0]);
  const ProgramPtr body = inner.build({&sum, 1}, "a \"name\"");

  ProgramBuilder builder;
  Atom x = Atom::variable(builder.add_input(kVector));
  for (int i = 0; i < 2; ++i) {
    x = Atom::variable(builder.add_equation(testing::primitive("jit"),
                                            make_params(JitParams{"f", body}), {&x, 1})[0]);
  }
  builder.add_constant(kVector, storage);
  builder.add_constant(ShapeDtype(DType::kInt8, {0, 2}), Storage::allocate(0));
  return builder.build({&x, 1}, "outer");
}

std::string error_in_bytes(const std::string& bytes) {
  return error_of(ErrorCode::kInvalidArgument, [&] { deserialize_program(bytes); });
}

TEST(Save, ThereAndBack) {
  const ProgramPtr program = two_calls();
  const std::string bytes = serialize_program(*program, {{{"who", "me"}, {"n", 3}}});
  const LoadedProgram loaded = deserialize_program(bytes);
  EXPECT_TRUE(*loaded.program == *program);
  EXPECT_EQ(loaded.program->name, "outer");
  EXPECT_EQ(loaded.metadata, (Attributes{{"who", "me"}, {"n", 3}}));
  EXPECT_TRUE(loaded.targets.empty());
  EXPECT_EQ(serialize_program(*loaded.program, {loaded.metadata}), bytes);
}

TEST(Save, SharedProgramsAndConstantsAreSavedOnce) {
  const std::string bytes = serialize_program(*two_calls());
  const auto calls = deserialize_program(bytes).program->equations;
  EXPECT_EQ(calls[0].params->programs()[0].program, calls[1].params->programs()[0].program);
  uint64_t data_size = 0;
  std::memcpy(&data_size, bytes.data() + 32, 8);
  EXPECT_EQ(data_size, kAlignment);
  EXPECT_EQ(bytes.size() % kAlignment, 0u);
}

TEST(Save, ForeignBytes) {
  const std::string bytes = serialize_program(*two_calls());
  EXPECT_EQ(error_in_bytes(""),
            "saved program: wrong file signature: these bytes are not a saved program");
  EXPECT_EQ(error_in_bytes("{ lambda ;. let in () } and so on, longer than a header would be"),
            "saved program: wrong file signature: these bytes are not a saved program");
  std::string later = bytes;
  later[8] = 2;
  EXPECT_EQ(error_of(ErrorCode::kUnimplemented, [&] { deserialize_program(later); }),
            "saved program: unsupported format version 2, this farcall reads version 1; use the "
            "farcall that saved it, or a newer one");
  EXPECT_EQ(error_in_bytes(bytes + "x").substr(0, 26), "saved program: expected 34");
  EXPECT_EQ(error_in_bytes(bytes.substr(0, 100)),
            "saved program: expected " + std::to_string(bytes.size() - 40 - 64) +
                " bytes of text and 64 of data, got 60 bytes in "
                "all: the data were truncated or extended");
}

TEST(Save, EveryPrefixIsAnError) {
  const std::string bytes = serialize_program(*two_calls());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(error_in_bytes(bytes.substr(0, size)).substr(0, 15), "saved program: ") << size;
  }
}

TEST(Save, EveryChangedByteIsAnError) {
  const std::string bytes = serialize_program(*two_calls());
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THROW(deserialize_program(changed), Error) << i;
  }
}

// Malicious bytes with a correct checksum: may raise any Error, but nothing worse.
TEST(Save, ChangedTextUnderAFittingChecksumDoesNoHarm) {
  const std::string bytes = serialize_program(*two_calls(), {{{"k", std::vector<double>{1, 2}}}});
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = bytes;
    for (int j = 0; j < 1 + i % 3; ++j) {
      const size_t at = 40 + random() % (bytes.size() - 40 - kAlignment);
      changed[at] = i % 2 ? static_cast<char>(random()) : bytes[40 + random() % 200];
    }
    try {
      deserialize_program(with_checksum(changed), {false});
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST(Save, WhatTheTextRefersToIsThere) {
  EXPECT_EQ(error_in_bytes(saved_bytes("metadata {}\n")),
            "saved program: program text, line 2, column 1: there is no program");
  EXPECT_EQ(error_in_bytes(saved_bytes(
                "metadata {} program \"f\" { lambda a:f32[3]=@64 ;. let in (a,) }", 64)),
            "saved program: program text, line 1, column 46: 12 bytes at 64 do not lie in the 64 "
            "stored bytes");
  EXPECT_EQ(error_in_bytes(saved_bytes(
                "metadata {} program \"f\" { lambda a:f32[3]=@-1 ;. let in (a,) }", 64)),
            "saved program: program text, line 1, column 46: 12 bytes at -1 do not lie in the 64 "
            "stored bytes");
  EXPECT_EQ(
      error_in_bytes(saved_bytes("metadata {} program \"f\" { lambda ; a:f32[]. let b:f32[] = "
                                 "jit[name=f jaxpr=@0] a in (b,) }")),
      "saved program: program text, line 1, column 78: program 0 is not among the 0 before "
      "this one");
  EXPECT_EQ(error_in_bytes(saved_bytes("metadata {} target {name=\"f\"}")),
            "saved program: program text, line 1, column 30: a target has no platform");
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [] { parse_program("{ lambda a:f32[3]=@0 ;. let in (a,) }"); }),
            "program text, line 1, column 21: only saved programs refer to stored constants");
}

FARCALL_FFI_Error* does_nothing(FARCALL_FFI_CallFrame*) { return nullptr; }

TEST(Save, ForeignTargetsAreBoundByName) {
  const ProgramPtr program =
      program_of("ffi_call", {kVector}, make_params(ffi_call_params("save_test_target", 1, {})));
  const std::string unknown = serialize_program(*program);
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [&] { deserialize_program(unknown); }).substr(0, 103),
            "saved program: the program calls \"save_test_target\": registry: no target "
            "\"save_test_target\" on platform");
  const LoadedProgram loaded = deserialize_program(unknown, {.strict = false});
  ASSERT_EQ(loaded.problems.size(), 1u);
  EXPECT_TRUE(
      loaded.problems[0].starts_with("the program calls \"save_test_target\": registry: no"));
  EXPECT_EQ(loaded.targets, (std::vector<SavedTarget>{{"save_test_target", "cpu", 4, ""}}));

  register_ffi_target("save_test_target", does_nothing, "cpu", 1,
                      FARCALL_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
  // When it was saved, no target was registered.
  EXPECT_TRUE(deserialize_program(unknown).problems.empty());
  const std::string known = serialize_program(*program);
  EXPECT_EQ(deserialize_program(known).targets[0].signature,
            "execute without a description; traits 1");
  std::string other = known;
  other.replace(other.find("traits 1"), 8, "traits 0");
  EXPECT_EQ(
      error_of(ErrorCode::kFailedPrecondition, [&] { deserialize_program(with_checksum(other)); }),
      "saved program: \"save_test_target\" on platform \"cpu\" has another signature than when "
      "the program was saved:\n"
      "  saved: execute without a description; traits 0\n"
      "  found: execute without a description; traits 1");
}

TEST(Save, Files) {
  const ProgramPtr program = two_calls();
  const std::string path = ::testing::TempDir() + "/save_test.farcall";
  save_program(path, *program);
  EXPECT_TRUE(*load_program(path).program == *program);
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [] { load_program("/nowhere/x"); }),
            "load: \"/nowhere/x\" cannot be read");
  EXPECT_EQ(error_of(ErrorCode::kUnavailable, [&] { save_program("/nowhere/x", *program); }),
            "save: \"/nowhere/x\" cannot be written: No such file or directory");
}

TEST(Save, UntypedTargetsAreFoundAgainByTheirVersion) {
  register_legacy_target("save.untyped", reinterpret_cast<void*>(+[](void*, const void**) {}));
  FfiCallParams params = ffi_call_params("save.untyped", 1, {kVector});
  params.custom_call_api_version = 2;
  const ProgramPtr program = program_of("ffi_call", {kVector}, make_params(std::move(params)));
  const LoadedProgram loaded = deserialize_program(serialize_program(*program));
  ASSERT_EQ(loaded.targets.size(), 1u);
  EXPECT_EQ(loaded.targets[0].custom_call_api_version, 2);
  EXPECT_TRUE(*loaded.program == *program);
}

}  // namespace
}  // namespace farcall
