// The part of the PJRT C interface that the engine uses: a table of functions, each taking one
// struct. Fields and functions are only ever appended (versions 0.81 to 0.117); `struct_size` tells
// the plugin which fields its caller knows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace farcall::pjrt {

// Opaque objects of the plugin.
struct CError;
struct CClient;
struct CDevice;
struct CDeviceDescription;
struct CBuffer;
struct CEvent;
struct CExecutable;
struct CLoadedExecutable;
struct CExecuteContext;

struct CExtension {
  size_t struct_size;
  int type;
  CExtension* next;
};
inline constexpr int kGpuExtension = 0;
inline constexpr int kFfiExtension = 5;

// Every argument struct begins with these fields. `kFunction` is the function's index in the table,
// `kName` its name in messages.
struct CHeader {
  size_t struct_size;
  CExtension* extension_start;
};

struct CApi {
  size_t struct_size;
  CExtension* extension_start;
  struct {
    size_t struct_size;
    CExtension* extension_start;
    int major, minor;
  } version;
  void* functions[1];  // as many as struct_size says
};
using GetApi = const CApi*();

#define FARCALL_PJRT_ARGS(Name, number, ...)    \
  struct Name : CHeader {                       \
    static constexpr size_t kFunction = number; \
    static constexpr const char* kName = #Name; \
    __VA_ARGS__                                 \
  }

FARCALL_PJRT_ARGS(ErrorDestroy, 0, CError* error;);
FARCALL_PJRT_ARGS(ErrorMessage, 1, const CError* error; const char* message; size_t size;);
FARCALL_PJRT_ARGS(ErrorGetCode, 2, const CError* error; int code;);
FARCALL_PJRT_ARGS(PluginInitialize, 3);

FARCALL_PJRT_ARGS(EventDestroy, 5, CEvent* event;);
FARCALL_PJRT_ARGS(EventIsReady, 6, CEvent* event; bool is_ready;);
FARCALL_PJRT_ARGS(EventAwait, 8, CEvent* event;);
// The callback owns the error that it gets.
FARCALL_PJRT_ARGS(EventOnReady, 9, CEvent* event; void (*callback)(CError*, void*); void* user;);

struct CNamedValue : CHeader {
  enum Kind : int { kString = 0, kInt64 = 1, kInt64List = 2, kFloat = 3, kBool = 4 };
  const char* name;
  size_t name_size;
  Kind kind;
  union {
    const char* string_value;
    int64_t int64_value;
    float float_value;
    bool bool_value;
  };
  size_t value_size;
};

// A key-value store that the processes of a job share. The plugin calls these functions from any
// thread; it frees values that they return by `free_value`. They return an error that `*make_error`
// made, or null.
using CMakeError = CError* (*)(int code, const char* message, size_t message_size);
struct CStoreGet : CHeader {
  const char* key;
  size_t key_size;
  int timeout_ms;
  CMakeError* make_error;
  void* user;
  char* value;
  size_t value_size;
  void (*free_value)(char*);
};
struct CStoreTryGet : CHeader {
  const char* key;
  size_t key_size;
  CMakeError* make_error;
  void* user;
  char* value;
  size_t value_size;
  void (*free_value)(char*);
};
struct CStorePut : CHeader {
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  CMakeError* make_error;
  void* user;
};
FARCALL_PJRT_ARGS(ClientCreate, 10, const CNamedValue* options; size_t num_options;
                  CError * (*get)(CStoreGet*); void* get_user; CError * (*put)(CStorePut*);
                  void* put_user; CClient * client; CError * (*try_get)(CStoreTryGet*);
                  void* try_get_user;);
FARCALL_PJRT_ARGS(ClientPlatformName, 12, CClient* client; const char* name; size_t size;);
FARCALL_PJRT_ARGS(ClientAddressableDevices, 16, CClient* client; CDevice* const* devices;
                  size_t num_devices;);

struct CProgram : CHeader {
  char* code;
  size_t code_size;
  const char* format;
  size_t format_size;
};
FARCALL_PJRT_ARGS(ClientCompile, 20, CClient* client; const CProgram* program; const char* options;
                  size_t options_size; CLoadedExecutable * executable;);

enum class HostBufferSemantics : int {
  kOnlyDuringCall = 0,
  kUntilTransferCompletes = 1,
  kImmutableZeroCopy = 2,
};
FARCALL_PJRT_ARGS(BufferFromHostBuffer, 22, CClient* client; const void* data; int type;
                  const int64_t* dims; size_t num_dims; const int64_t* byte_strides;
                  size_t num_byte_strides; HostBufferSemantics semantics; CDevice * device;
                  void* memory; void* device_layout; CEvent * done_with_host_buffer;
                  CBuffer * buffer;);

