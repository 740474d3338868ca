#include <farcall/program/profile.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/ops/loops.h>
#include <farcall/ops/numpy.h>
#include <farcall/trace/jit.h>

namespace farcall {
namespace {

using ::testing::HasSubstr;

Array squares(const Array& x) { return numpy::add(numpy::multiply(x, x), 1); }

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(Profile, WritesATraceAndATable) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "farcall_profile_test.json").string();
  const auto f = jit(squares);
  {
    Profile profile(path);
    f(Array::of<float>({1, 2}));
    EXPECT_TRUE(profile.rows().empty());
    profile.stop();
    profile.stop();
    EXPECT_THAT(profile.to_text(), HasSubstr("cluster(mul, add)"));
    f(Array::of<float>({1, 2}));
    for (const ProfileRow& row : profile.rows()) EXPECT_EQ(row.calls, 1) << row.name;
  }
  EXPECT_THAT(contents(path),
              HasSubstr(R"json("name":"cluster(mul, add)","cat":"cluster","ph":"X")json"));
  std::filesystem::remove(path);
}

TEST(Profile, EndsWithItsScope) {
  const std::string path =
      (std::filesystem::temp_directory_path() / "farcall_profile_scope.json").string();
  { const Profile profile(path); }
  EXPECT_THAT(contents(path), HasSubstr("\"traceEvents\": ["));
  EXPECT_FALSE(is_profiling());
  std::filesystem::remove(path);
}

TEST(Profile, ThereIsOneAtATime) {
  const Profile profile;
  try {
    const Profile second;
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kFailedPrecondition);
    EXPECT_EQ(error.message(), "profile: another profile records already; stop it first");
  }
  EXPECT_TRUE(is_profiling());
}

TEST(Profile, APathThatCannotBeWrittenIsToldAtOnce) {
  EXPECT_THROW(Profile("/nowhere/at/all.json"), Error);
  EXPECT_FALSE(is_profiling());
}

}  // namespace
}  // namespace farcall
