// Names of devices in messages.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <farcall/program/device.h>

namespace farcall {

// "cpu:0", "cpu:0, cpu:1".
inline std::string device_names(std::vector<const Device*> devices) {
  std::ranges::sort(devices, {}, &Device::number);
  std::string text;
  for (const Device* device : devices) text += (text.empty() ? "" : ", ") + device->to_string();
  return text;
}

}  // namespace farcall