FARCALL_PJRT_ARGS(DeviceDescriptionId, 23, CDeviceDescription* description; int id;);
FARCALL_PJRT_ARGS(DeviceDescriptionKind, 26, CDeviceDescription* description; const char* kind;
                  size_t size;);
FARCALL_PJRT_ARGS(DeviceGetDescription, 29, CDevice* device; CDeviceDescription * description;);

FARCALL_PJRT_ARGS(ExecutableDestroy, 40, CExecutable* executable;);
FARCALL_PJRT_ARGS(LoadedExecutableDestroy, 50, CLoadedExecutable* executable;);
FARCALL_PJRT_ARGS(LoadedExecutableGetExecutable, 51, CLoadedExecutable* loaded;
                  CExecutable * executable;);

struct CExecuteOptions : CHeader {
  void* send_callbacks;
  void* recv_callbacks;
  size_t num_send_ops;
  size_t num_recv_ops;
  int launch_id;
  const int64_t* non_donatable_input_indices;
  size_t num_non_donatable_input_indices;
  CExecuteContext* context;
  const char* call_location;
  size_t num_tasks;
  int* task_ids;
  int64_t* incarnation_ids;
};
FARCALL_PJRT_ARGS(LoadedExecutableExecute, 55, CLoadedExecutable* executable;
                  CExecuteOptions * options; CBuffer* const* const* argument_lists;
                  size_t num_devices; size_t num_args; CBuffer * * const* output_lists;
                  CEvent * *device_complete_events; CDevice * execute_device;);

FARCALL_PJRT_ARGS(BufferDestroy, 58, CBuffer* buffer;);
FARCALL_PJRT_ARGS(BufferToHostBuffer, 70, CBuffer* source; void* host_layout; void* target;
                  size_t target_size; CEvent * event;);
FARCALL_PJRT_ARGS(BufferReadyEvent, 72, CBuffer* buffer; CEvent * event;);
FARCALL_PJRT_ARGS(BufferUnsafePointer, 73, CBuffer* buffer; uintptr_t pointer;);

FARCALL_PJRT_ARGS(BufferOpaqueDeviceMemoryDataPointer, 76, CBuffer* buffer; void* pointer;);
FARCALL_PJRT_ARGS(ClientCreateViewOfDeviceBuffer, 93, CClient* client; void* data;
                  const int64_t* dims; size_t num_dims; int type; void* layout; CDevice * device;
                  void (*on_delete)(void* data, void* user); void* user; intptr_t stream;
                  CBuffer * buffer; void* memory;);
FARCALL_PJRT_ARGS(ExecutableGetCompiledMemoryStats, 96, CExecutable* executable;
                  int64_t generated_code_bytes; int64_t argument_bytes; int64_t output_bytes;
                  int64_t alias_bytes; int64_t temp_bytes; int64_t host_bytes[5];
                  int64_t peak_bytes;);

// What an execution offers to the handlers that it calls.
FARCALL_PJRT_ARGS(ExecuteContextCreate, 98, CExecuteContext* context;);
FARCALL_PJRT_ARGS(ExecuteContextDestroy, 99, CExecuteContext* context;);

#undef FARCALL_PJRT_ARGS

struct CFfiRegisterHandler {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  void* handler;
  const char* platform_name;
  size_t platform_name_size;
  uint32_t traits;
};
// The data must outlive the context; a deleter is optional.
struct CFfiUserDataAdd : CHeader {
  CExecuteContext* context;
  int64_t type_id;
  void* data;
  void (*deleter)(void* data);
};
struct CFfiExtension : CExtension {
  void* type_register;
  CError* (*user_data_add)(CFfiUserDataAdd* args);
  CError* (*register_handler)(CFfiRegisterHandler* args);
};

// Registers handlers with a GPU plugin. Version 0 is an untyped function.
struct CGpuRegisterCustomCall {
  size_t struct_size;
  const char* target_name;
  size_t target_name_size;
  int api_version;
  void* instantiate;
  void* prepare;
  void* initialize;
  void* execute;
};
struct CGpuExtension : CExtension {
  CError* (*register_custom_call)(CGpuRegisterCustomCall* args);
};

}  // namespace farcall::pjrt
