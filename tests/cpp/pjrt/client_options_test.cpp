// The options of a plugin's client, from environment variables.
#include "pjrt/client_options.h"

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>

namespace farcall::pjrt {
namespace {

constexpr const char* kVariables[] = {"FARCALL_PJRT_OPTIONS", "XLA_PYTHON_CLIENT_ALLOCATOR",
                                      "XLA_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_MEM_FRACTION",
                                      "XLA_PYTHON_CLIENT_PREALLOCATE"};

std::string text_of(const CNamedValue& row) {
  const std::string name(row.name, row.name_size);
  switch (row.kind) {
    case CNamedValue::kString:
      return name + " string " + std::string(row.string_value, row.value_size);
    case CNamedValue::kInt64:
      return name + " integer " + std::to_string(row.int64_value);
    case CNamedValue::kFloat:
      return name + " float " + std::to_string(row.float_value);
    case CNamedValue::kBool:
      return name + (row.bool_value ? " true" : " false");
    default:
      return name;
  }
}

class ClientOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }

  static void clear() {
    for (const char* name : kVariables) unsetenv(name);
  }

  static std::vector<std::string> options(const std::map<std::string, std::string>& variables) {
    clear();
    for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
    ClientOptions made;
    made.add_from_environment();
    made.add_gpu_memory_from_environment();
    std::vector<std::string> texts;
    for (const CNamedValue& row : made.rows()) texts.push_back(text_of(row));
    return texts;
  }
};

using ::testing::ElementsAre;

TEST_F(ClientOptionsTest, HaveTheTypesOfTheirValues) {
  EXPECT_THAT(options({{"FARCALL_PJRT_OPTIONS", "a=1,b=0.5,c=true,d=word,preallocate=true"}}),
              ElementsAre("a integer 1", "b float 0.500000", "c true", "d string word",
                          "preallocate true"));
}

TEST_F(ClientOptionsTest, TakeMemoryOfGpusWhenItIsNeeded) {
  EXPECT_THAT(options({}), ElementsAre("preallocate false"));
}

TEST_F(ClientOptionsTest, FollowTheVariablesOfJax) {
  EXPECT_THAT(options({{"XLA_PYTHON_CLIENT_ALLOCATOR", "cuda_async"},
                       {"XLA_PYTHON_CLIENT_MEM_FRACTION", ".25"},
                       {"XLA_PYTHON_CLIENT_PREALLOCATE", "true"}}),
              ElementsAre("allocator string cuda_async", "memory_fraction float 0.250000",
                          "preallocate true"));
  EXPECT_THAT(options({{"XLA_CLIENT_MEM_FRACTION", "1"}, {"XLA_PYTHON_CLIENT_PREALLOCATE", "0"}}),
              ElementsAre("memory_fraction float 1.000000", "preallocate false"));
}

TEST_F(ClientOptionsTest, PreferTheirOwnVariable) {
  EXPECT_THAT(options({{"FARCALL_PJRT_OPTIONS", "memory_fraction=0.5,preallocate=false"},
                       {"XLA_PYTHON_CLIENT_MEM_FRACTION", "0.25"},
                       {"XLA_PYTHON_CLIENT_PREALLOCATE", "true"}}),
              ElementsAre("memory_fraction float 0.500000", "preallocate false"));
}

TEST_F(ClientOptionsTest, NameTheVariableThatIsWrong) {
  for (const char* value : {"much", "0", "-1", "0.5x"}) {
    try {
      options({{"XLA_CLIENT_MEM_FRACTION", value}});
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "XLA_CLIENT_MEM_FRACTION must be a number above 0, got \"" +
                                     std::string(value) + "\"");
    }
  }
}

}  // namespace
}  // namespace farcall::pjrt
