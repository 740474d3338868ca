// FARCALL_API marks the symbols that libfarcall exports; all others are hidden.
#pragma once

#if defined(FARCALL_STATIC)
#define FARCALL_API
#else
#define FARCALL_API __attribute__((visibility("default")))
#endif
