// farcall bench: what it measures, compares and rejects; and shell completion.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"
#include "tools/bench/bench.h"
#include "tools/failure.h"

namespace farcall::tools {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

ChildResult bench_sound(const std::string& symbol, const Words& more = {"--size", "N=64,1000"}) {
  Words words = {"bench",       checked_library("sound_own") + ":" + symbol,
                 "--seconds",   "0.02",
                 "--no-limits", "--json"};
  words.insert(words.end(), more.begin(), more.end());
  return run_farcall(words);
}

nlohmann::json parsed(const ChildResult& result) {
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  EXPECT_FALSE(json.is_discarded()) << result.output;
  return json;
}

TEST(Bench, TimesEachSizeWarmAndCold) {
  const ChildResult result =
      bench_sound("uses_scratch", {"--size", "N=64,1000", "--flops", "2*N+1"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const auto cases = parsed(result)["handlers"][0]["cases"];
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0]["sizes"]["N"], 64);
  EXPECT_EQ(cases[1]["shapes"], "f32[1000] -> f32[1000]");
  EXPECT_EQ(cases[1]["bytes"], 8000);
  EXPECT_EQ(cases[1]["flops"], 2001);
  for (const auto& row : cases) {
    EXPECT_TRUE(row["is_right"]);
    for (const char* kind : {"warm", "cold"}) {
      EXPECT_GT(row[kind]["seconds"], 0);
      EXPECT_LE(row[kind]["low"], row[kind]["seconds"]);
      EXPECT_GE(row[kind]["high"], row[kind]["seconds"]);
      EXPECT_GE(row[kind]["samples"], 3);
    }
  }
}

TEST(Bench, GoesOverSizesByItself) {
  const auto json = parsed(bench_sound("uses_scratch", {"--max-bytes", "10000"}));
  std::vector<int64_t> sizes;
  for (const auto& row : json["handlers"][0]["cases"]) sizes.push_back(row["sizes"]["N"]);
  EXPECT_THAT(sizes, testing::ElementsAre(16, 128, 1024));
}

TEST(Bench, ComparesHandlersWithTheFirst) {
  const std::string library = checked_library("sound_own");
  const ChildResult right = bench_sound("two_passes", {library + ":uses_scratch", "--size", "N=1"});
  EXPECT_EQ(right.exit_code, 0) << right.output;
  EXPECT_EQ(parsed(right)["handlers"][1]["compared_with"], library + ":two_passes");
  const ChildResult wrong = bench_sound("two_passes", {library + ":in_place", "--size", "N=1"});
  EXPECT_EQ(wrong.exit_code, 1) << wrong.output;
  EXPECT_TRUE(parsed(wrong)["handlers"][0]["cases"][0]["is_right"]);
  EXPECT_FALSE(parsed(wrong)["handlers"][1]["cases"][0]["is_right"]);
}

TEST(Bench, ComparesOnlyVersionsOfAHandlerOfWholeLibraries) {
  const std::string library = checked_library("sound_own");
  const std::filesystem::path copy = testing::TempDir() + "bench_version.so";
  std::filesystem::copy_file(library, copy, std::filesystem::copy_options::overwrite_existing);
  const auto bench = [](Words words) {
    words.insert(words.begin(), "bench");
    const Words more = {"--filter",  "in_place", "--size",      "N=64",
                        "--seconds", "0.02",     "--no-limits", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_farcall(words);
  };
  // in_place and sums_in_place have equal operands and compute different things.
  const ChildResult one = bench({library});
  EXPECT_EQ(one.exit_code, 0) << one.output;
  const auto alone = parsed(one)["handlers"];
  for (const auto& handler : alone) EXPECT_FALSE(handler.contains("compared_with"));
  const ChildResult two = bench({library, copy.string()});
  EXPECT_EQ(two.exit_code, 0) << two.output;
  const auto handlers = parsed(two)["handlers"];
  ASSERT_EQ(handlers.size(), 4u);
  EXPECT_EQ(handlers[2]["compared_with"], library + ":in_place");
  std::filesystem::remove(copy);
}

TEST(Bench, TellsOfCallsThatFail) {
  const ChildResult refused = bench_sound("refuses_odd", {"--size", "N=3"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_THAT(parsed(refused)["handlers"][0]["cases"][0]["refusal"].get<std::string>(),
              HasSubstr("the size must be even"));
  EXPECT_EQ(bench_sound("refuses_odd", {"--size", "N=3,4"}).exit_code, 0);
  SKIP_WITH_A_SANITIZER();
  const ChildResult crashed =
      run_farcall({"bench", checked_library("planted_ends") + ":null_pointer", "--no-limits",
                   "--json", "--seconds", "0.02"});
  EXPECT_EQ(crashed.exit_code, 3);
  EXPECT_THAT(parsed(crashed)["handlers"][0]["reason"].get<std::string>(),
              HasSubstr("segmentation fault"));
}

TEST(Bench, RefusesWrongOptions) {
  const auto message = [](const Words& words) {
    const ChildResult result = bench_sound("uses_scratch", words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  };
  EXPECT_THAT(message({"--flops", "2*K"}), HasSubstr("K is not a letter of the operands"));
  EXPECT_THAT(message({"--plot", "times.jpg"}), HasSubstr(".svg or .png"));
  EXPECT_THAT(message({"--compare", checked_library("sound_own")}),
              HasSubstr("is not a JSON file"));
}

TEST(Bench, FindsWhatIsSlowerThanBefore) {
  const std::string path = testing::TempDir() + "bench_before.json";
  ASSERT_EQ(bench_sound("uses_scratch", {"--size", "N=1000", "--output", path}).exit_code, 0);
  const auto compared = [&](double factor) {
    auto json = nlohmann::json::parse(std::ifstream(path));
    double& seconds = json["handlers"][0]["cases"][0]["warm"]["seconds"].get_ref<double&>();
    seconds *= factor;
    std::ofstream(path) << json;
    return bench_sound("uses_scratch", {"--size", "N=1000", "--compare", path});
  };
  EXPECT_EQ(compared(1000).exit_code, 0);
  const ChildResult slower = compared(1e-6);
  EXPECT_EQ(slower.exit_code, 1) << slower.output;
  EXPECT_THAT(parsed(slower)["slower"][0].get<std::string>(),
              HasSubstr("uses_scratch f32[1000] -> f32[1000]: "));
  std::filesystem::remove(path);
}

TEST(Bench, MeasuresTheMachine) {
  const Limits limits = measure_limits();
  EXPECT_GE(limits.num_threads, 1);
  EXPECT_GT(limits.bytes_per_second, 1e8);
  EXPECT_GT(limits.flops_per_second, 1e8);
}

TEST(Bench, CountsOfLetters) {
  const Sizes sizes = {{"N", 5}, {"M", 7}};
  EXPECT_EQ(count_of("2*N*M+N+3", sizes), 78);
  EXPECT_EQ(count_of("1e3", sizes), 1000);
  EXPECT_EQ(count_of("2.5*N*(M-1)", sizes), 75);
  EXPECT_THROW(count_of("2*K", sizes), Failure);
}

// ---- shells ----

TEST(Completion, OffersSubcommandsAndOptions) {
  const auto offers = [](const std::string& words, int at) {
    return run_program(
               {"bash", "-c",
                "source <(" FARCALL_COMMAND " completion bash); COMP_WORDS=(" + words +
                    "); COMP_CWORD=" + std::to_string(at) + "; _farcall; echo \"${COMPREPLY[@]}\""},
               20)
        .output;
  };
  EXPECT_EQ(offers("farcall in", 1), "inspect\n");
  EXPECT_EQ(offers("farcall check --al", 2), "--alias --alignment\n");
  EXPECT_EQ(offers("farcall bench lib.so --plo", 3), "--plot\n");
}

TEST(Completion, ExistsForEachShell) {
  EXPECT_THAT(run_farcall({"completion", "zsh"}).output, HasSubstr("bashcompinit"));
  EXPECT_THAT(run_farcall({"completion", "fish"}).output,
              HasSubstr("complete -c farcall -n '__fish_seen_subcommand_from check' -l json"));
  EXPECT_EQ(run_farcall({"completion", "cmd"}).exit_code, 2);
}

TEST(Man, HasEverySubcommandAndOption) {
  const std::string page = run_farcall({"man"}).output;
  EXPECT_THAT(page, testing::StartsWith(".TH FARCALL 1"));
  for (const char* part : {".SH check", ".SH bench", "\\-\\-tolerance", ".SH EXIT STATUS"})
    EXPECT_THAT(page, HasSubstr(part));
}

}  // namespace
}  // namespace farcall::tools
