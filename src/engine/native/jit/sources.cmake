# Loops as machine code, which the assembler, a library of headers, makes for x86-64 alone.
set(FARCALL_NATIVE_ASSEMBLER)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  find_path(FARCALL_XBYAK_INCLUDE_DIR xbyak/xbyak.h)
  mark_as_advanced(FARCALL_XBYAK_INCLUDE_DIR)
  if(NOT FARCALL_XBYAK_INCLUDE_DIR)
    message(FATAL_ERROR "Machine code for loops needs the headers of xbyak: apt-get install libxbyak-dev")
  endif()
  set(FARCALL_NATIVE_ASSEMBLER
    native/jit/encode.cpp
    native/jit/encode_avx2.cpp
    native/jit/encode_avx512.cpp
    native/jit/encode_general.cpp
    native/jit/encode_vector.cpp)
endif()
set(FARCALL_NATIVE_JIT
  ${FARCALL_NATIVE_ASSEMBLER}
  native/jit/allocate.cpp
  native/jit/builder.cpp
  native/jit/calls.cpp
  native/jit/complex_parts.cpp
  native/jit/elementwise.cpp
  native/jit/elements.cpp
  native/jit/half_floats.cpp
  native/jit/indexing.cpp
  native/jit/jit_loops.cpp
  native/jit/loop_code.cpp
  native/jit/lower.cpp
  native/jit/lower_loops.cpp
  native/jit/memory.cpp
  native/jit/packing.cpp
  native/jit/places.cpp
  native/jit/products.cpp
  native/jit/quotients.cpp
  native/jit/tiles.cpp
  native/jit/vector_functions.cpp)
if(NOT FARCALL_NATIVE_ASSEMBLER)
  list(APPEND FARCALL_NATIVE_JIT native/jit/no_encode.cpp)
endif()
