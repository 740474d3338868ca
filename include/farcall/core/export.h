// FARCALL_API marks what libfarcall exports; everything else is hidden.
#pragma once

#if defined(FARCALL_STATIC)
#define FARCALL_API
#else
#define FARCALL_API __attribute__((visibility("default")))
#endif
