// "full", "same" or "valid", for the functions of farcall.numpy and farcall.scipy.signal.
#pragma once

#include <farcall/numpy/products.h>

#include "bound_function.h"

namespace farcall::python {

template <>
struct Argument<numpy::ConvolveMode> {
  static numpy::ConvolveMode from(nb::handle object, ArgumentPlace place) {
    return static_cast<numpy::ConvolveMode>(
        index_of_word(object, place, {"full", "same", "valid"}));
  }
};

}  // namespace farcall::python
