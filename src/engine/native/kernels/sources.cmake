# The kernels of the native engine; they need cblas.h and a BLAS to link with.
set(FARCALL_NATIVE_KERNELS
  arg_reduce.cpp
  basic_unary.cpp
  binary.cpp
  compare.cpp
  convert.cpp
  convolution.cpp
  cumulative.cpp
  dot_general.cpp
  elementwise.cpp
  fft.cpp
  fourier.cpp
  indexing.cpp
  math.cpp
  matrix_product.cpp
  narrow.cpp
  reduce.cpp
  reduce_window.cpp
  scatter.cpp
  select.cpp
  sort.cpp
  special.cpp
  strided_copy.cpp
  structural.cpp
  table.cpp
  windows.cpp)
list(TRANSFORM FARCALL_NATIVE_KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
