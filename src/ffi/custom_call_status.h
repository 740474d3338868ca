// How untyped handlers report failure: two functions that their libraries look up by name.
#pragma once

#include <cstddef>

#include <farcall/core/export.h>

struct XlaCustomCallStatus;

extern "C" {

FARCALL_API void XlaCustomCallStatusSetSuccess(XlaCustomCallStatus* status);
// Copies the message up to its length or the first null byte.
FARCALL_API void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                               size_t message_length);

}  // extern "C"
