// Device: where arrays lie and programs run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>

namespace farcall {

class Engine;

// Bytes of a device's memory.
struct DeviceMemory {
  int64_t bytes_in_use = 0, peak_bytes_in_use = 0, bytes_limit = 0;
};

// Made by its engine, once; lives until the process ends. The first device is the host's memory,
// where the native engine runs.
class FARCALL_API Device {
 public:
  struct Description {
    std::string platform;   // whose handlers its programs call, in canonical form: "cpu"
    std::string kind;       // what the device is called
    int id = 0;             // among the devices of the engine, in all processes
    int process_index = 0;  // of the process that it belongs to
  };

  // Enters the list of devices. Raises RESOURCE_EXHAUSTED when it is full.
  Device(const Engine& engine, Description description);
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Engine& engine() const { return engine_; }
  const Description& description() const { return description_; }
  // In the list of the process; 0 is the host's.
  unsigned number() const { return number_; }
  // Whether the host reads and writes its memory, and arrays need no transfer to or from it.
  bool is_host() const { return number_ == 0; }
  // Whether it belongs to this process. Nothing lies or runs on another process's device; meshes
  // name it.
  bool is_addressable() const;
  // "cpu:0".
  std::string to_string() const;

  // Memory for an array of this type, whose elements are not set. Raises RESOURCE_EXHAUSTED.
  virtual Storage allocate(ShapeDtype type) const = 0;
  // An array's elements on this device; `host` is memory of the host, dense and row-major. What it
  // holds may be shared.
  virtual Storage from_host(ShapeDtype type, const Storage& host) const = 0;
  // The same from another device; by the host's memory unless an engine knows a shorter way.
  virtual Storage from_device(ShapeDtype type, const Storage& other) const;
  // Nothing where the device does not count.
  virtual std::optional<DeviceMemory> memory() const;

 protected:
  struct Host {};
  // The host's, of which there is one.
  Device(const Engine& engine, Description description, Host);
  // When the process joins others, before it makes arrays over meshes.
  void renumber(int id, int process_index);

 private:
  const Engine& engine_;
  Description description_;
  unsigned number_;
};

// The elements in the host's memory; waits for them. The storage itself where they are there.
FARCALL_API Storage to_host(const Storage& storage);
// The elements on the device; the storage itself where they are there.
FARCALL_API Storage to_device(const Device& device, ShapeDtype type, const Storage& storage);

// Whether the process knows of more devices than the host's.
FARCALL_API bool has_other_devices();
// The device of the host's memory.
FARCALL_API const Device& host_device();
inline const Device& device_of(const Storage& storage) {
  return storage.buffer() ? storage.buffer()->device() : host_device();
}

// Where programs run whose inputs name no device: the first device of the default engine, or what a
// call of set_default_device or a DefaultDeviceScope chose.
FARCALL_API const Device& default_device();
FARCALL_API void set_default_device(const Device& device);

// Another default on this thread. Scopes end in the reverse order of their beginning.
class FARCALL_API DefaultDeviceScope {
 public:
  explicit DefaultDeviceScope(const Device& device);
  ~DefaultDeviceScope();
  DefaultDeviceScope(const DefaultDeviceScope&) = delete;
  DefaultDeviceScope& operator=(const DefaultDeviceScope&) = delete;

 private:
  int previous_;
};

}  // namespace farcall
