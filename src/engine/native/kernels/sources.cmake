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
  matrix_tile.cpp
  narrow.cpp
  random.cpp
  reduce.cpp
  reduce_window.cpp
  scatter.cpp
  select.cpp
  sort.cpp
  special_bessel.cpp
  special_complex.cpp
  special_gamma.cpp
  special_incomplete.cpp
  special_normal.cpp
  strided_copy.cpp
  structural.cpp
  sum_floats.cpp
  table.cpp
  ternary.cpp
  threefry.cpp
  windows.cpp)
list(TRANSFORM FARCALL_NATIVE_KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# Nobody reads errno, and to set it would make a call of each square root. The precompiled header is
# made without this option.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/math.cpp PROPERTIES
  SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -fno-math-errno)
