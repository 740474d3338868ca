// farcall run and trace.
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace farcall::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A temporary folder, removed with the test.
class Run : public ::testing::Test {
 protected:
  Run()
      : folder_(std::filesystem::temp_directory_path() /
                ("farcall_run_test_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~Run() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ / name; }
  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  // 2 x + y, of 3 floats each.
  std::string program() const {
    return file("program.txt",
                "{ lambda ; a:f32[3] b:f32[3]. let c:f32[3] = mul a 2.0:f32[] d:f32[3] = add c b "
                "in (d,) }");
  }

  std::filesystem::path folder_;
};

nlohmann::json json_of(const ChildResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.output;
  return nlohmann::json::parse(result.output, nullptr, false);
}

TEST_F(Run, PrintsTheResults) {
  const auto result =
      run_farcall({"run", program(), "--arg", "f32[3]=1,2,3", "--arg", "f32[3]=0.5"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.output, "f32[3] = [2.5, 4.5, 6.5]\n");
}

TEST_F(Run, GivesJson) {
  const auto json = json_of(
      run_farcall({"run", program(), "--arg", "f32[3]=1,nan,inf", "--arg", "f32[3]=0", "--json"}));
  EXPECT_EQ(json["results"][0]["dtype"], "float32");
  EXPECT_EQ(json["results"][0]["shape"], nlohmann::json({3}));
  EXPECT_EQ(json["results"][0]["values"], nlohmann::json({2.0, "nan", "inf"}));
}

TEST_F(Run, RandomArgumentsAreThoseOfTheSeed) {
  const auto once = run_farcall({"run", program(), "--seed", "5"});
  EXPECT_EQ(once.exit_code, 0);
  EXPECT_EQ(run_farcall({"run", program(), "--seed", "5", "--arg", "random"}).output, once.output);
  EXPECT_NE(run_farcall({"run", program(), "--seed", "6"}).output, once.output);
}

TEST_F(Run, ReadsWhatItSaves) {
  const std::string saved = path("out.npy");
  EXPECT_EQ(
      run_farcall({"run", program(), "--arg", "f32[3]=1,2,3", "--arg", "f32[3]=0", "--save", saved})
          .exit_code,
      0);
  const auto again = run_farcall({"run", program(), "--arg", saved, "--arg", "f32[3]=0"});
  EXPECT_EQ(again.output, "f32[3] = [4.0, 8.0, 12.0]\n");
  const std::string two =
      file("two.txt", "{ lambda ; a:i32[2,2]. let b:i32[2,2] = neg a in (a, b) }");
  EXPECT_EQ(run_farcall({"run", two, "--arg", "s32[2,2]=1,2,3,4", "--save", saved}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(path("out.0.npy")));
  EXPECT_EQ(run_farcall({"run", two, "--arg", path("out.1.npy")}).output,
            "i32[2,2] = [[-1, -2], [-3, -4]]\ni32[2,2] = [[1, 2], [3, 4]]\n");
}

TEST_F(Run, ReadsFortransOrder) {
  std::string header =
      "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }                               \n";
  std::string bytes =
      std::string("\x93NUMPY\1", 7) + '\0' + static_cast<char>(header.size()) + '\0';
  bytes += header;
  for (const int32_t value : {1, 4, 2, 5, 3, 6}) {
    bytes.append(reinterpret_cast<const char*>(&value), 4);
  }
  const std::string same = file("same.txt", "{ lambda ; a:i32[2,3]. let in (a,) }");
  EXPECT_EQ(run_farcall({"run", same, "--arg", file("f.npy", bytes)}).output,
            "i32[2,3] = [[1, 2, 3], [4, 5, 6]]\n");
  const auto cut = run_farcall({"run", same, "--arg", file("g.npy", bytes.substr(0, 100))});
  EXPECT_EQ(cut.exit_code, 2);
  EXPECT_THAT(cut.output, HasSubstr("the .npy file is truncated"));
}

TEST_F(Run, CallsTargetsOfLibraries) {
  const std::string text =
      file("calls.txt",
           "{ lambda ; a:f32[4]. let b:f32[4] = ffi_call[attributes={} batched_operands=() "
           "custom_call_api_version=4 has_side_effect=False input_layouts=(None,) "
           "input_output_aliases=() legacy_backend_config=None output_layouts=(None,) "
           "result_types=(f32[4],) target_name=twice vmap_method=None] a in (b,) }");
  const auto missing = run_farcall({"run", text});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.output, HasSubstr("no target \"twice\""));
  EXPECT_THAT(missing.output, HasSubstr("--lib LIBRARY:SYMBOL=TARGET adds one"));
  const std::string library = checked_library("sound_own") + ":two_passes=twice";
  const auto result = run_farcall({"run", text, "--lib", library});
  EXPECT_EQ(result.exit_code, 0) << result.output;
}

TEST_F(Run, RunsAHandler) {
  const auto result = run_farcall({"run", checked_library("sound_own") + ":in_place", "--arg",
                                   "f32[3]=1,2,3", "--ret", "f32[3]"});
  EXPECT_EQ(result.output, "f32[3] = [3.0, 5.0, 7.0]\n");
}

TEST_F(Run, TellsOfHandlersThatCrash) {
  SKIP_WITH_A_SANITIZER();
  const std::string handler = checked_library("planted_ends") + ":divides_by_size";
  const std::vector<std::string> call = {"--arg", "s32[0]", "--ret", "s32[]"};
  for (const char* subcommand : {"run", "trace"}) {
    std::vector<std::string> words = {subcommand, handler};
    words.insert(words.end(), call.begin(), call.end());
    if (words[0] == "trace") words.insert(words.end(), {"--out", path("trace.json")});
    const auto result = run_farcall(words);
    EXPECT_EQ(result.exit_code, 3) << result.output;
    EXPECT_THAT(result.output, HasSubstr("ended the program with signal 8"));
    EXPECT_THAT(result.output, HasSubstr("divides_by_size"));
    EXPECT_THAT(result.output, Not(HasSubstr("_ZL")));  // demangled
    words.emplace_back("--json");
    words.insert(words.begin(), FARCALL_COMMAND);
    const auto json = nlohmann::json::parse(run_program(words, 60).output, nullptr, false);
    ASSERT_TRUE(json.is_object());
    EXPECT_THAT(json["error"].get<std::string>(), HasSubstr("signal 8"));
  }
}

TEST_F(Run, TellsOfHandlersThatEndTheProcess) {
  const std::map<std::string, std::string> ends = {{"exits", "exit()"},
                                                   {"exits_at_once", "_exit()"}};
  for (const auto& [symbol, function] : ends) {
    const std::string handler = checked_library("planted_ends") + ":" + symbol;
    const auto result = run_farcall({"run", handler, "--arg", "f32[17]", "--ret", "f32[17]"});
    EXPECT_EQ(result.exit_code, 3) << result.output;
    EXPECT_THAT(result.output, HasSubstr("the handler ended the program with " + function));
  }
}

TEST_F(Run, ATimeLimitIsAboveZero) {
  const std::string handler = checked_library("planted_ends") + ":hangs";
  std::vector<std::string> words = {"run",   handler,   "--arg",     "f32[17]",
                                    "--ret", "f32[17]", "--timeout", "0"};
  for (const char* subcommand : {"run", "trace", "check", "bench"}) {
    words[0] = subcommand;
    const auto result = run_farcall(words);
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr("--timeout: must be a number above 0, got 0"));
  }
}

TEST_F(Run, AFolderIsNoProgram) {
  const auto result = run_farcall({"run", "/tmp"});
  EXPECT_EQ(result.exit_code, 2) << result.output;
  EXPECT_THAT(result.output, HasSubstr("\"/tmp\" is a folder, not a file"));
}

TEST_F(Run, JsonIsAloneWhereHandlersPrint) {
  const std::string handler = checked_library("sound_own") + ":prints";
  for (const char* subcommand : {"run", "trace"}) {
    std::vector<std::string> words = {FARCALL_COMMAND, subcommand, handler,  "--arg",
                                      "f32[2]=1,2",    "--ret",    "f32[2]", "--json"};
    if (words[1] == "trace") words.insert(words.end(), {"--out", path("trace.json")});
    const auto result = run_program(words, 60);
    EXPECT_EQ(result.exit_code, 0) << result.output;
    EXPECT_TRUE(nlohmann::json::parse(result.output, nullptr, false).is_object()) << result.output;
  }
}

TEST_F(Run, CallsAHandlerWithoutResults) {
  const std::string handler = checked_library("sound_own") + ":in_place";
  const auto result = run_farcall({"run", handler, "--arg", "f32[3]"});
  EXPECT_EQ(result.exit_code, 3) << result.output;
  EXPECT_THAT(result.output, HasSubstr("1 result"));
  EXPECT_THAT(result.output, Not(HasSubstr("job.cpp")));  // no line of the user's
}

TEST_F(Run, TellsFindingsWithOne) {
  const std::string handler = checked_library("planted_own") + ":write_past";
  const auto result =
      run_farcall({"run", handler, "--arg", "f32[8]", "--ret", "f32[8]", "--check"});
  EXPECT_EQ(result.exit_code, 1) << result.output;
  EXPECT_THAT(result.output, HasSubstr("check_foreign_calls: oob-write"));
  // The environment variable has the same effect in every C++ program.
  setenv("FARCALL_CHECK_FOREIGN_CALLS", "1", 1);
  const auto again = run_farcall({"run", handler, "--arg", "f32[8]", "--ret", "f32[8]"});
  unsetenv("FARCALL_CHECK_FOREIGN_CALLS");
  EXPECT_EQ(again.exit_code, 1) << again.output;
}

TEST_F(Run, EndsWithTwoForWrongUse) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& text) {
    const auto result = run_farcall(std::move(arguments));
    EXPECT_EQ(result.exit_code, 2) << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
  };
  expect({"run"}, "program is required");
  expect({"run", program(), "--arg", "f32[3]=1,2"}, "f32[3] has 3 elements, got 2 values");
  expect({"run", program(), "--arg", "f32[N]"}, "sizes are numbers here, got \"N\"");
  expect({"run", program(), "--arg", "f32[4]"}, "argument 0 of the program is f32[3], got f32[4]");
  expect({"run", program(), "--arg", "f32[3]=x"}, "--arg \"f32[3]=x\"");
  expect({"run", program(), "--arg", "1", "--arg", "2", "--arg", "3"}, "takes 2 arguments, got 3");
  expect({"run", program(), "--arg", "none.npy"}, "there is no such file");
  expect({"run", program(), "--lib", "libx.so"}, "is not LIBRARY:SYMBOL=TARGET");
  expect({"run", program(), "--save", "out.txt"}, "ends with .npy");
  expect({"run", program(), "--ret", "f32[3]"}, "are for a handler");
  expect({"run", checked_library("sound_own")}, "sound_own.so:SYMBOL");
  expect({"run", file("program.py", "print(1)")}, "is Python. Give a file of program text");
}

