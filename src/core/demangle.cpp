#include <farcall/core/demangle.h>

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace farcall {

std::string demangled(const std::string& symbol) {
  // Other names than those of C++ may be those of a type: "f" is float.
  if (!symbol.starts_with("_Z")) return symbol;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), std::free);
  return plain ? plain.get() : symbol;
}

}  // namespace farcall
