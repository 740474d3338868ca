/* farcall for C, and for languages that call C: programs from text, which are compiled and run on
 * the caller's memory, and handlers.
 *
 * C99 or C++. A function that may fail returns an error, or null for success; the caller frees the
 * error with farcall_error_free(). The last parameter receives the result. It is not written if the
 * function fails. Handles point to immutable objects. Several threads may use one handle at once,
 * until one of them frees it. All functions are thread-safe. No function throws an exception or
 * prints. A null handle or pointer is an error unless a comment allows it.
 *
 * Structs begin with their size, which the caller sets, so that later versions of the library know
 * which members exist. The parameters of a function never change. FARCALL_C_VERSION is incremented
 * when something is added. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <farcall/abi.h>

#define FARCALL_C_VERSION 1

#ifdef __GNUC__
#define FARCALL_C_API __attribute__((visibility("default")))
#else
#define FARCALL_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct farcall_error farcall_error;
typedef struct farcall_program farcall_program;
typedef struct farcall_executable farcall_executable;

/* FARCALL_C_VERSION of the loaded library. */
FARCALL_C_API int32_t farcall_c_version(void);
/* The version of the library, such as "0.4.0". Valid until the process ends. */
FARCALL_C_API const char* farcall_version(void);

/* ---- errors ------------------------------------------------------------------------------- */

/* A code of the binary interface; OK for null. */
FARCALL_C_API FARCALL_FFI_Error_Code farcall_error_code(const farcall_error* error);
/* UTF-8, null-terminated, valid as long as the error; "" for null. */
FARCALL_C_API const char* farcall_error_message(const farcall_error* error);
/* Does nothing for null, like the other functions that free. */
FARCALL_C_API void farcall_error_free(farcall_error* error);

/* ---- programs ----------------------------------------------------------------------------- */

/* The type of an array, which is row-major: the last dimension varies fastest. */
typedef struct farcall_array_type {
  size_t struct_size; /* in: sizeof(farcall_array_type) */
  FARCALL_FFI_DataType dtype;
  int64_t rank;
  const int64_t* dims; /* length == rank; valid as long as the program */
  size_t nbytes;       /* of all elements */
} farcall_array_type;

/* Parses the text of a program (see docs/programs.md): `size` bytes, not null-terminated.
 * INVALID_ARGUMENT, with line and column, for text that is not a program. */
FARCALL_C_API farcall_error* farcall_program_parse(const char* text, size_t size,
                                                   farcall_program** program);
/* Loads the bytes of a saved program: save_program() in C++, `serialize` in Python. NOT_FOUND if a
 * target that it calls is not registered, FAILED_PRECONDITION if its signature has changed. */
FARCALL_C_API farcall_error* farcall_program_load(const void* bytes, size_t size,
                                                  farcall_program** program);
FARCALL_C_API void farcall_program_free(farcall_program* program);

/* Null-terminated, valid as long as the program. */
FARCALL_C_API farcall_error* farcall_program_text(const farcall_program* program,
                                                  const char** text);
FARCALL_C_API farcall_error* farcall_program_num_inputs(const farcall_program* program,
                                                        size_t* count);
FARCALL_C_API farcall_error* farcall_program_num_outputs(const farcall_program* program,
                                                         size_t* count);
/* OUT_OF_RANGE if there is no such input or output. The caller sets type->struct_size. */
FARCALL_C_API farcall_error* farcall_program_input(const farcall_program* program, size_t index,
                                                   farcall_array_type* type);
FARCALL_C_API farcall_error* farcall_program_output(const farcall_program* program, size_t index,
                                                    farcall_array_type* type);

/* The program on a batch of `size` elements. axes[i] is the batch dimension of input i, or -1 if
 * the input has none. The batch dimension of each output is the first one. `num_axes` is the number
 * of inputs. */
FARCALL_C_API farcall_error* farcall_program_batch(const farcall_program* program, int64_t size,
                                                   const int64_t* axes, size_t num_axes,
                                                   farcall_program** batched);
/* The reverse-mode derivative. Inputs: those of the program, then a cotangent for each output of
 * floats or complex numbers. Outputs: those of the program, then the cotangent of each input of
 * floats or complex numbers. UNIMPLEMENTED if an operation has no derivative. */
FARCALL_C_API farcall_error* farcall_program_vjp(const farcall_program* program,
                                                 farcall_program** vjp);

/* ---- running ------------------------------------------------------------------------------ */

/* Compiles for the host. NOT_FOUND if a foreign target is not registered. The program may be freed
 * before the executable. */
FARCALL_C_API farcall_error* farcall_compile(const farcall_program* program,
                                             farcall_executable** executable);
FARCALL_C_API void farcall_executable_free(farcall_executable* executable);

/* Runs on the caller's memory. Inputs and outputs are pointers to dense elements, of the nbytes of
 * their types; they may be null if nbytes is 0. An output may use the memory of an input. Memory
 * that is not aligned to 64 bytes may be copied. After an error, the contents of the outputs are
 * undefined. */
FARCALL_C_API farcall_error* farcall_execute(const farcall_executable* executable,
                                             const void* const* inputs, size_t num_inputs,
                                             void* const* outputs, size_t num_outputs);

/* ---- handlers ----------------------------------------------------------------------------- */

/* Registers a handler of XLA's binary interface, which ffi_call in programs can call. Its code must
 * stay loaded. Registering the same handler again is not an error; another handler under a
 * registered name is ALREADY_EXISTS. */
FARCALL_C_API farcall_error* farcall_register_handler(const char* name,
                                                      FARCALL_FFI_Handler* handler);
/* The program as such a handler, for this or another runtime. Valid until the process ends. See
 * farcall/exchange/export_handler.h. */
FARCALL_C_API farcall_error* farcall_export_handler(const char* name,
                                                    const farcall_program* program,
                                                    FARCALL_FFI_Handler** handler);

#ifdef __cplusplus
}
#endif
