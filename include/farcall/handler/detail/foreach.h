// FARCALL_FFI_FOR_EACH(macro, context, a, b, ...) expands to macro(context, a) macro(context, b)
// ... for 1 to 32 items. It counts the items by hand, because C++17 has no __VA_OPT__.
#pragma once

#define FARCALL_FFI_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, \
                         _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28, _29, _30,  \
                         _31, _32, name, ...)                                                   \
  name
#define FARCALL_FFI_FOR_EACH(m, c, ...)                                                   \
  FARCALL_FFI_PICK(                                                                       \
      __VA_ARGS__, FARCALL_FFI_EACH_32, FARCALL_FFI_EACH_31, FARCALL_FFI_EACH_30,         \
      FARCALL_FFI_EACH_29, FARCALL_FFI_EACH_28, FARCALL_FFI_EACH_27, FARCALL_FFI_EACH_26, \
      FARCALL_FFI_EACH_25, FARCALL_FFI_EACH_24, FARCALL_FFI_EACH_23, FARCALL_FFI_EACH_22, \
      FARCALL_FFI_EACH_21, FARCALL_FFI_EACH_20, FARCALL_FFI_EACH_19, FARCALL_FFI_EACH_18, \
      FARCALL_FFI_EACH_17, FARCALL_FFI_EACH_16, FARCALL_FFI_EACH_15, FARCALL_FFI_EACH_14, \
      FARCALL_FFI_EACH_13, FARCALL_FFI_EACH_12, FARCALL_FFI_EACH_11, FARCALL_FFI_EACH_10, \
      FARCALL_FFI_EACH_9, FARCALL_FFI_EACH_8, FARCALL_FFI_EACH_7, FARCALL_FFI_EACH_6,     \
      FARCALL_FFI_EACH_5, FARCALL_FFI_EACH_4, FARCALL_FFI_EACH_3, FARCALL_FFI_EACH_2,     \
      FARCALL_FFI_EACH_1, unused)                                                         \
  (m, c, __VA_ARGS__)

#define FARCALL_FFI_EACH_1(m, c, x) m(c, x)
#define FARCALL_FFI_EACH_2(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_1(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_3(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_2(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_4(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_3(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_5(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_4(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_6(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_5(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_7(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_6(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_8(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_7(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_9(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_8(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_10(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_9(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_11(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_10(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_12(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_11(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_13(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_12(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_14(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_13(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_15(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_14(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_16(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_15(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_17(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_16(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_18(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_17(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_19(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_18(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_20(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_19(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_21(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_20(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_22(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_21(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_23(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_22(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_24(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_23(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_25(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_24(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_26(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_25(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_27(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_26(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_28(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_27(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_29(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_28(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_30(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_29(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_31(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_30(m, c, __VA_ARGS__)
#define FARCALL_FFI_EACH_32(m, c, x, ...) m(c, x) FARCALL_FFI_EACH_31(m, c, __VA_ARGS__)
