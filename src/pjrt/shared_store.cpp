#include "pjrt/shared_store.h"

#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <farcall/core/error.h>

namespace farcall::pjrt {
namespace {

template <class Args>
std::string key_of(const Args& args) {
  return "pjrt/" + std::string(args.key, args.key_size);
}

template <class Args>
CError* error(const Args& args, ErrorCode code, std::string_view message) {
  return (*args.make_error)(static_cast<int>(code), message.data(), message.size());
}

// Runs the work; what it raises becomes an error of the plugin, for no exception may pass through
// its code.
template <class Args, class Work>
CError* guarded(const Args& args, const Work& work) {
  try {
    return work(*static_cast<Processes*>(args.user));
  } catch (const Error& raised) {
    return error(args, raised.code(), raised.what());
  } catch (const std::exception& raised) {
    return error(args, ErrorCode::kInternal, raised.what());
  } catch (...) {
    return error(args, ErrorCode::kCancelled, "interrupted");
  }
}

template <class Args>
CError* get_within(Args& args, double seconds, ErrorCode if_missing) {
  return guarded(args, [&](Processes& job) -> CError* {
    const std::optional<std::string> value = job.get(key_of(args), seconds);
    if (!value) {
      return error(args, if_missing,
                   fmt::format("no process has put key \"{}\" within {} s",
                               std::string_view(args.key, args.key_size), seconds));
    }
    args.value = new char[value->size() + 1];
    std::memcpy(args.value, value->c_str(), value->size() + 1);
    args.value_size = value->size();
    args.free_value = [](char* given) { delete[] given; };
    return nullptr;
  });
}

CError* get(CStoreGet* args) {
  return get_within(*args, args->timeout_ms / 1e3, ErrorCode::kDeadlineExceeded);
}

CError* try_get(CStoreTryGet* args) { return get_within(*args, 0, ErrorCode::kNotFound); }

CError* put(CStorePut* args) {
  return guarded(*args, [&](Processes& job) -> CError* {
    job.put(key_of(*args), {args->value, args->value_size});
    return nullptr;
  });
}

}  // namespace

void share_store(Processes& job, ClientCreate& args) {
  args.get = get;
  args.put = put;
  args.try_get = try_get;
  args.get_user = args.put_user = args.try_get_user = &job;
}

}  // namespace farcall::pjrt
