#include "core/internal/one_blas_thread.h"

#include <mutex>

// OpenBLAS's functions; null if another BLAS library is loaded.
extern "C" {
[[gnu::weak]] int openblas_get_num_threads();
[[gnu::weak]] void openblas_set_num_threads(int num_threads);
}

namespace farcall {
namespace {

// What OpenBLAS was set to before the first of `users` came.
struct Setting {
  std::mutex mutex;
  int users = 0;
  int before = 1;
};

Setting& setting() {
  static auto* setting = new Setting;
  return *setting;
}

bool is_openblas() {
  return openblas_get_num_threads != nullptr && openblas_set_num_threads != nullptr;
}

}  // namespace

OneBlasThread::OneBlasThread() {
  if (!is_openblas()) return;
  const std::lock_guard lock(setting().mutex);
  if (setting().users++ > 0) return;
  setting().before = openblas_get_num_threads();
  if (setting().before != 1) openblas_set_num_threads(1);
}

OneBlasThread::~OneBlasThread() {
  if (!is_openblas()) return;
  const std::lock_guard lock(setting().mutex);
  if (--setting().users == 0 && setting().before != 1) openblas_set_num_threads(setting().before);
}

}  // namespace farcall
