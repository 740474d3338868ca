// The command itself: exit codes, texts, and inspect.
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "command.h"

namespace farcall::tools {
namespace {

using testing::HasSubstr;

TEST(Command, TellsItsSubcommandsWithAnExampleEach) {
  EXPECT_THAT(run_farcall({"--help"}).output, HasSubstr("Example"));
  for (const char* name : {"new", "inspect", "check", "bench", "run", "trace", "env", "doctor"}) {
    const auto help = run_farcall({name, "--help"});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.output, HasSubstr("Example")) << name;
    EXPECT_THAT(help.output, HasSubstr("--json")) << name;
  }
}

TEST(Command, EndsWithTwoForWrongUse) {
  EXPECT_EQ(run_farcall({}).exit_code, 2);
  EXPECT_EQ(run_farcall({"check", "--no-such-option"}).exit_code, 2);
  const auto typo = run_farcall({"chek", "lib.so"});
  EXPECT_EQ(typo.exit_code, 2);
  EXPECT_THAT(
      typo.output,
      HasSubstr("there is no subcommand \"chek\". The subcommands are new, inspect, check,"));
  const auto library = checked_library("sound_xla");
  const auto unknown = run_farcall({"check", library + ":xla_unsigned"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.output, HasSubstr("carries no signature"));
  const auto type = run_farcall({"check", library + ":xla_norm", "--arg", "f33[N]"});
  EXPECT_EQ(type.exit_code, 2);
  EXPECT_THAT(type.output, HasSubstr("\"f33\" is not an element type"));
  const auto alias = run_farcall(
      {"check", library + ":xla_norm", "--arg", "f32[N]", "--ret", "f32[M]", "--alias", "0:0"});
  EXPECT_EQ(alias.exit_code, 2);
  EXPECT_THAT(alias.output, HasSubstr("argument 0 is f32[N], result 0 is f32[M]"));
  const auto no_argument = run_farcall(
      {"check", library + ":xla_norm", "--arg", "f32[N]", "--ret", "f32[N]", "--alias", "3:0"});
  EXPECT_EQ(no_argument.exit_code, 2);
  EXPECT_THAT(no_argument.output, HasSubstr("alias 3:0: the call has 1 argument and 1 result;"));
}

TEST(Command, RefusesOptionsOfTheCallThatSayNothing) {
  const auto told = [](const std::string& option, const std::string& value) {
    const auto result = run_farcall(
        {"check", checked_library("sound_own") + ":scales", "--attr", "factor=3", option, value});
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  };
  EXPECT_THAT(told("--alias", "0"), HasSubstr("alias \"0\": write ARGUMENT:RESULT"));
  EXPECT_THAT(told("--layout", "arg0"), HasSubstr("layout \"arg0\": write arg0=1,0"));
  EXPECT_THAT(told("--layout", "arg=0"), HasSubstr("layout \"arg=0\": \"\" is not an integer"));
  EXPECT_THAT(told("--stages", "instantiate="), HasSubstr("write instantiate=SYMBOL"));
  EXPECT_THAT(told("--stages", "execute=f"), HasSubstr("the handler itself is the execute stage"));
  EXPECT_THAT(told("--range", "ret0=0:1"), HasSubstr("a result has no values before the call"));
}

TEST(Command, RefusesFilesOfChecksThatWouldCheckLess) {
  const std::string path = testing::TempDir() + "farcall_less.toml";
  const auto told = [&](const std::string& text) {
    std::ofstream(path) << text;
    const auto result = run_farcall({"check", path});
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  };
  const std::string check = "[[check]]\nhandler = \"libx.so:f\"\n";
  EXPECT_THAT(told("check = []"), HasSubstr("there is nothing to check"));
  EXPECT_THAT(told("reference = \"m:f\"\n" + check), HasSubstr("beside [[check]]"));
  EXPECT_THAT(told(check + "reference = 4"), HasSubstr("reference must be"));
  EXPECT_THAT(told(check + "reference = \"f\""), HasSubstr("reference must be"));
  std::remove(path.c_str());
}

TEST(Command, EndsWithThreeIfItsOutputIsLost) {
  for (const char* words : {"env", "env --json", "man", "completion bash"}) {
    const int status =
        std::system(fmt::format("'{}' {} >/dev/full 2>/dev/null", FARCALL_COMMAND, words).c_str());
    EXPECT_EQ(WEXITSTATUS(status), 3) << words;
  }
}

TEST(Inspect, RefusesAPipe) {
  const std::string path = testing::TempDir() + "farcall_pipe.so";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const auto result = run_farcall({"inspect", path});
  std::remove(path.c_str());
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.output, HasSubstr("this is a pipe or a device, not a shared library."));
}

TEST(Command, NamesTheOptionThatWasMeant) {
  const auto told = [](std::vector<std::string> words) {
    const auto result = run_farcall(std::move(words));
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  };
  EXPECT_EQ(told({"check", "lib.so:f", "--jsn"}),
            "farcall: The following argument was not expected: --jsn; did you mean --json? See "
            "farcall check --help.\n");
  EXPECT_THAT(told({"run", "lib.so:f", "--sed=3"}), HasSubstr("did you mean --seed? See farcall "));
  EXPECT_EQ(told({"inspect", "lib.so", "--colour"}),
            "farcall: The following argument was not expected: --colour. See farcall inspect "
            "--help.\n");
  EXPECT_THAT(told({}), testing::MatchesRegex("farcall: .*\\. See farcall --help\\.\n"));
}

TEST(Command, NamesTheHandlersThatThereAre) {
  const auto expect = [](std::vector<std::string> words, int code, const std::string& text) {
    const auto result = run_farcall(std::move(words));
    EXPECT_EQ(result.exit_code, code) << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
  };
  const std::string library = checked_library("sound_xla");
  for (const char* subcommand : {"inspect", "check", "bench"}) {
    expect({subcommand, library + ":nosuch"}, 3, "sound_xla.so has no handler nosuch; it has xla_");
    expect({subcommand, library + ":"}, subcommand == std::string("inspect") ? 0 : 3, "xla_norm");
  }
  const std::string own = checked_library("sound_own");
  expect({"check", own, "--filter", "zzz"}, 3, "no handler's name contains \"zzz\"");
  expect({"inspect", own, "--filter", "zzz"}, 0, "No handler's name contains \"zzz\"");
}

TEST(Command, FunctionsThatHangOrCrashLeaveTheRest) {
  SKIP_WITH_A_SANITIZER();
  // A library of handlers with descriptions: its other functions are not called.
  const std::string library = checked_library("sound_own");
  const auto all = run_farcall({"inspect", library, "--json"});
  ASSERT_EQ(all.exit_code, 0) << all.output;
  const auto skipped = nlohmann::json::parse(all.output)["skipped"];
  ASSERT_EQ(skipped.size(), 1) << skipped;
  EXPECT_EQ(skipped[0]["symbol"], "never_returns");
  EXPECT_THAT(skipped[0]["why"].get<std::string>(), HasSubstr("it has no description"));
  const auto named = run_farcall({"inspect", library + ":never_returns"});
  EXPECT_EQ(named.exit_code, 3) << named.output;
  EXPECT_THAT(named.output, HasSubstr("is not a handler: asking it took longer than 2 s"));
  // Handlers of XLA's header are found by asking all functions.
  const auto asked = run_farcall({"inspect", checked_library("sound_xla"), "--json"});
  ASSERT_EQ(asked.exit_code, 0) << asked.output;
  EXPECT_THAT(nlohmann::json::parse(asked.output)["skipped"].dump(), HasSubstr("ends_in_abort"));
}

TEST(Command, WrongOptionsAreWrongUseAndJson) {
  const auto library = checked_library("sound_own");
  const auto expect = [&](std::vector<std::string> words, int code, const std::string& text) {
    words.insert(words.begin(), FARCALL_COMMAND);
    words.emplace_back("--json");
    const auto result = run_program(words, 60);
    EXPECT_EQ(result.exit_code, code) << result.output;
    const auto json = nlohmann::json::parse(result.output, nullptr, false);
    ASSERT_TRUE(json.is_object()) << result.output;
    EXPECT_THAT(json["error"].get<std::string>(), HasSubstr(text));
  };
  expect({"check"}, 2, "handler is required");
  expect({"run"}, 2, "program is required");
  expect({"chek"}, 2, "there is no subcommand");
  expect({"check", library, "--alias", "0"}, 2, "write ARGUMENT:RESULT");
  expect({"check", library, "--layout", "1,0"}, 2, "write arg0=1,0");
  expect({"check", library, "--range", "arg0"}, 2, "write arg0=LOWEST:HIGHEST");
  expect({"check", library + ":two_passes", "--range", "arg0=9:0"}, 2, "9 is above 0");
  expect({"check", library, "--seed", "-1"}, 2, "must be a number not below 0, got -1");
  expect({"check", library, "--timeout", "0"}, 2, "must be a number above 0, got 0");
  expect({"check", library, "--alignment", "3"}, 2, "must be a power of two up to 4096, got 3");
  expect({"check", library, "--attr", ":f32=1"}, 2, "attribute \":f32=1\": it has no name");
  expect({"bench", library, "--noise", "0"}, 2, "must be a number above 0, got 0");
  expect({"check", "none.toml"}, 3, "there is no such file");
  expect({"check", library + ":two_passes", "--reference", "foo"}, 2, "MODULE:NAME");
  expect({"bench", library + ":two_passes", "--compare", "none.json"}, 3, "there is no such file");
  expect({"bench", library + ":two_passes", "--output", "/no/folder/x"}, 3, "no folder /no/folder");
}

TEST(Command, TellsOfSizesAndKindsThatAreNone) {
  const auto target = checked_library("sound_own") + ":two_passes";
  const auto expect = [&](std::vector<std::string> options, int code, const std::string& text) {
    options.insert(options.begin(), {"check", target});
    const auto result = run_farcall(options);
    EXPECT_EQ(result.exit_code, code) << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
  };
  expect({"--size", "W=3"}, 2, "size W: no operand of two_passes has this letter. There are N.");
  expect({"--size", "N=-3"}, 2, "size \"N=-3\": -3 is negative.");
  expect({"--arg", "f32[N-90000]", "--ret", "f32[N]"}, 3,
         "none of the sizes that were tried make every shape valid: f32[N-90000] is not valid for "
         "N=16");
  expect({"--arg", "f32[N]", "--ret", "f32[N]", "--size", "N=100000000"}, 3,
         "the operands are too large");
  expect({"--kind", "leaks"}, 2, "there is no finding of kind \"leaks\". The kinds are oob-write,");
}

TEST(Command, EndsWithThreeForWhatDoesNotLoad) {
  const auto folder = std::filesystem::temp_directory_path() / "farcall_command_test";
  std::filesystem::create_directories(folder);
  const auto whole = checked_library("sound_own");
  const auto write = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return (folder / name).string();
  };
  std::ifstream in(whole, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(in), {});
  const auto expect = [](const std::string& path, const std::string& text) {
    const auto result = run_farcall({"inspect", path});
    EXPECT_EQ(result.exit_code, 3) << result.output;
    EXPECT_THAT(result.output, HasSubstr(text));
  };
  expect((folder / "none.so").string(), "there is no such file");
  expect(write("empty.so", ""), "the file is empty");
  expect(write("text.so", "hello"), "not a shared library");
  expect(write("short.so", bytes.substr(0, 40)), "truncated");
  expect(write("half.so", bytes.substr(0, bytes.size() / 2)), "truncated");
  bytes[18] = static_cast<char>(bytes[18] == 62 ? 183 : 62);
  bytes[19] = 0;
  expect(write("other.so", bytes), "but this machine is");
  std::filesystem::remove_all(folder);
}