TEST_F(Run, EndsWithThreeForWhatCannotRun) {
  const auto expect = [](std::vector<std::string> arguments, const std::string& text) {
    const auto result = run_farcall(std::move(arguments));
    EXPECT_EQ(result.exit_code, 3) << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
  };
  expect({"run", path("none.txt")}, "there is no file");
  expect({"run", "none.so:f"}, "there is no file \"none.so\".");
  expect({"run", file("wrong.txt", "{ lambda ; a:f32[3]. let b = nonsense a in (b,) }")},
         "wrong.txt: program text, line 1");
  expect({"run", file("cut.fc", "farcall\nxx")}, "saved program");
}

TEST_F(Run, EndsAtTheTimeLimit) {
  const std::string endless =
      file("endless.txt",
           "{ lambda ; a:i32[]. let b:i32[] = while[body_jaxpr={ lambda ; c:i32[]. let d:i32[] = "
           "add c 0:i32[] in (d,) } body_nconsts=0 cond_jaxpr={ lambda ; e:i32[]. let f:bool[] = "
           "eq e e in (f,) } cond_nconsts=0] a in (b,) }");
  const auto result = run_farcall({"run", endless, "--arg", "i32[]=1", "--timeout", "0.3"});
  EXPECT_EQ(result.exit_code, 124) << result.output;
  EXPECT_THAT(result.output, HasSubstr("the time limit has passed"));
}

TEST_F(Run, TraceWritesATraceAndATable) {
  const std::string trace = path("trace.json");
  const auto result = run_farcall({"trace", program(), "--out", trace, "--runs", "4"});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("cluster(mul, add)"));
  EXPECT_THAT(result.output, HasSubstr("The trace of 4 runs is in " + trace));
  std::ifstream in(trace);
  const auto events = nlohmann::json::parse(in)["traceEvents"];
  EXPECT_GT(events.size(), 8u);
  const auto json = json_of(run_farcall({"trace", program(), "--out", trace, "--json"}));
  bool is_there = false;
  for (const auto& row : json["rows"]) {
    is_there |= row["name"] == "cluster(mul, add)" && row["calls"] == 10;
  }
  EXPECT_TRUE(is_there) << json;
  EXPECT_EQ(run_farcall({"trace", program(), "--out", path("no/such/folder.json")}).exit_code, 3);
}

}  // namespace
}  // namespace farcall::tools
