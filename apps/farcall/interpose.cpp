// Replacements of C and C++ library functions, in effect for this program and every library that it
// loads: they behave like the originals, and report to tools/check/heap.h.
#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>
#include <typeinfo>

#include "tools/check/heap.h"

namespace heap = farcall::tools::heap;

#define EXPORT __attribute__((visibility("default")))

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

EXPORT void* malloc(size_t nbytes) {
  void* block = FARCALL_ORIGINAL(malloc)(nbytes);
  heap::allocated(block, nbytes);
  return block;
}

EXPORT void free(void* block) {
  heap::freed(block);
  FARCALL_ORIGINAL(free)(block);
}

EXPORT void* calloc(size_t count, size_t nbytes) {
  void* block = FARCALL_ORIGINAL(calloc)(count, nbytes);
  heap::allocated_zeros(block, count * nbytes);
  return block;
}

EXPORT void* realloc(void* old, size_t nbytes) {
  heap::freed(old);
  void* block = FARCALL_ORIGINAL(realloc)(old, nbytes);
  heap::allocated_zeros(block, nbytes);
  return block;
}

EXPORT void* memalign(size_t alignment, size_t nbytes) {
  void* block = FARCALL_ORIGINAL(memalign)(alignment, nbytes);
  heap::allocated(block, nbytes);
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

using Throw = void (*)(void*, std::type_info*, void (*)(void*));

// The compiler has its own declaration of __cxa_throw, so this one needs another C++ name.
[[noreturn]] EXPORT void farcall_throw(void* object, std::type_info* type,
                                       void (*destroy)(void*)) __asm__("__cxa_throw");
void farcall_throw(void* object, std::type_info* type, void (*destroy)(void*)) {
  static const auto next = reinterpret_cast<Throw>(dlsym(RTLD_NEXT, "__cxa_throw"));
  heap::thrown(object, type);
  next(object, type, destroy);
  __builtin_unreachable();
}

using StartThread = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);

EXPORT int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                          void* (*start)(void*), void* argument) {
  static const auto next = reinterpret_cast<StartThread>(dlsym(RTLD_NEXT, "pthread_create"));
  heap::thread_started();
  return next(thread, attributes, start, argument);
}

}  // extern "C"
