# Compile options that every target of this project shares.
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Clang notes the times of headers in a precompiled header, so one from a compiler cache would be out of date.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  set(CMAKE_CXX_FLAGS "${CMAKE_CXX_FLAGS} -Xclang -fno-pch-timestamp")
endif()

add_library(farcall_options INTERFACE)
target_compile_features(farcall_options INTERFACE cxx_std_20)
target_compile_options(farcall_options INTERFACE -Wall -Wextra -Wno-missing-field-initializers)
# GCC 12 sees overlaps in the standard library's strings that are not there (its bug 105651).
target_compile_options(farcall_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Functions that the library exports can be inlined within it: nothing replaces them at run time.
target_compile_options(farcall_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-fno-semantic-interposition>)
# Calls of other libraries read the address where it is: no stub, which is one more line of cold memory.
target_compile_options(farcall_options INTERFACE -fno-plt)
if(FARCALL_WERROR)
  target_compile_options(farcall_options INTERFACE -Werror)
endif()
if(FARCALL_SANITIZE)
  # The address sanitizer sees what is left out by itself, and each check costs compile time.
  target_compile_options(farcall_options INTERFACE
    -fsanitize=${FARCALL_SANITIZE} -fno-sanitize=null,object-size
    -fno-omit-frame-pointer -fno-sanitize-recover=all
    # Handlers name the structures of the interface as their own header does.
    $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  target_link_options(farcall_options INTERFACE -fsanitize=${FARCALL_SANITIZE})
endif()

# farcall_unity(<target> [EXCEPT <file>…])
#
# Compiles the sources of the target some at a time, for headers cost the most: with twenty, a build from
# scratch takes a seventh less than with five, and one after a change of one file some seconds more. Names in
# unnamed namespaces have to be unique within the target.
option(FARCALL_UNITY "Compile several sources of a library at a time" ON)
set(FARCALL_UNITY_SIZE 20 CACHE STRING "How many of them")
mark_as_advanced(FARCALL_UNITY_SIZE)
function(farcall_unity target)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${FARCALL_UNITY} UNITY_BUILD_BATCH_SIZE ${FARCALL_UNITY_SIZE})
  if(ARG_EXCEPT)
    set_source_files_properties(${ARG_EXCEPT} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()
