# The tests of the native engine's kernels; they see src/engine and src/core.
set(FARCALL_KERNEL_TESTS
  kernel_testing.cpp
  kernels_corners_test.cpp
  kernels_indexing_test.cpp
  kernels_lines_test.cpp
  kernels_reduce_test.cpp
  kernels_structural_test.cpp
  kernels_test.cpp)
list(TRANSFORM FARCALL_KERNEL_TESTS PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
