// Which results can lie in the memory of donated inputs.
#include <farcall/program/donation.h>

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/message.h>
#include <farcall/program/text.h>

namespace farcall {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

TEST(Donation, EachInputServesTheFirstFreeOutputOfItsType) {
  const ProgramPtr program = parse_program(
      "{ lambda ; a:f32[8] b:f32[2] c:f32[8]. let\n"
      "    d:f32[8] = mul a c\n"
      "    e:f32[2] = neg b\n"
      "  in (d, e) }");
  EXPECT_THAT(donation_pairs(*program, {true, true, true}), ElementsAre(Pair(0, 0), Pair(1, 1)));
  EXPECT_THAT(unusable_donations(*program, {true, true, true}),
              ElementsAre(ShapeDtype(DType::kFloat32, {8})));
  EXPECT_THAT(donation_pairs(*program, {false, false, true}), ElementsAre(Pair(2, 0)));
  EXPECT_THAT(unusable_donations(*program, {false, false, true}), IsEmpty());
  EXPECT_THAT(unusable_donations(*program, {}), IsEmpty());
}

TEST(Donation, OneWarningNamesWhatCannotBeUsed) {
  static std::vector<std::string> warnings;
  warnings.clear();
  set_message_sink([](MessageKind, std::string_view text) { warnings.emplace_back(text); });
  const ProgramPtr program =
      parse_program("{ lambda ; a:f32[8] b:i32[2]. let c:f32[8] = neg a in (c,) }");
  warn_of_unusable_donations("jit(f)", *program, {true, false});
  EXPECT_THAT(warnings, IsEmpty());
  warn_of_unusable_donations("jit(f)", *program, {true, true});
  set_message_sink(nullptr);
  EXPECT_THAT(warnings,
              ElementsAre(StartsWith("jit(f): Some donated buffers were not usable: i32[2].")));
}

}  // namespace
}  // namespace farcall
