// A plugin whose client uses the key-value store of a job of two processes, as clients of GPUs over
// several hosts do. Such hardware cannot be tested everywhere, and plugins for CPUs use no store.
// Creating the client ends with an error that says what was read. The structs are declared here
// again, from the interface (version 0.81), and not taken from the engine.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace {

struct Fault {
  int code;
  std::string message;
};
struct Begin {
  size_t struct_size;
  void* extension_start;
};
struct DestroyArgs : Begin {
  Fault* error;
};
struct MessageArgs : Begin {
  const Fault* error;
  const char* message;
  size_t size;
};
struct CodeArgs : Begin {
  const Fault* error;
  int code;
};
struct NamedValue : Begin {
  const char* name;
  size_t name_size;
  int type;
  union {
    const char* text;
    int64_t number;
  };
  size_t value_size;
};
using MakeError = Fault* (*)(int code, const char* message, size_t size);
struct GetArgs : Begin {
  const char* key;
  size_t key_size;
  int timeout_in_ms;
  MakeError* make_error;
  void* user;
  char* value;
  size_t value_size;
  void (*deleter)(char*);
};
struct TryGetArgs : Begin {
  const char* key;
  size_t key_size;
  MakeError* make_error;
  void* user;
  char* value;
  size_t value_size;
  void (*deleter)(char*);
};
struct PutArgs : Begin {
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;
  MakeError* make_error;
  void* user;
};
struct CreateArgs : Begin {
  const NamedValue* options;
  size_t num_options;
  Fault* (*get)(GetArgs*);
  void* get_user;
  Fault* (*put)(PutArgs*);
  void* put_user;
  void* client;
  Fault* (*try_get)(TryGetArgs*);
  void* try_get_user;
};

Fault* fault(int code, std::string message) { return new Fault{code, std::move(message)}; }
Fault* make_error(int code, const char* message, size_t size) {
  return fault(code, std::string(message, size));
}
MakeError maker = make_error;

// What a function of the store returned: a value, or a code and its message.
template <class Args>
std::string told(Fault* error, const Args& args) {
  if (error) {
    std::string text = "error " + std::to_string(error->code) + " " + error->message;
    delete error;
    return text;
  }
  std::string value(args.value, args.value_size);
  args.deleter(args.value);
  return std::to_string(value.size()) + " times " + value.substr(0, 1);
}

std::string get(const CreateArgs& client, std::string_view key, int timeout_in_ms) {
  GetArgs args{};
  args.key = key.data();
  args.key_size = key.size();
  args.timeout_in_ms = timeout_in_ms;
  args.make_error = &maker;
  args.user = client.get_user;
  return told(client.get(&args), args);
}

std::string try_get(const CreateArgs& client, std::string_view key) {
  TryGetArgs args{};
  args.key = key.data();
  args.key_size = key.size();
  args.make_error = &maker;
  args.user = client.try_get_user;
  return told(client.try_get(&args), args);
}

void put(const CreateArgs& client, std::string_view key, std::string_view value) {
  PutArgs args{};
  args.key = key.data();
  args.key_size = key.size();
  args.value = value.data();
  args.value_size = value.size();
  args.make_error = &maker;
  args.user = client.put_user;
  delete client.put(&args);
}

Fault* create_client(CreateArgs* args) {
  constexpr int kInvalidArgument = 3, kFailedPrecondition = 9;
  int64_t node = -1, count = -1;
  for (size_t i = 0; i < args->num_options; ++i) {
    const std::string_view name(args->options[i].name, args->options[i].name_size);
    if (name == "node_id") {
      node = args->options[i].number;
    } else if (name == "num_nodes") {
      count = args->options[i].number;
    } else {
      return fault(kInvalidArgument, "unknown option");
    }
  }
  if (!args->get) return fault(kFailedPrecondition, "there is no store");
  const auto key = [](int64_t number) { return "node/" + std::to_string(number); };
  const std::string before = try_get(*args, "nobody's");
  put(*args, key(node), std::string(20000, static_cast<char>('a' + node)));
  const std::string other = get(*args, key(1 - node), 20000);
  const std::string again = try_get(*args, key(1 - node));
  const std::string never = get(*args, "nobody's", 20);
  return fault(kFailedPrecondition, "node " + std::to_string(node) + " of " +
                                        std::to_string(count) + ": " + before + "; " + other +
                                        "; " + again + "; " + never);
}

Fault* message_of(MessageArgs* args) {
  args->message = args->error->message.data();
  args->size = args->error->message.size();
  return nullptr;
}
Fault* code_of(CodeArgs* args) {
  args->code = args->error->code;
  return nullptr;
}
Fault* destroy(DestroyArgs* args) {
  delete args->error;
  return nullptr;
}
Fault* initialize(Begin*) { return nullptr; }
Fault* unused(Begin*) { return fault(12, "this plugin only creates clients"); }

struct Api : Begin {
  struct : Begin {
    int major = 0, minor = 81;
  } version;
  void* functions[120];
};

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* GetPjrtApi() {
  static const Api* const api = [] {
    auto* made = new Api{};
    made->struct_size = sizeof(Api);
    for (void*& function : made->functions) function = reinterpret_cast<void*>(unused);
    made->functions[0] = reinterpret_cast<void*>(destroy);
    made->functions[1] = reinterpret_cast<void*>(message_of);
    made->functions[2] = reinterpret_cast<void*>(code_of);
    made->functions[3] = reinterpret_cast<void*>(initialize);
    made->functions[10] = reinterpret_cast<void*>(create_client);
    return made;
  }();
  return api;
}
