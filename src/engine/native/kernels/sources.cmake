# The kernels of the native engine.
set(FARCALL_NATIVE_KERNELS
  clusters/cluster.cpp
  clusters/cluster_code.cpp
  clusters/cluster_plan.cpp
  clusters/cluster_steps.cpp
  clusters/tile_load.cpp
  clusters/tile_memory.cpp
  clusters/tile_sizes.cpp
  elementwise/basic_unary.cpp
  elementwise/binary.cpp
  elementwise/compare.cpp
  elementwise/complex_math.cpp
  elementwise/convert.cpp
  elementwise/elementwise.cpp
  elementwise/math.cpp
  elementwise/narrow.cpp
  elementwise/remainder.cpp
  elementwise/select.cpp
  elementwise/ternary.cpp
  fourier/fft.cpp
  fourier/fourier.cpp
  meshes/collectives.cpp
  meshes/shard_map.cpp
  movement/shared_places.cpp
  movement/indexing.cpp
  movement/pad.cpp
  movement/scatter.cpp
  movement/slice_start.cpp
  movement/spaced.cpp
  movement/strided_copy.cpp
  movement/structural.cpp
  movement/take.cpp
  order/select_elements.cpp
  order/sort.cpp
  order/sort_words.cpp
  order/top_k.cpp
  products/byte_product.cpp
  products/complex_product.cpp
  products/convolution.cpp
  products/dot_general.cpp
  products/dots_beside.cpp
  products/matrix_product.cpp
  products/matrix_columns.cpp
  products/matrix_tile.cpp
  products/plain_product.cpp
  products/short_product.cpp
  random/random.cpp
  random/threefry.cpp
  reductions/arg_reduce.cpp
  reductions/cumulative.cpp
  reductions/extremes.cpp
  reductions/identity.cpp
  reductions/reduce.cpp
  reductions/reduce_window.cpp
  reductions/sum_floats.cpp
  reductions/windows.cpp
  special/bessel.cpp
  special/complex.cpp
  special/gamma.cpp
  special/incomplete.cpp
  special/normal.cpp
  table.cpp
  vector/erf.cpp
  vector/exp.cpp
  vector/fourier.cpp
  vector/fourier_memory.cpp
  vector/log.cpp
  vector/magnitudes.cpp
  vector/math.cpp
  vector/narrow.cpp
  vector/special.cpp
  vector/targets.cpp
  vector/trig.cpp)
list(TRANSFORM FARCALL_NATIVE_KERNELS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
# errno is not read, and setting it would make each square root a call. The compiler never fuses a product
# and a sum, so all instruction sets give the same bits. The precompiled header is compiled without these
# options.
foreach(file
    elementwise/complex_math elementwise/math vector/erf vector/exp vector/fourier
    vector/fourier_memory vector/log vector/magnitudes vector/special vector/trig)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/${file}.cpp PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS "-fno-math-errno;-ffp-contract=off")
endforeach()
foreach(file
    elementwise/basic_unary elementwise/binary elementwise/compare elementwise/convert elementwise/narrow elementwise/remainder
    elementwise/select elementwise/ternary fourier/fft movement/scatter order/sort order/top_k
    reductions/arg_reduce reductions/reduce)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/${file}.cpp PROPERTIES
    COMPILE_OPTIONS -ffp-contract=off)
endforeach()
# Many loops, each for many dtypes, which the compiler vectorizes. -O3 would also unroll what is left over
# after whole vectors: twice the code and the time to compile it, and no loop is faster.
set(FARCALL_NATIVE_COMPACT
  elementwise/basic_unary elementwise/binary elementwise/compare elementwise/complex_math elementwise/convert
  elementwise/narrow elementwise/select elementwise/ternary movement/scatter reductions/arg_reduce
  reductions/reduce reductions/reduce_window vector/fourier)
list(TRANSFORM FARCALL_NATIVE_COMPACT REPLACE "(.+)" "${CMAKE_CURRENT_LIST_DIR}/\\1.cpp")
set(FARCALL_COMPACT_OPTIONS -O2 -ftree-vectorize -fvect-cost-model=dynamic -funswitch-loops)
