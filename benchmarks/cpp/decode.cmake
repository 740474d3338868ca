# Decoding of a call frame, farcall's header against XLA's. FARCALL_XLA_HEADERS is a folder that holds
# <jaxlib version>/xla/ffi/api/*.h; without it there is nothing to compare with.
set(FARCALL_XLA_HEADERS "" CACHE PATH "Folder of XLA's published headers by jaxlib version; may be empty")
if(FARCALL_XLA_HEADERS)
  find_package(benchmark REQUIRED)
  # XLA's header warns of itself, so its file has a target of its own, without our warnings.
  add_library(decode_xla OBJECT ${CMAKE_CURRENT_LIST_DIR}/decode_xla.cpp)
  target_compile_features(decode_xla PRIVATE cxx_std_17)
  target_include_directories(decode_xla SYSTEM PRIVATE ${FARCALL_XLA_HEADERS}/0.12.0.1)
  target_compile_options(decode_xla PRIVATE -w)
  add_library(decode_own_xla OBJECT ${CMAKE_CURRENT_LIST_DIR}/decode_xla.cpp)
  target_link_libraries(decode_own_xla PRIVATE farcall_xla_handler)
  add_executable(decode_bench ${CMAKE_CURRENT_LIST_DIR}/decode_bench.cpp
    ${CMAKE_CURRENT_LIST_DIR}/decode_farcall.cpp $<TARGET_OBJECTS:decode_xla>
    $<TARGET_OBJECTS:decode_own_xla>)
  target_link_libraries(decode_bench PRIVATE farcall_options farcall_handler benchmark::benchmark)
endif()
