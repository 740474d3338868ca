// Device: where arrays lie and programs run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include <farcall/core/dlpack.h>
#include <farcall/core/export.h>
#include <farcall/core/shape_dtype.h>
#include <farcall/core/storage.h>

namespace farcall {

class Engine;

// Memory statistics of a device, in bytes.
struct DeviceMemory {
  int64_t bytes_in_use = 0, peak_bytes_in_use = 0, bytes_limit = 0;
};

// Created once by its engine; lives until the process ends. The first device is the host, where the
// native engine runs.
class FARCALL_API Device {
 public:
  struct Description {
    std::string
        platform;  // the platform of the handlers that its programs call, in canonical form: "cpu"
    std::string kind;       // the kind of hardware: "cpu"
    int id = 0;             // unique among the devices of the engine in all processes
    int process_index = 0;  // the process that owns it
  };

  // Adds the device to the list of the process. Raises RESOURCE_EXHAUSTED if the list is full.
  Device(const Engine& engine, Description description);
  virtual ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Engine& engine() const { return engine_; }
  const Description& description() const { return description_; }
  // The index in the list of the process; 0 is the host.
  unsigned number() const { return number_; }
  // Whether this is the host, whose memory needs no transfers.
  bool is_host() const { return number_ == 0; }
  // Whether the device belongs to this process. Devices of other processes only appear in meshes:
  // this process cannot allocate or run on them.
  bool is_addressable() const;
  // "cpu:0".
  std::string to_string() const;

  // Uninitialized memory for an array of this type. Raises RESOURCE_EXHAUSTED.
  virtual Storage allocate(ShapeDtype type) const = 0;
  // Copies an array from dense, row-major host memory to this device. The result may share `host`.
  virtual Storage from_host(ShapeDtype type, const Storage& host) const = 0;
  // Copies from another device; through host memory unless the engine has a direct way.
  virtual Storage from_device(ShapeDtype type, const Storage& other) const;
  // What DLPack calls the device; none if it is the host, or other libraries cannot share its
  // memory.
  virtual std::optional<DLDevice> dlpack_device() const;
  // An array in dense, row-major memory of another library on this device, which has a
  // dlpack_device(). Waits for the work on the device's default stream. Releases `owner` when the
  // array no longer needs the memory.
  virtual Storage from_library(ShapeDtype type, void* data,
                               std::shared_ptr<const void> owner) const;
  // Null if the device has no statistics.
  virtual std::optional<DeviceMemory> memory() const;

 protected:
  struct Host {};
  // For the host device, of which there is one.
  Device(const Engine& engine, Description description, Host);
  // Called when the process joins others, before it makes sharded arrays.
  void renumber(int id, int process_index);

 private:
  const Engine& engine_;
  Description description_;
  unsigned number_;
};

// The elements in host memory; waits for them. Returns `storage` itself if it is already there.
FARCALL_API Storage to_host(const Storage& storage);
// The elements on the device. Returns `storage` itself if it is already there.
FARCALL_API Storage to_device(const Device& device, ShapeDtype type, const Storage& storage);

// Whether the process has devices besides the host.
FARCALL_API bool has_other_devices();
// The host device.
FARCALL_API const Device& host_device();
inline const Device& device_of(const Storage& storage) {
  return storage.buffer() ? storage.buffer()->device() : host_device();
}

// Where programs run if no input is committed: the device chosen by DefaultDeviceScope or
// set_default_device, else the first device of the default engine.
FARCALL_API const Device& default_device();
FARCALL_API void set_default_device(const Device& device);

// Changes the default device of this thread during the scope. Scopes must be nested.
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
