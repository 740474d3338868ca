// numpy's C API, initialized once in numpy_dtypes.cpp.
#pragma once

// Treats numpy's headers like system headers, without warnings.
#pragma GCC system_header

#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL farcall_numpy_api
#ifndef FARCALL_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
