// Saved programs: serialization to bytes or to a file, and loading.
//
// The format; numbers are little-endian:
//
//   offset  size  what
//   0       8     "farcall\n"
//   8       4     version of the format, 1
//   12      4     0
//   16      8     checksum of everything after these 40 bytes; see save.cpp
//   24      8     size of the text, a multiple of 64 less 40
//   32      8     size of the data
//   40      …     text: metadata, attributes of each foreign target, then programs, each
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
  // The result of describe_target (ffi/signature.h); empty if the target was not registered.
  std::string signature;

  friend bool operator==(const SavedTarget&, const SavedTarget&) = default;
};

struct SaveOptions {
  Attributes metadata = {};      // the user's data; loading returns them
  std::string platform = "cpu";  // the platform whose targets are recorded
};

struct LoadOptions {
  // Raise NOT_FOUND if a target is missing, and FAILED_PRECONDITION if its signature has changed
  // since the program was saved. If false, LoadedProgram::problems lists these problems instead.
  bool strict = true;
};

struct LoadedProgram {
  ProgramPtr program;  // verified
  Attributes metadata;
  std::vector<SavedTarget> targets;  // each once, sorted by name
  std::vector<std::string> problems;
};

// Custom rules (custom_jvp etc.) are code and are not saved, nor are source locations. Raises
// INVALID_ARGUMENT for a program with callbacks.
FARCALL_API std::string serialize_program(const Program& program, const SaveOptions& options = {});
// Raises INVALID_ARGUMENT if the bytes were not written by serialize_program or were changed since,
// and UNIMPLEMENTED for another version of the format.
FARCALL_API LoadedProgram deserialize_program(std::string_view bytes,
                                              const LoadOptions& options = {});

// The same with a file, which is replaced atomically. Raises UNAVAILABLE if it cannot be written,
// NOT_FOUND if it cannot be read.
FARCALL_API void save_program(const std::string& path, const Program& program,
                              const SaveOptions& options = {});
FARCALL_API LoadedProgram load_program(const std::string& path, const LoadOptions& options = {});

// The foreign targets that a program and its nested programs call: sorted, each once.
FARCALL_API std::vector<SavedTarget> foreign_targets(const Program& program,
                                                     const std::string& platform = "cpu");

}  // namespace farcall
