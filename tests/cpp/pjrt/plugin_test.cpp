// Files that are not plugins.
#include "pjrt/plugin.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <farcall/core/error.h>
#include <farcall/program/engine.h>

#include "pjrt/client.h"
#include "plugin_path.h"

namespace farcall::pjrt {
namespace {

using ::testing::HasSubstr;

std::string file_of(const std::string& name, const std::string& bytes) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string error_of(const std::string& path) {
  try {
    const Plugin plugin(path);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    return error.message();
  }
  return "no error";
}

TEST(Plugin, WhatIsNoneIsToldWithItsPath) {
  EXPECT_EQ(error_of("/no/such.so"), "pjrt: plugin \"/no/such.so\": there is no such file");
  const std::string text = file_of("text.so", "not a library");
  EXPECT_EQ(error_of(text), "pjrt: plugin \"" + text + "\": is not a shared library");
  std::string header(
      "\x7f"
      "ELF\x02\x01\x01",
      7);
  header.resize(64);
  header[16] = 3;
  header[18] = static_cast<char>(183);
  header[20] = 1;
  header[52] = 64;
  EXPECT_THAT(error_of(file_of("other.so", header)),
              HasSubstr("is built for another machine (ELF machine 183)"));
  EXPECT_THAT(error_of("/proc/self/exe"), HasSubstr("cannot be loaded"));
  if (std::filesystem::exists("/lib/x86_64-linux-gnu/libm.so.6")) {
    EXPECT_THAT(error_of("/lib/x86_64-linux-gnu/libm.so.6"),
                HasSubstr("is not a PJRT plugin: it has no function GetPjrtApi"));
  }
}

TEST(Plugin, ATruncatedOneIsRefused) {
  if (!*kPluginPath) GTEST_SKIP() << "the package lammps-jax-pjrt-cpu is not installed";
  std::ifstream in(kPluginPath, std::ios::binary);
  std::string bytes(1 << 20, '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  EXPECT_THAT(error_of(file_of("truncated.so", bytes)),
              HasSubstr("is truncated: it has 1048576 bytes, but its header requires more"));
}

TEST(Plugin, TheEngineIsThereWithoutOne) {
  unsetenv("FARCALL_PJRT_PLUGIN");
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
  const Engine& engine = find_engine("pjrt");
  EXPECT_THAT(std::string(engine.why_unavailable()), HasSubstr("no PJRT plugin was found"));
  try {
    const Client client(engine, "");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    EXPECT_THAT(error.message(), HasSubstr("pip install lammps-jax-pjrt-cpu"));
  }
  setenv("PJRT_NAMES_AND_LIBRARY_PATHS", "cpu:/a/b.so,other:/c.so", 1);
  EXPECT_EQ(find_plugin(), "/a/b.so");
  setenv("FARCALL_PJRT_PLUGIN", "/d.so", 1);
  EXPECT_EQ(find_plugin(), "/d.so");
  unsetenv("FARCALL_PJRT_PLUGIN");
  unsetenv("PJRT_NAMES_AND_LIBRARY_PATHS");
}

}  // namespace
}  // namespace farcall::pjrt
