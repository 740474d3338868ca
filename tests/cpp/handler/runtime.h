// A small runtime for tests, with one function table for each interface version. Each table has the
// length, and reads arguments in the layout, of that version.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <farcall/ffi.h>

struct FARCALL_FFI_Error {
  FARCALL_FFI_Error_Code code;
  std::string message;
};

struct FARCALL_FFI_Future {
  std::atomic<bool> is_done{false};
  FARCALL_FFI_Error* error = nullptr;
};

struct FARCALL_FFI_ExecutionContext {
  struct StateEntry {
    int64_t type_id = 0;
    void* object = nullptr;
    void (*deleter)(void*) = nullptr;
  };

  void* stream = nullptr;  // null: no stream
  int32_t device_ordinal = 3;
  int64_t run_id = 77;
  int64_t num_threads = 0;  // 0: no pool
  bool out_of_memory = false;
  bool refuses_state = false;
  int64_t user_data_type = 0;
  void* user_data = nullptr;
  const FARCALL_FFI_Extension* extension = nullptr;
  const FARCALL_FFI_Attrs* custom_options = nullptr;
  std::map<int, StateEntry> states;                  // by stage
  std::vector<std::pair<size_t, size_t>> allocated;  // size and alignment
  std::vector<size_t> freed;
  std::vector<std::thread> threads;
  bool holds_tasks = false;  // tasks wait in `held` for run_held()
  std::vector<std::pair<FARCALL_FFI_Task*, void*>> held;
  std::deque<FARCALL_FFI_Future> futures;

  void join() {
    for (std::thread& thread : threads) thread.join();
    threads.clear();
  }
  void run_held() {
    for (auto [task, data] : held) task(data);
    held.clear();
  }
  ~FARCALL_FFI_ExecutionContext() {
    join();
    for (auto& [stage, state] : states) {
      if (state.deleter) state.deleter(state.object);
    }
  }
};

namespace farcall::ffi::testing {

inline int live_errors = 0;

inline FARCALL_FFI_Error* make(FARCALL_FFI_Error_Code code, std::string message) {
  ++live_errors;
  return new FARCALL_FFI_Error{code, std::move(message)};
}

// The registered types; their deleters since version 0.2.
struct TypeTable {
  std::map<std::string, int64_t> ids;
  std::map<int64_t, void (*)(void*)> deleters;
};

template <int minor>
struct Runtime {
  static TypeTable& types() {
    static TypeTable table;
    return table;
  }

  static FARCALL_FFI_Error* register_type(FARCALL_FFI_Type_Register_Args* args) {
    TypeTable& table = types();
    std::string name(args->name.ptr, args->name.len);
    if (table.ids.count(name)) return make(FARCALL_FFI_Error_Code_ALREADY_EXISTS, "type: " + name);
    // Ids start at a different number for each version, so that ids of another runtime are foreign.
    const auto id = static_cast<int64_t>(100 * (minor + 1) + static_cast<int>(table.ids.size()));
    table.ids[name] = id;
    args->type_id->type_id = id;
    if (minor >= 2) table.deleters[id] = args->type_info->deleter;
    return nullptr;
  }

  static FARCALL_FFI_Error* keep(FARCALL_FFI_ExecutionContext* ctx, int stage, int64_t type_id,
                                 void* object, void (*deleter)(void*)) {
    if (ctx->refuses_state) return make(FARCALL_FFI_Error_Code_ABORTED, "no state today");
    ctx->states[stage] = {type_id, object, deleter};
    return nullptr;
  }

  static FARCALL_FFI_Error* set_state(FARCALL_FFI_State_Set_Args* args) {
    if (minor >= 3) {
      if (args->struct_size != 48) return make(FARCALL_FFI_Error_Code_INTERNAL, "State_Set size");
      const int64_t id = args->type_id->type_id;
      return keep(args->ctx, args->stage, id, args->state, types().deleters.at(id));
    }
    auto* old = reinterpret_cast<FARCALL_FFI_State_Set_Args_0_1*>(args);
    const int64_t id = old->type_id->type_id;
    if (old->struct_size != (minor == 2 ? 40 : 48)) {
      return make(FARCALL_FFI_Error_Code_INTERNAL, "State_Set size");
    }
    return keep(old->ctx, 0, id, old->state, minor == 2 ? types().deleters.at(id) : old->deleter);
  }

  static FARCALL_FFI_Error* find(FARCALL_FFI_ExecutionContext* ctx, int stage, int64_t type_id,
                                 void*& object) {
    auto found = ctx->states.find(stage);
    if (found == ctx->states.end()) return make(FARCALL_FFI_Error_Code_NOT_FOUND, "no state");
    if (found->second.type_id != type_id) {
      return make(FARCALL_FFI_Error_Code_INVALID_ARGUMENT, "state of another type");
    }
    object = found->second.object;
    return nullptr;
  }

  static FARCALL_FFI_Error* get_state(FARCALL_FFI_State_Get_Args* args) {
    if (minor >= 3) return find(args->ctx, args->stage, args->type_id->type_id, args->state);
    auto* old = reinterpret_cast<FARCALL_FFI_State_Get_Args_0_1*>(args);
    if (old->struct_size != 40) return make(FARCALL_FFI_Error_Code_INTERNAL, "State_Get size");
    return find(old->ctx, 0, old->type_id->type_id, old->state);
  }