TEST(Command, ShowsSignaturesOfAllHandlers) {
  const auto result = run_farcall({"inspect", checked_library("sound_own"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["handlers"].size(), 44);
  for (const auto& handler : json["handlers"]) {
    if (handler["symbol"] != "scales") continue;
    EXPECT_EQ(handler["signature"], "(f32) {} -> (f32)");
    EXPECT_EQ(handler["version"], "0.5");
    EXPECT_EQ(handler["stage"], "execute");
    EXPECT_EQ(handler["header"], "farcall's: farcall/ffi.h or xla/ffi/api/ffi.h");
  }
}

TEST(Command, FindsHandlersOfOtherHeadersAndLeavesOtherFunctionsOut) {
  const auto result = run_farcall({"inspect", checked_library("sound_xla"), "--json"});
  ASSERT_EQ(result.exit_code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output);
  EXPECT_EQ(json["handlers"].size(), 10) << result.output;
}

TEST(Command, TellsWhetherHandlersLoadInAnOlderRuntime) {
  // A handler of farcall/ffi.h uses the older of the two versions.
  EXPECT_EQ(run_farcall({"inspect", checked_library("sound_own"), "--runtime", "0.3"}).exit_code,
            0);
  const auto old = run_farcall({"inspect", checked_library("sound_own"), "--runtime", "0.0"});
  EXPECT_EQ(old.exit_code, 1);
  EXPECT_THAT(old.output, HasSubstr("does not load in 0.0"));
}

TEST(Command, CallsOfOneSeedAreTheSame) {
  SKIP_WITH_A_SANITIZER();
  const auto target = checked_library("planted_own") + ":misses_last";
  const auto first =
      nlohmann::json::parse(run_farcall({"check", target, "--json", "--seed", "7"}).output);
  const auto second =
      nlohmann::json::parse(run_farcall({"check", target, "--json", "--seed", "7"}).output);
  EXPECT_EQ(first["findings"], second["findings"]);
  EXPECT_EQ(first["findings"][0]["seed"], 7);
  EXPECT_THAT(first["findings"][0]["cpp_test"].get<std::string>(),
              HasSubstr("TEST(misses_last, unwritten_result)"));
  EXPECT_THAT(first["findings"][0]["python_test"].get<std::string>(),
              HasSubstr("def test_misses_last_unwritten_result"));
}

TEST(Command, ReadsChecksFromAFile) {
  SKIP_WITH_A_SANITIZER();
  const auto path = std::filesystem::temp_directory_path() / "farcall_command_test.toml";
  std::ofstream(path)
      << "[[check]]\nhandler = \"" << checked_library("sound_xla")
      << ":xla_norm\"\nargs = [\"f32[N,M]\"]\nrets = [\"f32[N,M]\"]\nattrs = [\"eps:f32=0.1\"]\n";
  const auto result = run_farcall({"check", path.string()});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_THAT(result.output, HasSubstr("xla_norm: clean"));
  std::ofstream(path) << "handler = \"a.so:b\"\nargss = []\n";
  EXPECT_THAT(run_farcall({"check", path.string()}).output, HasSubstr("unknown key \"argss\""));
  std::ofstream(path) << "[check]\nhandler = \"a.so:b\"\n";
  EXPECT_THAT(run_farcall({"check", path.string()}).output, HasSubstr("write [[check]]"));
  std::filesystem::remove(path);
}

TEST(Command, LibrariesOfAFileAreBesideIt) {
  SKIP_WITH_A_SANITIZER();
  const auto folder = std::filesystem::temp_directory_path() / "farcall_files_test";
  std::filesystem::create_directories(folder / "lib");
  const auto library = folder / "lib" / "libsound.so";
  std::filesystem::copy_file(checked_library("sound_own"), library,
                             std::filesystem::copy_options::overwrite_existing);
  std::ofstream(folder / "checks.toml")
      << "handler = \"lib/libsound.so:two_passes\"\nreference = \"lib/libsound.so:two_passes\"\n"
      << "sizes = [\"N=4\"]\n";
  const auto result = run_farcall({"check", (folder / "checks.toml").string()});
  EXPECT_EQ(result.exit_code, 0) << result.output;
  // The finding's command works in this folder.
  EXPECT_THAT(result.output, HasSubstr("calls with 1 shape in"));
  std::filesystem::remove_all(folder);
}

TEST(Command, ChecksAllHandlersOfALibrary) {
  SKIP_WITH_A_SANITIZER();
  const auto result = run_farcall(
      {"check", checked_library("sound_own"), "--filter", "refuses", "--jobs", "2", "--json"});
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_array()) << result.output;
  EXPECT_EQ(result.exit_code, 0) << result.output;
  std::set<std::string> names;
  for (const auto& report : json) {
    EXPECT_EQ(report["verdict"], "clean");
    const std::string handler = report["handler"];
    names.insert(handler.substr(handler.rfind(':') + 1));
  }
  EXPECT_EQ(names, (std::set<std::string>{"refuses_empty", "refuses_odd"}));
}

TEST(Command, RefusesAnAttributeThatIsGivenTwice) {
  const auto told = [](const char* first, const char* second) {
    const auto result =
        run_farcall({"check", checked_library("sound_own") + ":scales", "--arg", "f32[N]", "--ret",
                     "f32[N]", "--attr", first, "--attr", second});
    EXPECT_EQ(result.exit_code, 2) << result.output;
    return result.output;
  };
  EXPECT_THAT(told("factor=3", "factor:f32=4"), HasSubstr("attribute \"factor\" is given twice"));
  EXPECT_THAT(told("sub.n=3", "sub.n=4"), HasSubstr("attribute \"n\" is given twice"));
}

TEST(Command, RefusesRuntimesThatCannotExist) {
  for (const char* version : {"0.-1", "3", "1.2.3", "0.99999999999"}) {
    const auto result =
        run_farcall({"inspect", checked_library("sound_own"), "--runtime", version});
    EXPECT_EQ(result.exit_code, 2) << version << result.output;
    EXPECT_THAT(result.output, HasSubstr("--runtime is a version such as 0.3.")) << version;
  }
}

TEST(Command, EndsWithTheTimeLimit) {
  SKIP_WITH_A_SANITIZER();
  const auto result = run_farcall({"check", checked_library("planted_ends") + ":hangs", "--timeout",
                                   "0.7", "--call-timeout", "20"});
  EXPECT_EQ(result.exit_code, 124) << result.output;
  EXPECT_THAT(result.output, HasSubstr("the time limit was reached"));
}

TEST(Command, EnvHasOneFactPerLine) {
  const auto json = nlohmann::json::parse(run_farcall({"env", "--json"}).output);
  for (const char* name : {"farcall", "python", "system", "processors", "variables"})
    EXPECT_TRUE(json.contains(name)) << name;
}

TEST(Command, TellsOfThePluginOfTheEnginePjrt) {
  const auto told = [](const char* path) {
    setenv("FARCALL_PJRT_PLUGIN", path, 1);
    const auto env = nlohmann::json::parse(run_farcall({"env", "--json"}).output);
    const auto doctor = nlohmann::json::parse(run_farcall({"doctor", "--json"}).output);
    unsetenv("FARCALL_PJRT_PLUGIN");
    for (const auto& part : doctor["parts"]) {
      if (part["name"] != "pjrt") continue;
      EXPECT_EQ(part["state"], "optional");
      EXPECT_EQ(part["text"], env["pjrt"]);
    }
    return env["pjrt"].get<std::string>();
  };
  EXPECT_THAT(told("/no/such/plugin.so"), HasSubstr("there is no such file"));
  EXPECT_THAT(told(checked_library("sound_own").c_str()), HasSubstr("no function GetPjrtApi"));
}

}  // namespace
}  // namespace farcall::tools
