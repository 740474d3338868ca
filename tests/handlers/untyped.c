/* A library of untyped handlers, which looks for the status functions in whoever loads it. */
#include <stddef.h>
#include <string.h>

typedef struct XlaCustomCallStatus XlaCustomCallStatus;
void XlaCustomCallStatusSetFailure(XlaCustomCallStatus* status, const char* message,
                                   size_t message_length);

__attribute__((visibility("default"))) void untyped_negate(void* out, const void** in,
                                                           XlaCustomCallStatus* status) {
  const int x = *(const int*)in[0];
  *(int*)out = -x;
  if (x == 0) XlaCustomCallStatusSetFailure(status, "zero", strlen("zero"));
}