  static FARCALL_FFI_Error* schedule(FARCALL_FFI_ThreadPool_Schedule_Args* args) {
    if (args->ctx->num_threads == 0) return make(FARCALL_FFI_Error_Code_UNIMPLEMENTED, "no pool");
    if (args->ctx->holds_tasks) {
      args->ctx->held.emplace_back(args->task, args->data);
    } else {
      args->ctx->threads.emplace_back(args->task, args->data);
    }
    return nullptr;
  }

  static FARCALL_FFI_Api make_api() {
    FARCALL_FFI_Api api = {};
    constexpr size_t kEnds[] = {
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, DeviceMemory_Free),
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, DeviceOrdinal_Get),
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, DeviceOrdinal_Get),
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, DeviceOrdinal_Get),
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, ExecutionContext_FindExtension),
        FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_Api, CustomOptions_Get)};
    api.struct_size = kEnds[minor];
    api.api_version = {sizeof(FARCALL_FFI_Api_Version), nullptr, 0, minor};
    api.Error_Create = [](FARCALL_FFI_Error_Create_Args* args) {
      return make(args->errc, args->message);
    };
    api.Error_GetDetails = [](FARCALL_FFI_Error_GetDetails_Args* args) {
      args->message = args->error->message.c_str();
      if (minor >= 4) args->errc = args->error->code;
    };
    api.Error_Destroy = [](FARCALL_FFI_Error_Destroy_Args* args) {
      --live_errors;
      delete args->error;
    };
    api.Stream_Get = [](FARCALL_FFI_Stream_Get_Args* args) -> FARCALL_FFI_Error* {
      if (args->ctx->stream == nullptr) {
        return make(FARCALL_FFI_Error_Code_UNIMPLEMENTED, "there is no stream on this device");
      }
      args->stream = args->ctx->stream;
      return nullptr;
    };
    api.Type_Register = &register_type;
    api.ExecutionContext_Get =
        [](FARCALL_FFI_ExecutionContext_Get_Args* args) -> FARCALL_FFI_Error* {
      if (args->ctx->user_data_type != args->type_id->type_id) {
        return make(FARCALL_FFI_Error_Code_NOT_FOUND, "no such user data");
      }
      args->data = args->ctx->user_data;
      return nullptr;
    };
    api.State_Set = &set_state;
    api.State_Get = &get_state;
    api.DeviceMemory_Allocate =
        [](FARCALL_FFI_DeviceMemory_Allocate_Args* args) -> FARCALL_FFI_Error* {
      if (args->ctx->out_of_memory) return make(FARCALL_FFI_Error_Code_RESOURCE_EXHAUSTED, "full");
      args->ctx->allocated.emplace_back(args->size, args->alignment);
      args->data = new char[args->size];
      return nullptr;
    };
    api.DeviceMemory_Free = [](FARCALL_FFI_DeviceMemory_Free_Args* args) -> FARCALL_FFI_Error* {
      args->ctx->freed.push_back(args->size);
      delete[] static_cast<char*>(args->data);
      return nullptr;
    };
    api.ThreadPool_Schedule = &schedule;
    api.ThreadPool_NumThreads =
        [](FARCALL_FFI_ThreadPool_NumThreads_Args* args) -> FARCALL_FFI_Error* {
      *args->num_threads = args->ctx->num_threads;
      return nullptr;
    };
    api.Future_Create = [](FARCALL_FFI_Future_Create_Args* args) -> FARCALL_FFI_Error* {
      args->future = new FARCALL_FFI_Future;
      return nullptr;
    };
    api.Future_SetAvailable = [](FARCALL_FFI_Future_SetAvailable_Args* args) -> FARCALL_FFI_Error* {
      args->future->is_done = true;
      return nullptr;
    };
    api.Future_SetError = [](FARCALL_FFI_Future_SetError_Args* args) -> FARCALL_FFI_Error* {
      args->future->error = args->error;
      args->future->is_done = true;
      return nullptr;
    };
    api.RunId_Get = [](FARCALL_FFI_RunId_Get_Args* args) -> FARCALL_FFI_Error* {
      args->run_id = args->ctx->run_id;
      return nullptr;
    };
    api.DeviceOrdinal_Get = [](FARCALL_FFI_DeviceOrdinal_Get_Args* args) -> FARCALL_FFI_Error* {
      args->device_ordinal = args->ctx->device_ordinal;
      return nullptr;
    };
    api.ExecutionContext_FindExtension =
        [](FARCALL_FFI_ExecutionContext_FindExtension_Args* args) -> FARCALL_FFI_Error* {
      const FARCALL_FFI_Extension* extension = args->ctx->extension;
      if (extension && extension->id.extension_type == args->extension_type) {
        args->extension = extension;
      }
      return nullptr;
    };
    api.CustomOptions_Get = [](FARCALL_FFI_CustomOptions_Get_Args* args) -> FARCALL_FFI_Error* {
      args->attrs = args->ctx->custom_options;
      return nullptr;
    };
    return api;
  }

  static const FARCALL_FFI_Api* api() {
    static const FARCALL_FFI_Api table = make_api();
    return &table;
  }
};

inline const FARCALL_FFI_Api* api_of(int minor) {
  const FARCALL_FFI_Api* tables[] = {Runtime<0>::api(), Runtime<1>::api(), Runtime<2>::api(),
                                     Runtime<3>::api(), Runtime<4>::api(), Runtime<5>::api()};
  return tables[minor];
}

}  // namespace farcall::ffi::testing
