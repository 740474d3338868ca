// Replacements of C and C++ library functions, in effect for this program and every library that it
// loads: they behave like the originals, and report to tools/check/heap.h.
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/sysinfo.h>
#include <sys/time.h>

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <typeinfo>

#include "tools/check/heap.h"
#include "tools/check/signals.h"
#include "tools/check/surroundings.h"

namespace heap = farcall::tools::heap;

#define EXPORT __attribute__((visibility("default")))

namespace {

// The function of this name in the libraries that come after this program.
template <typename Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

#if defined(__GLIBC__)
// Those of a sanitizer's runtime, if it is preloaded; else null.
#pragma weak __interceptor_malloc
#pragma weak __interceptor_calloc
#pragma weak __interceptor_realloc
#pragma weak __interceptor_memalign
#pragma weak __interceptor_free
#define FARCALL_ORIGINAL(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)
void* __interceptor_malloc(size_t nbytes);
void* __interceptor_calloc(size_t count, size_t nbytes);
void* __interceptor_realloc(void* block, size_t nbytes);
void* __interceptor_memalign(size_t alignment, size_t nbytes);
void __interceptor_free(void* block);
void* __libc_malloc(size_t nbytes);
void* __libc_calloc(size_t count, size_t nbytes);
void* __libc_realloc(void* block, size_t nbytes);
void* __libc_memalign(size_t alignment, size_t nbytes);
void __libc_free(void* block);

// A sanitizer has its own red zones.
static size_t enlarged(size_t nbytes) {
  const size_t more = __interceptor_malloc ? 0 : heap::zone_bytes();
  return nbytes + more < nbytes ? nbytes : nbytes + more;
}
static size_t usable(void* block) { return __interceptor_malloc ? 0 : malloc_usable_size(block); }

EXPORT void* malloc(size_t nbytes) {
  void* block = FARCALL_ORIGINAL(malloc)(enlarged(nbytes));
  heap::allocated(block, nbytes, usable(block));
  return block;
}

EXPORT void free(void* block) {
  const size_t nbytes = usable(block);
  heap::freed(block, nbytes);
  FARCALL_ORIGINAL(free)(heap::keep_freed(block, nbytes));
}

EXPORT void* calloc(size_t count, size_t nbytes) {
  void* block = FARCALL_ORIGINAL(calloc)(count, nbytes);
  heap::allocated_zeros(block, count * nbytes);
  return block;
}

EXPORT void* realloc(void* old, size_t nbytes) {
  heap::freed(old, usable(old));
  void* block = FARCALL_ORIGINAL(realloc)(old, nbytes);
  heap::allocated_zeros(block, nbytes);
  return block;
}

EXPORT void* memalign(size_t alignment, size_t nbytes) {
  void* block = FARCALL_ORIGINAL(memalign)(alignment, enlarged(nbytes));
  heap::allocated(block, nbytes, usable(block));
  return block;
}

EXPORT void* aligned_alloc(size_t alignment, size_t nbytes) { return memalign(alignment, nbytes); }

EXPORT int posix_memalign(void** block, size_t alignment, size_t nbytes) {
  void* made = memalign(alignment, nbytes);
  if (!made) return ENOMEM;
  *block = made;
  return 0;
}
#endif

// The compiler has its own declaration of __cxa_throw, so this one needs another C++ name.
[[noreturn]] EXPORT void farcall_throw(void* object, std::type_info* type,
                                       void (*destroy)(void*)) __asm__("__cxa_throw");
void farcall_throw(void* object, std::type_info* type, void (*destroy)(void*)) {
  static auto* const next = original<decltype(farcall_throw)>("__cxa_throw");
  heap::thrown(object, type);
  next(object, type, destroy);
  __builtin_unreachable();
}

EXPORT int clock_gettime(clockid_t clock, timespec* time) {
  static auto* const next = original<decltype(clock_gettime)>("clock_gettime");
  const int result = next(clock, time);
  const bool has_date = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result == 0 && has_date) time->tv_sec += heap::clock_shift();
  return result;
}

EXPORT time_t time(time_t* result) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

EXPORT int gettimeofday(timeval* result, void*) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  *result = {now.tv_sec, now.tv_nsec / 1000};
  return 0;
}

EXPORT char* getenv(const char* name) {
  static auto* const next = original<decltype(getenv)>("getenv");
  return const_cast<char*>(
      farcall::tools::surroundings::variable(name, next(name), __builtin_return_address(0)));
}

EXPORT char* secure_getenv(const char* name) {
  static auto* const next = original<decltype(secure_getenv)>("secure_getenv");
  return const_cast<char*>(
      farcall::tools::surroundings::variable(name, next(name), __builtin_return_address(0)));
}

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
  static auto* const next = original<decltype(pthread_create)>("pthread_create");
  heap::thread_started();
  return next(thread, attributes, start, argument);
}

// std::thread::hardware_concurrency() calls it.
EXPORT int get_nprocs() noexcept {
  static auto* const next = original<decltype(get_nprocs)>("get_nprocs");
  return farcall::tools::surroundings::num_processors(next());
}

EXPORT int kill(pid_t process, int number) {
  static auto* const next = original<decltype(kill)>("kill");
  farcall::tools::signals::before_kill(process, number);
  return next(process, number);
}

EXPORT int killpg(pid_t group, int number) { return kill(-group, number); }

}  // extern "C"
