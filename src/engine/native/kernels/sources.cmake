# The kernels of the native engine. They need cblas.h and a BLAS library.
set(FARCALL_NATIVE_KERNELS
  arg_reduce.cpp
  basic_unary.cpp
  binary.cpp
  cluster.cpp
  cluster_plan.cpp
  collectives.cpp
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
  shard_map.cpp
  sort.cpp
  sort_words.cpp
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
  tile_load.cpp
  top_k.cpp
  vector_erf.cpp
  vector_exp.cpp
  vector_fourier.cpp
  vector_log.cpp
  vector_math.cpp
  vector_narrow.cpp
  vector_targets.cpp
  vector_trig.cpp
  windows.cpp)
list(TRANSFORM FARCALL_NATIVE_KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# errno is not read, and setting it would make each square root a call. The compiler never fuses a product
# and a sum, so all instruction sets give the same bits. The precompiled header is compiled without these
# options.
foreach(file math vector_erf vector_exp vector_fourier vector_log vector_trig)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/${file}.cpp PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-fno-math-errno;-ffp-contract=off")
endforeach()
foreach(file arg_reduce basic_unary binary compare convert fft narrow reduce scatter select sort ternary top_k)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/${file}.cpp PROPERTIES
    COMPILE_OPTIONS -ffp-contract=off)
endforeach()
