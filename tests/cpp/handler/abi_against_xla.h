// Compares farcall/abi.h field by field with one of XLA's published headers. Compiled once for each
// header; XLA_RELEASE numbers them, oldest first. Compiling is the test.
#pragma once

#include <cstddef>

#include <farcall/abi.h>

#include "xla/ffi/api/c_api.h"

// Releases that changed the interface.
#define JAXLIB_0_4_31 0
#define JAXLIB_0_5_3 1
#define JAXLIB_0_6_2 2
#define JAXLIB_0_8_0 3
#define JAXLIB_0_9_0 4
#define JAXLIB_0_10_2 5
#define JAXLIB_0_11_2 6
#define JAXLIB_0_12_0_1 7

#if XLA_RELEASE == JAXLIB_0_4_31
#define EXTENSION priv
#else
#define EXTENSION extension_start
#endif

#define SAME_FIELD_AS(ours, our_field, theirs, their_field) \
  static_assert(offsetof(FARCALL_FFI_##ours, our_field) ==  \
                offsetof(XLA_FFI_##theirs, their_field));   \
  static_assert(sizeof(FARCALL_FFI_##ours::our_field) == sizeof(XLA_FFI_##theirs::their_field))
#define SAME_FIELD(name, field) SAME_FIELD_AS(name, field, name, field)
#define SAME_SIZE(name) static_assert(sizeof(FARCALL_FFI_##name) == sizeof(XLA_FFI_##name))
#define SAME_VALUE(name) static_assert(int{FARCALL_FFI_##name} == int(XLA_FFI_##name))
// struct_size as XLA's header sets it equals ours up to `field`.
#define SAME_STRUCT_SIZE_AS(ours, field, theirs)                      \
  static_assert(FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_##ours, field) == \
                size_t{XLA_FFI_##theirs##_STRUCT_SIZE})
#define SAME_STRUCT_SIZE(name, field) SAME_STRUCT_SIZE_AS(name, field, name)
#define SAME_HEAD_AS(ours, theirs)                       \
  SAME_FIELD_AS(ours, struct_size, theirs, struct_size); \
  SAME_FIELD_AS(ours, extension_start, theirs, EXTENSION)
#define SAME_HEAD(name) SAME_HEAD_AS(name, name)
