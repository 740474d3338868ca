#include <farcall/core/file.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <random>

#include <fmt/format.h>

namespace farcall {
namespace {

std::error_code last_error() { return {errno, std::generic_category()}; }

// A new file with an unused name beside the target. Removed unless it has been renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) {
    constexpr int kAttempts = 100;
    std::random_device random;
    for (int i = 0; i < kAttempts; ++i) {
      path_ = target.parent_path() / fmt::format(".farcall-{:08x}{:08x}.tmp", random(), random());
      // Neither follows a link nor opens an existing file.
      file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (file_ >= 0 || errno != EEXIST) break;
    }
    error_ = file_ < 0 ? last_error() : std::error_code();
  }
  ~TemporaryFile() {
    if (file_ >= 0) close(file_);
    if (file_ >= 0 && !is_renamed_) unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Errors: the first one is kept.
  void set_permissions(mode_t mode) { check(fchmod(file_, mode)); }
  void write(std::string_view bytes) {
    while (!error_ && !bytes.empty()) {
      const ssize_t written = ::write(file_, bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<size_t>(written));
      } else if (errno != EINTR) {
        error_ = last_error();
      }
    }
    // After a crash of the machine the new name must not lead to an empty file.
    check(fsync(file_));
  }
  void rename_to(const std::filesystem::path& target) {
    check(rename(path_.c_str(), target.c_str()));
    is_renamed_ = !error_;
  }
  std::error_code error() const { return error_; }

 private:
  // Called with the result of a system call, which is made even after an error; only the first
  // error counts.
  void check(int outcome) {
    if (!error_ && outcome != 0) error_ = last_error();
  }

  std::filesystem::path path_;
  int file_ = -1;
  bool is_renamed_ = false;
  std::error_code error_;
};

}  // namespace

std::error_code replace_file(const std::string& path, std::string_view bytes) {
  // System calls would truncate the path at the null byte.
  if (path.find('\0') != std::string::npos) {
    return std::make_error_code(std::errc::invalid_argument);
  }
  std::filesystem::path target = path;
  std::error_code error;
  if (is_symlink(target, error)) {
    target = canonical(target, error);
    if (error) return error;
  }
  struct stat there = {};
  const bool exists = lstat(target.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) return last_error();
  if (exists && S_ISDIR(there.st_mode)) return std::make_error_code(std::errc::is_a_directory);
  if (exists && !S_ISREG(there.st_mode)) return std::make_error_code(std::errc::invalid_argument);

  TemporaryFile file(target);
  if (file.error()) return file.error();
  if (exists) file.set_permissions(there.st_mode & 07777);
  file.write(bytes);
  if (!file.error()) file.rename_to(target);
  return file.error();
}

}  // namespace farcall
