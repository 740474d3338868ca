#include "tools/check/instructions.h"

#include <vector>

#include <gtest/gtest.h>

namespace farcall::tools {
namespace {

using Flow = Instruction::Flow;

struct Example {
  const char* text;
  std::vector<uint8_t> bytes;
  Flow flow = Flow::kNext;
  bool has_memory = false;
  int target = 0;  // from the beginning of the instruction
};

const Example kExamples[] = {
    {"nop", {0x90}},
    {"ret", {0xc3}, Flow::kEnd},
    {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}},
    {"nopw 0x0(%rax,%rax,1)", {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}},
    {"jmp .+4", {0xeb, 0x02}, Flow::kJump, false, 4},
    {"jne .-2", {0x75, 0xfc}, Flow::kBranch, false, -2},
    {"je .+0x106", {0x0f, 0x84, 0x00, 0x01, 0, 0}, Flow::kBranch, false, 0x106},
    {"call .-0xb", {0xe8, 0xf0, 0xff, 0xff, 0xff}, Flow::kCall, false, -11},
    {"call *%rax", {0xff, 0xd0}, Flow::kIndirect},
    {"call *0x18(%rax)", {0xff, 0x50, 0x18}, Flow::kIndirect, true},
    {"jmp *0x2fca(%rip)", {0xff, 0x25, 0xca, 0x2f, 0, 0}, Flow::kIndirect, true},
    {"mov $1,%eax", {0xb8, 1, 0, 0, 0}},
    {"movabs $1,%rax", {0x48, 0xb8, 1, 0, 0, 0, 0, 0, 0, 0}},
    {"mov $1,%ax", {0x66, 0xb8, 1, 0}},
    {"mov (%rdi),%eax", {0x8b, 0x07}, Flow::kNext, true},
    {"mov 8(%rsp),%rax", {0x48, 0x8b, 0x44, 0x24, 0x08}},
    {"mov 8(%r12),%rax", {0x49, 0x8b, 0x44, 0x24, 0x08}, Flow::kNext, true},
    {"mov %fs:0x28,%rax", {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0}},
    {"movb $1,0x100(%rip)", {0xc6, 0x05, 0, 1, 0, 0, 1}, Flow::kNext, true},
    {"lea 4(%rdi),%rax", {0x48, 0x8d, 0x47, 0x04}},
    {"lea -1(%ecx),%edx", {0x67, 0x8d, 0x51, 0xff}},
    {"test $1,%al", {0xf6, 0xc0, 0x01}},
    {"neg %eax", {0xf7, 0xd8}},
    {"movss %xmm0,(%rax,%rdx,4)", {0xf3, 0x0f, 0x11, 0x04, 0x90}, Flow::kNext, true},
    {"pshufd $0,%xmm0,%xmm0", {0x66, 0x0f, 0x70, 0xc0, 0}},
    {"vzeroupper", {0xc5, 0xf8, 0x77}},
    {"vmovups (%rdi),%ymm0", {0xc5, 0xfc, 0x10, 0x07}, Flow::kNext, true},
    {"vfmadd213ps (%r8),%ymm1,%ymm0", {0xc4, 0xc2, 0x75, 0xa8, 0x00}, Flow::kNext, true},
    {"vinsertf128 $1,%xmm0,%ymm1,%ymm0", {0xc4, 0xe3, 0x75, 0x18, 0xc0, 1}},
    {"vmovups %zmm0,0x40(%rsi)", {0x62, 0xf1, 0x7c, 0x48, 0x11, 0x46, 1}, Flow::kNext, true},
    {"lock cmpxchg %rcx,(%rdx)", {0xf0, 0x48, 0x0f, 0xb1, 0x0a}, Flow::kNext, true},
    {"ud2", {0x0f, 0x0b}, Flow::kEnd},
};

TEST(Instructions, AreDecoded) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.text);
    std::vector<uint8_t> code = example.bytes;
    code.resize(32, 0x90);
    const auto found = decode(code.data(), code.data() + code.size());
    ASSERT_TRUE(found);
    EXPECT_EQ(found->length, example.bytes.size());
    EXPECT_EQ(found->flow, example.flow);
    EXPECT_EQ(found->memory.has_value(), example.has_memory);
    if (example.target != 0) {
      EXPECT_EQ(found->target, code.data() + example.target);
    }
    // Bytes behind the code are not looked at.
    EXPECT_FALSE(decode(code.data(), code.data() + example.bytes.size() - 1));
  }
}

TEST(Instructions, ThatAreNoneAreNotDecoded) {
  const std::vector<uint8_t> code = {0x06, 0x90, 0x90};  // push %es
  EXPECT_FALSE(decode(code.data(), code.data() + code.size()));
  EXPECT_FALSE(decode(code.data(), code.data()));
}

// (%rbx,%r9,8) with a displacement.
TEST(Instructions, NameTheRegistersOfTheirAddress) {
  const std::vector<uint8_t> code = {0x4a, 0x8b, 0x84, 0xcb, 0xf0, 0xff, 0xff, 0xff};
  const auto found = decode(code.data(), code.data() + code.size());
  ASSERT_TRUE(found && found->memory);
  EXPECT_EQ(found->memory->base, 3);
  EXPECT_EQ(found->memory->index, 9);
  EXPECT_EQ(found->memory->scale, 8);
  EXPECT_EQ(found->memory->displacement, -16);
}

}  // namespace
}  // namespace farcall::tools
