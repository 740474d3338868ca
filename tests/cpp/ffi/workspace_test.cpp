// Scratch memory planned before a call: its size and allocation.
#include <farcall/ffi/workspace.h>

#include <cstring>

#include <farcall/core/storage.h>
#include <farcall/ffi/foreign_call.h>

#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

constexpr size_t kBytes = 4 * kAlignment;

// A call whose handler runs `use`, with kBytes of planned memory.
struct ScratchCall {
  std::function<void(runtime::Scratch&)> use;
  ForeignCall call{{.target = make_target("workspace",
                                          [this](FARCALL_FFI_CallFrame* frame) {
                                            use(frame->ctx->scratch);
                                            return static_cast<FARCALL_FFI_Error*>(nullptr);
                                          }),
                    .workspace_bytes = kBytes}};
  Invocation invocation{call};
  Storage memory = Storage::allocate(kBytes);

  explicit ScratchCall(std::function<void(runtime::Scratch&)> f) : use(std::move(f)) {
    invocation.set_workspace(memory.data());
    invocation.begin({});
  }
  bool is_planned(const void* data) const {
    const auto* begin = static_cast<const std::byte*>(memory.data());
    return data >= begin && data < begin + kBytes;
  }
  void* at(size_t block) const {
    return static_cast<std::byte*>(memory.data()) + block * kAlignment;
  }
};

TEST(Workspace, BlocksLieOneBehindTheOther) {
  ScratchCall test([&](runtime::Scratch& scratch) {
    EXPECT_EQ(scratch.allocate(1, 1), test.at(0));
    EXPECT_EQ(scratch.allocate(kAlignment, 8), test.at(1));
    EXPECT_EQ(scratch.allocate(0, 1), test.at(2));
    EXPECT_EQ(scratch.allocate(0, 1), test.at(3));
  });
  // Every call starts afresh, even if the previous one leaked blocks.
  for (int i = 1; i <= 3; ++i) {
    test.invocation.execute();
    EXPECT_EQ(test.invocation.num_leaked_scratch_blocks(), 4u * i);
  }
}

TEST(Workspace, WhatGoesBeyondComesFromTheHeap) {
  ScratchCall test([&](runtime::Scratch& scratch) {
    void* all = scratch.allocate(kBytes, 1);
    EXPECT_EQ(all, test.at(0));
    void* more = scratch.allocate(1, 1);
    EXPECT_FALSE(test.is_planned(more));
    std::memset(more, 1, 1);
    void* large = scratch.allocate(kBytes + 1, 1);
    EXPECT_FALSE(test.is_planned(large));
    std::memset(large, 1, kBytes + 1);
    EXPECT_TRUE(scratch.free(more));
    EXPECT_TRUE(scratch.free(all));
    EXPECT_TRUE(scratch.free(large));
    EXPECT_FALSE(scratch.is_used());
  });
  test.invocation.execute();
  EXPECT_EQ(test.invocation.num_leaked_scratch_blocks(), 0u);
}

TEST(Workspace, BlocksThatWereGivenBackAreHandedOutAgain) {
  ScratchCall test([&](runtime::Scratch& scratch) {
    void* first = scratch.allocate(1, 1);
    void* second = scratch.allocate(1, 1);
    EXPECT_TRUE(scratch.free(first));
    EXPECT_FALSE(scratch.free(first));  // already freed
    EXPECT_EQ(scratch.allocate(1, 1), test.at(2));
    EXPECT_TRUE(scratch.free(test.at(2)));
    EXPECT_TRUE(scratch.free(second));  // and the free block below it
    EXPECT_EQ(scratch.allocate(kBytes, 1), test.at(0));
    EXPECT_TRUE(scratch.free(test.at(0)));
    EXPECT_FALSE(scratch.free(&test));
  });
  test.invocation.execute();
  EXPECT_EQ(test.invocation.num_leaked_scratch_blocks(), 0u);
}

TEST(Workspace, LargeAlignments) {
  ScratchCall test([&](runtime::Scratch& scratch) {
    for (const size_t alignment : {size_t{1}, size_t{128}, size_t{4096}}) {
      void* data = scratch.allocate(8, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % alignment, 0u);
      std::memset(data, 1, 8);
    }
  });
  test.invocation.execute();
}

TEST(Workspace, RulesAreAskedForTypesAndAttributes) {
  const ShapeDtype x(DType::kFloat32, {3}), y(DType::kFloat64, {5});
  EXPECT_EQ(workspace_bytes("workspace rule", {}, {}, {}), 0u);
  set_workspace_rule("workspace rule",
                     [](std::span<const ShapeDtype> arguments, std::span<const ShapeDtype> results,
                        const Attributes& attributes) {
                       return static_cast<int64_t>(arguments[0].nbytes() + results[0].nbytes()) *
                              attributes.find("n")->as<int64_t>();
                     });
  EXPECT_EQ(workspace_bytes("workspace rule", {{x}}, {{y}}, {{"n", int64_t{2}}}), 104u);
  EXPECT_EQ(error_of(ErrorCode::kInvalidArgument,
                     [&] {
                       workspace_bytes("workspace rule", {{x}}, {{y}}, {{"n", int64_t{-1}}});
                     }),
            "the workspace rule of target \"workspace rule\": expected a number of bytes from 0 "
            "to 2^48, got -52");
  set_workspace_rule("workspace rule", nullptr);
  EXPECT_EQ(workspace_bytes("workspace rule", {{x}}, {{y}}, {}), 0u);
}

}  // namespace
}  // namespace farcall
