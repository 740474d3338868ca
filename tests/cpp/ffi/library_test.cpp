#include <farcall/ffi/library.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "testing.h"

namespace farcall {
namespace {

using testing::error_of;

TEST(Library, NoSuchFile) {
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [] { load_library("/nowhere/libx.so"); }),
            "library \"/nowhere/libx.so\": no such file");
}

TEST(Library, NotALibrary) {
  const std::string path = ::testing::TempDir() + "farcall_not_a_library.so";
  std::ofstream(path) << "text";
  const std::string text = error_of(ErrorCode::kFailedPrecondition, [&] { load_library(path); });
  EXPECT_EQ(text, "library \"" + path + "\" does not load: " + path +
                      ": file too short. It is not a shared library for this machine.");
  std::filesystem::remove(path);
}

TEST(Library, ByTheLoadersOwnSearch) {
  EXPECT_NE(error_of(ErrorCode::kFailedPrecondition, [] { load_library("libfarcall_none.so"); })
                .find("library \"libfarcall_none.so\" does not load: libfarcall_none.so: cannot "
                      "open shared object file"),
            std::string::npos);
}

TEST(Library, Symbols) {
  const Library library = load_library("libm.so.6");
  EXPECT_EQ(library.path(), "libm.so.6");
  auto* cosine = reinterpret_cast<double (*)(double)>(library.symbol("cos"));
  EXPECT_EQ(cosine(0), 1);
  EXPECT_EQ(library.find_symbol("farcall_none"), nullptr);
  EXPECT_EQ(error_of(ErrorCode::kNotFound, [&] { library.symbol("farcall_none"); }),
            "library \"libm.so.6\": no symbol \"farcall_none\". Export the handler with extern "
            "\"C\" and default visibility.");
}

}  // namespace
}  // namespace farcall
