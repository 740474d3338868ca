/* farcall for C, and for every language that calls C: programs from text, compiled and run on the
 * caller's memory, and handlers.
 *
 * C99 or C++. Functions that may fail return an error, null for success, which the caller frees
 * with farcall_error_free(). Their last parameter receives the result and is not written where they
 * fail. Handles are pointers to objects that never change: any thread may use them, at the same
 * time as others, until it frees them. All functions may be called from any thread. No function
 * lets an exception out, and none prints. A null where a handle or a pointer is needed is an error.
 *
 * Structs begin with their size, as the caller knows it, which tells later versions of the library
 * which members there are; functions never change their parameters. FARCALL_C_VERSION counts up
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

/* FARCALL_C_VERSION of the library that runs. */
FARCALL_C_API int32_t farcall_c_version(void);
/* "0.4.0": of the library; lives as long as the process. */
FARCALL_C_API const char* farcall_version(void);

/* ---- errors ------------------------------------------------------------------------------- */

/* The numbers of the binary interface; OK for null. */
FARCALL_C_API FARCALL_FFI_Error_Code farcall_error_code(const farcall_error* error);
/* UTF-8, null-terminated; lives as long as the error. "" for null. */
FARCALL_C_API const char* farcall_error_message(const farcall_error* error);
/* Null is fine. So it is for the functions below that free. */
FARCALL_C_API void farcall_error_free(farcall_error* error);

/* ---- programs ----------------------------------------------------------------------------- */

/* The type of an array. Rows lie one after another: the last dimension is the fastest. */
typedef struct farcall_array_type {
  size_t struct_size; /* in: sizeof(farcall_array_type) */
  FARCALL_FFI_DataType dtype;
  int64_t rank;
  const int64_t* dims; /* length == rank; lives as long as the program */
  size_t nbytes;       /* of all elements */
} farcall_array_type;

/* From the text that farcall_program_text() gives, which docs/programs.md describes; `size` bytes,
 * not null-terminated. INVALID_ARGUMENT with line and column for text that is no program. */
FARCALL_C_API farcall_error* farcall_program_parse(const char* text, size_t size,
                                                   farcall_program** program);
/* From the bytes of a saved program: save_program() in C++, `serialize` in Python. NOT_FOUND or
 * FAILED_PRECONDITION where a target that it calls is missing or another one. */
FARCALL_C_API farcall_error* farcall_program_load(const void* bytes, size_t size,
                                                  farcall_program** program);
FARCALL_C_API void farcall_program_free(farcall_program* program);

/* Null-terminated; lives as long as the program. */
FARCALL_C_API farcall_error* farcall_program_text(const farcall_program* program,
                                                  const char** text);
FARCALL_C_API farcall_error* farcall_program_num_inputs(const farcall_program* program,
                                                        size_t* count);
FARCALL_C_API farcall_error* farcall_program_num_outputs(const farcall_program* program,
                                                         size_t* count);
/* OUT_OF_RANGE where there is no such input or output. `type` needs its struct_size set. */
FARCALL_C_API farcall_error* farcall_program_input(const farcall_program* program, size_t index,
                                                   farcall_array_type* type);
FARCALL_C_API farcall_error* farcall_program_output(const farcall_program* program, size_t index,
                                                    farcall_array_type* type);

/* The program on a batch of `size` elements. Input i has its batch dimension at axes[i], or none
 * where that is -1; the outputs have theirs in front. `num_axes` is the number of inputs. */
FARCALL_C_API farcall_error* farcall_program_batch(const farcall_program* program, int64_t size,
                                                   const int64_t* axes, size_t num_axes,
                                                   farcall_program** batched);
/* The reverse mode derivative. Its inputs are those of the program, then a cotangent for each
 * output of floats or complex numbers; its outputs are those of the program, then the cotangent of
 * each input of floats or complex numbers. UNIMPLEMENTED where something has no derivative. */
FARCALL_C_API farcall_error* farcall_program_vjp(const farcall_program* program,
                                                 farcall_program** vjp);

/* ---- running ------------------------------------------------------------------------------ */

/* For the host. NOT_FOUND where a foreign target is not registered. The executable does not need
 * the program any more. */
FARCALL_C_API farcall_error* farcall_compile(const farcall_program* program,
                                             farcall_executable** executable);
FARCALL_C_API void farcall_executable_free(farcall_executable* executable);

/* Reads the inputs and writes the outputs where they are: pointers to the elements, dense, each of
 * the nbytes that its type tells, or null where that is 0. An output may lie in the memory of an
 * input. Memory should be aligned to 64 bytes: what is not may be copied on the way. After an
 * error, the outputs may hold anything. */
FARCALL_C_API farcall_error* farcall_execute(const farcall_executable* executable,
                                             const void* const* inputs, size_t num_inputs,
                                             void* const* outputs, size_t num_outputs);

/* ---- handlers ----------------------------------------------------------------------------- */

/* Registers a handler of XLA's binary interface for ffi_call in programs. It must stay loaded. The
 * same handler again is no error, another one under a taken name is ALREADY_EXISTS. */
FARCALL_C_API farcall_error* farcall_register_handler(const char* name,
                                                      FARCALL_FFI_Handler* handler);
/* The program as such a handler, for this or another runtime; it stays for the life of the process.
 * See farcall/exchange/export_handler.h. */
FARCALL_C_API farcall_error* farcall_export_handler(const char* name,
                                                    const farcall_program* program,
                                                    FARCALL_FFI_Handler** handler);

#ifdef __cplusplus
}
#endif
