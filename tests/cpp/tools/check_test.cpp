// farcall check finds each planted defect, and none in correct handlers.
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"
#include "tools/check/report.h"

namespace farcall::tools {
namespace {

using Words = std::vector<std::string>;

struct Planted {
  std::string library, symbol;
  std::string kind;
  std::string operand;  // the operand that the finding names, if any
  Words options = {};
  std::string text = {};  // a part of the finding's message
};

void PrintTo(const Planted& planted, std::ostream* out) { *out << planted.symbol; }

const Words kUnary = {"--arg", "f32[N]", "--ret", "f32[N]"};

Words with(Words options, const Words& more) {
  options.insert(options.end(), more.begin(), more.end());
  return options;
}

const Words kHistogram = {"--arg", "f32[N]", "--ret", "s32[K]"};
const Words kTable = {"--arg", "f32[N]", "--arg", "f32[M]", "--ret", "f32[M]"};

const Planted kPlanted[] = {
    {"planted_own", "write_past", "oob-write", "result 0"},
    {"planted_own", "copy_past_blocks", "oob-write", "heap"},
    {"planted_own", "write_before", "oob-write", "result 0"},
    {"planted_own", "write_tail", "oob-write", "result 0"},
    {"planted_own", "read_past", "oob-read", "argument 0"},
    {"planted_own", "read_before", "oob-read", "argument 0"},
    {"planted_own", "scratch_past", "oob-write", "scratch"},
    {"planted_own", "write_past_blocks", "oob-write", "result 0"},
    {"planted_own", "index_unchecked", "oob-read", "argument 0"},
    {"planted_own",
     "index_negative",
     "oob-read",
     "argument 0",
     {"--arg", "f32[N]", "--arg", "s32[M]", "--ret", "f32[M]"}},
    {"planted_own", "histogram", "crash", "", kHistogram, "with nan"},
    {"planted_own", "table_at_position", "crash", "", kTable, "with nan"},
    {"planted_own",
     "neighbours",
     "oob-read",
     "argument 0",
     {"--arg", "f32[N+1]", "--ret", "f32[N]"}},
    {"planted_own", "square_only", "oob-read", "argument 0"},
    {"planted_own", "heap_past", "oob-write", "heap"},
    {"planted_own", "keeps_operand", "oob-read", "argument 0"},
    {"planted_own", "axes_past", "oob-read", "attribute axes", {"--attr", "axes:s64[]=0,1"}},
    {"planted_own", "rank_past", "oob-read", "the shape of argument 0"},
    {"planted_own",
     "sorts_attribute",
     "input-write",
     "attribute weights",
     {"--attr", "weights:f32[]=3,1,2"}},
    {"planted_own", "writes_input", "input-write", "argument 0"},
    {"planted_own", "restores_input", "input-write", "argument 0"},
    {"planted_own", "clamps_input", "input-write", "argument 0"},
    {"planted_own", "clears_nan", "input-write", "argument 0"},
    {"planted_own", "misses_last", "unwritten-result", "result 0"},
    {"planted_own", "misses_tail", "unwritten-result", "result 0"},
    {"planted_own", "misses_second", "unwritten-result", "result 1"},
    {"planted_own", "misses_imaginary", "unwritten-result", "result 0"},
    {"planted_own", "accumulates", "uninitialised-read", "result 0"},
    {"planted_own", "scratch_unwritten", "uninitialised-read", "scratch"},
    {"planted_own", "heap_unwritten", "uninitialised-read", "heap"},
    {"planted_own", "heap_freed", "uninitialised-read", "heap"},
    {"planted_own", "stack_unwritten", "uninitialised-read", "stack"},
    {"planted_own", "large_array_unwritten", "uninitialised-read", "stack"},
    {"planted_own", "scratch_flag", "uninitialised-read", "scratch"},
    {"planted_own", "heap_flag", "uninitialised-read", "heap"},
    {"planted_own", "stack_flag", "uninitialised-read", "stack"},
    {"planted_own", "result_flag", "uninitialised-read", "result 0"},
    {"planted_own", "counts_calls", "nondeterministic", "result 0"},
    {"planted_own", "random_seed", "nondeterministic", "result 0"},
    {"planted_own", "uses_address", "nondeterministic", ""},
    {"planted_own", "uses_process", "nondeterministic", ""},
    {"planted_own", "uses_alignment", "nondeterministic", "result 0"},
    {"planted_own", "uses_time", "nondeterministic", "result 0"},
    {"planted_own", "rounds_down", "nondeterministic", ""},
    {"planted_own", "static_buffer", "race", "result 0"},
    {"planted_own", "static_sum", "race", "result 0"},
    {"planted_own", "shared_state", "race", "result 0"},
    {"planted_own", "table_of_size", "race", ""},
    {"planted_own", "table_once", "race", "result 0"},
    {"planted_own", "table_while_filled", "race", "result 0"},
    {"planted_own", "static_largest", "race", "result 0", {"--size", "N=65537"}},
    {"planted_own", "own_threads", "race", "result 0"},
    {"planted_own", "leaks_block", "leak", ""},
    {"planted_own", "leaks_file", "leak", ""},
    {"planted_own", "leaks_thread", "leak", "threads"},
    {"planted_own", "leaks_state", "leak", ""},
    {"planted_own", "leaks_when_it_fails", "leak", ""},
    {"planted_own", "reverses", "alias", "result 0", {"--alias", "0:0"}},
    {"planted_own",
     "row_sums",
     "layout",
     "result 0",
     {"--arg", "f32[N,M]", "--ret", "f32[N]", "--layout", "arg0=1,0", "--reference",
      checked_library("planted_own") + ":row_sums"}},
    {"planted_own",
     "wrong_sums",
     "wrong-result",
     "result 0",
     {"--arg", "f32[N,M]", "--ret", "f32[N]", "--reference",
      checked_library("planted_own") + ":row_sums"}},
    {"planted_own",
     "largest_without_nan",
     "wrong-result",
     "result 0",
     {"--reference", checked_library("planted_own") + ":largest"}},
    {"planted_ends", "null_pointer", "crash", ""},
    {"planted_ends", "divides_by_size", "crash", ""},
    {"planted_ends", "divides_by_value", "crash", ""},
    {"planted_ends", "recurses", "crash", ""},
    {"planted_ends", "aborts", "abort", ""},
    {"planted_ends", "frees_twice", "abort", "", {}, "frees a block of the heap twice"},
    {"planted_ends", "asserts", "abort", "", {}, "`x.element_count() % 2 == 0 && \"rows come in"},
    {"planted_ends", "forks", "abort", "", {}, "a process that the handler forks"},
    {"planted_ends", "exits", "abort", ""},
    {"planted_ends", "exits_at_once", "abort", "", {}, "ends the process with exit code 0"},
    {"planted_ends", "terminates", "abort", "", {}, "'std::runtime_error' what():  empty"},
    {"planted_ends", "hangs", "timeout", "", {"--call-timeout", "0.7"}},
    {"planted_ends", "never_done", "timeout", "", {"--call-timeout", "0.7"}},
    {"planted_ends", "throws", "exception", ""},
    {"planted_ends", "throws_odd", "exception", "", {}, "an object of the type Odd"},
    {"planted_ends", "silent", "silent-error", ""},
    {"planted_process",
     "changes_directory",
     "nondeterministic",
     "",
     {},
     "current directory changed"},
    {"planted_process", "changes_locale", "nondeterministic", "", {}, "leaves the locale changed"},
    {"planted_process", "ignores_interrupts", "nondeterministic", "", {}, "signal 2 changed"},
    {"planted_process", "closes_output", "nondeterministic", "", {}, "standard output closed"},
    {"planted_process", "redirects_output", "nondeterministic", "", {}, "standard output replaced"},
    {"planted_process",
     "closes_files",
     "nondeterministic",
     "",
     {},
     "which it did not open, closed"},
    {"planted_process",
     "reads_input",
     "nondeterministic",
     "",
     {},
     "position in the standard input"},
    {"planted_process", "blocks_interrupts", "nondeterministic", "", {}, "leaves signal 2 blocked"},
    {"planted_process", "sets_alarm", "nondeterministic", "", {}, "leaves a timer running"},
    {"planted_process", "sets_variable", "nondeterministic", "", {}, "OMP_NUM_THREADS changed"},
    {"planted_process", "pins_thread", "nondeterministic", "", {}, "sched_setaffinity"},
    {"planted_process", "lowers_limit", "nondeterministic", "", {}, "setrlimit"},
    {"planted_process", "opens_mask", "nondeterministic", "", {}, "umask"},
    {"planted_process", "replaces_terminate", "nondeterministic", "", {}, "std::terminate"},
    {"planted_process", "leaves_daemon", "leak", "processes"},
    {"planted_process", "leaves_process", "leak", "processes"},
    {"planted_process", "keeps_results_of_size", "nondeterministic", "", {}, "after other calls"},
    {"planted_process", "leaks_when_empty", "leak", "heap"},
    {"planted_process", "leaks_when_even", "leak", "heap"},
    {"planted_process", "leaks_when_large", "leak", "heap"},
    {"planted_process", "keeps_text", "leak", "heap", {}, "bytes after 512"},
    {"planted_process", "keeps_block_for_thread", "leak", "heap", {}, "every thread that calls"},
    {"planted_process", "opens_every_third_time", "leak", "files"},
    {"planted_process", "maps_every_third_time", "leak", "mappings"},
    {"planted_process", "keeps_attribute", "nondeterministic", "result 0", {}, "other attributes"},
    {"planted_process",
     "keeps_pointer_to_attribute",
     "nondeterministic",
     "result 0",
     {"--attr", "factors:f64[]=2.5,3.5"},
     "or pointers to them"},
    {"planted_process", "leaves_lock", "timeout", "", {"--call-timeout", "0.5"}},
    {"planted_process", "ends_parent", "abort", "", {}, "the process that started its own"},
    {"planted_process", "ends_everything", "abort", "", {}, "or to all processes"},
    {"planted_process", "stops_itself", "timeout", "", {}, "stops its process by signal 19"},
    {"planted_process", "uses_number_of_processors", "nondeterministic", "", {}, "processors"},
    {"planted_process", "needs_alignment", "nondeterministic", "", {}, "all aligned to 64 bytes"},
    {"planted_process", "fulfils_twice", "abort", "", {}, "a promise is fulfilled once"},
    {"planted_process", "counts_too_far", "abort", "", {}, "more parts are done than there are"},
    {"planted_process", "uses_variable", "nondeterministic", "", {}, "on an environment variable"},
    {"planted_process", "uses_directory", "nondeterministic", "", {}, "on the current directory"},
    {"planted_process", "uses_thread", "nondeterministic", "result 0", {}, "depends on the thread"},
    {"planted_process", "uses_time_zone", "nondeterministic", "", {}, "depend on the time zone"},
    {"planted_process", "uses_number_of_threads", "nondeterministic", "result 0", {}, "pool has"},
    {"planted_process", "uses_order_of_addresses", "nondeterministic", "result 0"},
    {"planted_process", "uses_largest_size", "nondeterministic", "", {}, "after other calls"},
    {"planted_process", "keeps_first_value", "nondeterministic", "result 0", {}, "other values in"},
    {"planted_process", "keeps_sum", "nondeterministic", "result 0", {}, "other values in"},
    {"planted_process", "odd_bools", "wrong-result", "result 0", {}, "is the byte 240; a bool is"},
    {"planted_process", "drops_promise", "timeout", "", {}, "dropped"},
    {"planted_process", "misses_one_rest", "unwritten-result", "result 0"},
    {"planted_threads", "coefficient_after_flag", "race", "result 0"},
    {"planted_threads", "published_too_early", "race", "result 0"},
    {"planted_threads", "small_common_buffer", "race", ""},
    {"planted_threads", "tables_without_lock", "race", ""},
    {"planted_threads", "common_work_of_plans", "race", "result 0", {}, "make executables"},
    {"planted_threads", "team_counts", "race", "result 0"},
    {"planted_threads", "team_sums", "nondeterministic", "result 0"},
    {"planted_xla", "xla_write_past", "oob-write", "result 0", kUnary},
    {"planted_xla", "xla_read_past", "oob-read", "argument 0", kUnary},
    {"planted_xla", "xla_writes_input", "input-write", "argument 0", kUnary},
    {"planted_xla", "xla_misses", "unwritten-result", "result 0", kUnary},
    {"planted_xla", "xla_accumulates", "uninitialised-read", "result 0", kUnary},
    {"planted_xla", "xla_counts", "nondeterministic", "result 0", kUnary},
    {"planted_xla", "xla_static_buffer", "race", "result 0", kUnary},
    {"planted_xla", "xla_table_while_filled", "race", "result 0", kUnary},
    {"planted_xla", "xla_leaks", "leak", "", kUnary},
    {"planted_xla", "xla_throws", "exception", "", kUnary},
    {"planted_xla", "xla_throws_bare", "exception", "", kUnary},
    {"planted_xla", "xla_silent", "silent-error", "", kUnary},
    {"planted_xla",
     "xla_misses_flag",
     "unwritten-result",
     "result 0",
     {"--arg", "s8[N]", "--ret", "bool[N]"}},
    {"planted_xla", "xla_reverses", "alias", "result 0", with(kUnary, {"--alias", "0:0"})},
    {"planted_xla",
     "xla_row_sums",
     "layout",
     "result 0",
     {"--arg", "f32[N,M]", "--ret", "f32[N]", "--layout", "arg0=1,0", "--reference",
      checked_library("planted_own") + ":row_sums"}},
    {"planted_xla", "xla_wrong_lane", "wrong-result", "result 0",
     with(kUnary, {"--reference", checked_library("sound_xla") + ":xla_in_place"})},
    {"planted_xla", "xla_null_pointer", "crash", "", kUnary},
    {"planted_xla", "xla_histogram", "crash", "", kHistogram, "with nan"},
    {"planted_xla", "xla_table_at_position", "crash", "", kTable, "with nan"},
    {"planted_xla", "xla_logs", "leak", "heap", kUnary, "bytes after 512"},
    {"planted_xla", "xla_keeps_attribute", "nondeterministic", "result 0",
     with(kUnary, {"--attr", "factor:f32=2"}), "other attributes"},
    {"planted_xla", "xla_ends_parent", "abort", "", kUnary, "the process that started its own"},
    {"planted_xla", "xla_sets_variable", "nondeterministic", "", kUnary, "MKL_NUM_THREADS changed"},
    {"planted_xla", "xla_aborts", "abort", "", kUnary},
    {"planted_xla", "xla_waits", "timeout", "", with(kUnary, {"--call-timeout", "0.7"})},
};

// The processor time of all child processes that have ended.
double seconds_of_children() {
  rusage usage;
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class Finds : public testing::TestWithParam<Planted> {};

TEST_P(Finds, TheDefectAndNoOther) {
  SKIP_WITH_A_SANITIZER();
  const Planted& planted = GetParam();
  const double begin = seconds_of_children();
  const ChildResult result =
      run_farcall(with({"check", checked_library(planted.library) + ":" + planted.symbol, "--json"},
                       planted.options));
  EXPECT_EQ(result.exit_code, 1) << result.output;
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.output;
  EXPECT_EQ(json["verdict"], "findings");
  for (const auto& finding : json["findings"]) {
    EXPECT_EQ(finding["kind"], planted.kind) << finding.dump(2);
    EXPECT_FALSE(finding["message"].get<std::string>().empty());
    EXPECT_THAT(finding["message"].get<std::string>(), testing::HasSubstr(planted.text));
  }
  ASSERT_FALSE(json["findings"].empty());
  if (!planted.operand.empty()) {
    EXPECT_EQ(json["findings"][0]["operand"], planted.operand) << result.output;
  }
  // Counts processor time, not time spent waiting for a processor.
  EXPECT_LT(seconds_of_children() - begin, 10);
}

TEST(Planted, ThatIgnoresInterruptsShowsWhereTheyAreIgnoredAlready) {
  SKIP_WITH_A_SANITIZER();
  const auto before = std::signal(SIGINT, SIG_IGN);
  const ChildResult result =
      run_farcall({"check", checked_library("planted_process") + ":ignores_interrupts"});
  std::signal(SIGINT, before);
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, testing::HasSubstr("signal 2 changed"));
}

TEST(Planted, CopyPastTheEndsOfTwoOperandsIsAReadAndAWrite) {
  SKIP_WITH_A_SANITIZER();
  const ChildResult result =
      run_farcall({"check", checked_library("planted_own") + ":copy_past", "--json"});
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.output;
  std::map<std::string, std::string> found;
  for (const auto& finding : json["findings"]) found[finding["kind"]] = finding["operand"];
  EXPECT_THAT(found, testing::ElementsAre(testing::Pair("oob-read", "argument 0"),
                                          testing::Pair("oob-write", "result 0")));
}

TEST(Planted, AreOfEveryKindInBothHeaders) {
  std::set<std::string> own, xla;
  for (const Planted& planted : kPlanted) {
    (planted.library == "planted_xla" ? xla : own).insert(planted.kind);
  }
  EXPECT_THAT(own, testing::UnorderedElementsAreArray(kFindingKinds));
  EXPECT_THAT(xla, testing::UnorderedElementsAreArray(kFindingKinds));
}

const auto kNameOf = [](const auto& info) { return info.param.symbol; };
INSTANTIATE_TEST_SUITE_P(Planted, Finds, testing::ValuesIn(kPlanted), kNameOf);

struct Sound {
  std::string library, symbol;
  Words options = {};
};
void PrintTo(const Sound& sound, std::ostream* out) { *out << sound.symbol; }

const Sound kSound[] = {
    {"sound_own", "in_place", {"--alias", "0:0"}},
    {"sound_own", "updates_first", {"--alias", "0:0"}},
    {"sound_own", "two_passes"},
    {"sound_own", "uses_scratch"},
    {"sound_own", "sums_in_order"},
    {"sound_own", "refuses_odd"},
    {"sound_own", "refuses_empty"},
    {"sound_own", "checks_index"},
    {"sound_own", "caches"},
    {"sound_threads", "per_thread"},
    {"sound_own", "counts_for_itself"},
    {"sound_threads", "later"},
    {"sound_threads", "two_threads"},
    {"sound_own", "scales", {"--attr", "factor=3"}},
    {"sound_own", "catches"},
    {"sound_own", "makes_nan"},
    {"sound_own", "all_bits"},
    {"sound_own",
     "column_major_sums",
     {"--arg", "f32[N,M]", "--ret", "f32[N]", "--layout", "arg0=1,0", "--reference",
      checked_library("planted_own") + ":row_sums"}},
    {"sound_own", "grows"},
    {"sound_own", "large_stack"},
    {"sound_own", "maps_memory"},
    {"sound_own", "zeroed_block"},
    {"sound_own", "many_scratch"},
    {"sound_own", "dead_lanes"},
    {"sound_own", "resizes"},
    {"sound_own", "rounds_down_meanwhile"},
    {"sound_own", "asks_a_process"},
    {"sound_own", "waits_until"},
    {"sound_own", "opens_and_closes"},
    {"sound_own", "sums_in_place"},
    {"sound_own", "sums_in_place", {"--alias", "0:0"}},
    {"sound_own", "fixed_seed"},
    {"sound_own", "hash_table"},
    {"sound_own", "looks_at_the_clock"},
    {"sound_own", "swaps", {"--alias", "0:0", "--alias", "1:1"}},
    {"sound_own",
     "any_number",
     {"--arg", "f32[N]", "--arg", "f32[M,2]", "--ret", "f32[N]", "--ret", "f32[M,2]"}},
    {"sound_threads", "atomic_count"},
    {"sound_threads", "blocks_in_order"},
    {"sound_threads", "locks"},
    {"sound_threads", "keeps_a_thread"},
    {"sound_threads", "frees_elsewhere"},
    {"sound_threads", "catches_in_a_thread"},
    {"sound_own", "asks_the_environment"},
    {"sound_own", "changes_back"},
    {"sound_own", "remembers"},
    {"sound_own", "keeps_history"},
    {"sound_threads", "buffers_of_threads"},
    {"sound_threads", "published_once"},
    {"sound_threads", "spins"},
    {"sound_threads", "falls_back"},
    {"sound_own", "allocates_much"},
    {"sound_own", "tables_of_factors"},
    {"sound_own", "needs_64_bytes"},
    {"sound_own", "masks_and_kills"},
    {"sound_own", "reopens"},
    {"sound_own", "every_second", {"--arg", "f32[N]", "--ret", "f32[(N+1)//2]"}},
    {"sound_own", "every_second", {"--arg", "f32[2*N]", "--ret", "f32[N+M-M]"}},
    {"sound_xla", "xla_norm", {"--arg", "f32[N,M]", "--ret", "f32[N,M]", "--attr", "eps:f32=1e-5"}},
    {"sound_xla", "xla_scratch", kUnary},
    {"sound_xla", "xla_in_place", with(kUnary, {"--alias", "0:0"})},
    {"sound_xla", "xla_refuses", kUnary},
    {"sound_xla", "xla_table", kUnary},
    {"sound_xla", "xla_later", kUnary},
    {"sound_xla", "xla_moves", {"--arg", "c64[N,3]", "--ret", "f64[N,3]"}},
    {"sound_xla", "xla_flags", {"--arg", "s8[N]", "--ret", "bool[N]"}},
};

class Accepts : public testing::TestWithParam<Sound> {};

TEST_P(Accepts, WithoutAFinding) {
  SKIP_WITH_A_SANITIZER();
  const Sound& sound = GetParam();
  const double begin = seconds_of_children();
  const ChildResult result = run_farcall(with(
      {"check", checked_library(sound.library) + ":" + sound.symbol, "--json"}, sound.options));
  EXPECT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << result.output;
  EXPECT_EQ(json["verdict"], "clean") << result.output;
  EXPECT_LT(seconds_of_children() - begin, 10);
}
INSTANTIATE_TEST_SUITE_P(Sound, Accepts, testing::ValuesIn(kSound), [](const auto& info) {
  return std::to_string(info.index) + "_" + info.param.symbol;
});

}  // namespace
}  // namespace farcall::tools
