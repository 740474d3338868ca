// Saved programs: bytes, or a file, from which an equal program is made.
//
// The form is one of little-endian bytes:
//
//   offset  size  what
//   0       8     "farcall\n"
//   8       4     version of the form, 1
//   12      4     0
//   16      8     checksum of everything after these 40 bytes; see save.cpp
//   24      8     size of the text, a multiple of 64 less 40
//   32      8     size of the data
//   40      …     text: attributes of the whole and of each foreign target, then programs, each
//                 once, the outermost last; it refers to constants by their offset in the data
//   …       …     data: the constants, each at a multiple of 64
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <farcall/core/export.h>
#include <farcall/ffi/attribute.h>
#include <farcall/program/program.h>

namespace farcall {

// A target that a program calls, as it was when the program was saved.
struct SavedTarget {
  std::string name;
  std::string platform;
  int64_t custom_call_api_version = 4;
  // What describe_target (ffi/signature.h) said of it; empty when it was not registered.
  std::string signature;

  friend bool operator==(const SavedTarget&, const SavedTarget&) = default;
};

struct SaveOptions {
  Attributes metadata = {};      // for whoever saves; handed back by loading
  std::string platform = "cpu";  // whose targets are recorded
};

struct LoadOptions {
  // Raise NOT_FOUND or FAILED_PRECONDITION where a target is missing or has another signature than
  // when the program was saved. Otherwise LoadedProgram::problems says so.
  bool strict = true;
};

struct LoadedProgram {
  ProgramPtr program;  // verified
  Attributes metadata;
  std::vector<SavedTarget> targets;  // each once, sorted by name
  std::vector<std::string> problems;
};

// Rules of custom_jvp and its like are code and are not saved; source locations neither.
FARCALL_API std::string serialize_program(const Program& program, const SaveOptions& options = {});
// Raises INVALID_ARGUMENT for bytes that were not written by serialize_program, or were changed
// since, and UNIMPLEMENTED for a later version of the form.
FARCALL_API LoadedProgram deserialize_program(std::string_view bytes,
                                              const LoadOptions& options = {});

// The same in a file, which is replaced as a whole or not at all.
FARCALL_API void save_program(const std::string& path, const Program& program,
                              const SaveOptions& options = {});
FARCALL_API LoadedProgram load_program(const std::string& path, const LoadOptions& options = {});

// The foreign targets that a program calls, those of nested programs included: sorted, each once.
FARCALL_API std::vector<SavedTarget> foreign_targets(const Program& program,
                                                     const std::string& platform = "cpu");

}  // namespace farcall
