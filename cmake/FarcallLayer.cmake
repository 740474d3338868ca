# farcall_layer(<name> SOURCES … [USES <layer>…] [LIBRARIES <target>…] [ALONE <file>…] [HOT <file>…] [ALL_HOT])
#
# Adds the object library farcall_<name>. A layer sees its own headers, src/<name>/x.h as "<name>/x.h",
# and of the layers that it USES the public ones, include/farcall/<layer>/x.h as <farcall/<layer>/x.h>,
# and those for other layers, src/<layer>/internal/x.h as "<layer>/internal/x.h"; any other include
# finds no file. The include roots are folders of links in the build tree, two for each layer; tests
# see the private root as well. ALONE names sources that are compiled by themselves (farcall_unity).
# HOT names those that run for each call or each element, ALL_HOT means all; HOT ones are compiled by
# themselves too.
function(farcall_layer name)
  cmake_parse_arguments(ARG "ALL_HOT" "" "SOURCES;USES;LIBRARIES;ALONE;HOT" ${ARGN})
  set(root ${PROJECT_BINARY_DIR}/layers/${name})
  set(private_root ${PROJECT_BINARY_DIR}/layers/private/${name})
  file(MAKE_DIRECTORY ${root}/farcall ${root}/${name} ${private_root})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/farcall/${name} ${root}/farcall/${name} SYMBOLIC)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name}/internal ${root}/${name}/internal SYMBOLIC)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/src/${name} ${private_root}/${name} SYMBOLIC)

  add_library(farcall_${name} OBJECT ${ARG_SOURCES})
  target_include_directories(farcall_${name} PRIVATE ${private_root} PUBLIC ${root})
  list(TRANSFORM ARG_USES PREPEND farcall_)
  target_link_libraries(farcall_${name} PUBLIC farcall_options ${ARG_USES} ${ARG_LIBRARIES})
  target_compile_definitions(farcall_${name} PRIVATE FARCALL_BUILDING)
  # Kernels gain from -O3. What is not hot runs once per program, from cold memory, and gains from
  # being small.
  target_compile_options(farcall_${name} PRIVATE $<$<CONFIG:Release>:-O2>)
  farcall_jump_options(jump_options)
  if(ARG_ALL_HOT)
    target_compile_options(farcall_${name} PRIVATE ${jump_options})
  else()
    set(aligned functions jumps loops labels)
    list(TRANSFORM aligned PREPEND -falign- OUTPUT_VARIABLE align)
    list(TRANSFORM aligned PREPEND -fno-align- OUTPUT_VARIABLE do_not_align)
    target_compile_options(farcall_${name} PRIVATE "$<$<CXX_COMPILER_ID:GNU>:${do_not_align}>")
    set_property(SOURCE ${ARG_HOT} APPEND PROPERTY COMPILE_OPTIONS
      $<$<CONFIG:Release>:-O3> "$<$<CXX_COMPILER_ID:GNU>:${align}>" ${jump_options})
  endif()
  farcall_unity(farcall_${name} EXCEPT ${ARG_ALONE} ${ARG_HOT})
  # Parsed once for all layers.
  if(name STREQUAL core)
    target_precompile_headers(farcall_core PRIVATE <algorithm> <functional> <map> <memory> <mutex>
      <optional> <span> <string> <string_view> <unordered_map> <utility> <vector> <fmt/format.h>)
  else()
    target_precompile_headers(farcall_${name} REUSE_FROM farcall_core)
  endif()
endfunction()

# What kernel authors include: farcall/ffi.h, farcall/abi.h and farcall/handler/. It uses no layer,
# and every layer may use it. Under XLA's names the same is in xla/ffi/api/, which has a root of its
# own, so that tests can put XLA's headers in its place.
set(_handler_root ${PROJECT_BINARY_DIR}/layers/handler)
file(MAKE_DIRECTORY ${_handler_root}/farcall)
foreach(_entry ffi.h abi.h handler xla)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/farcall/${_entry} ${_handler_root}/farcall/${_entry} SYMBOLIC)
endforeach()
add_library(farcall_handler INTERFACE)
target_include_directories(farcall_handler INTERFACE ${_handler_root})

set(_xla_root ${PROJECT_BINARY_DIR}/layers/xla)
file(MAKE_DIRECTORY ${_xla_root})
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/xla ${_xla_root}/xla SYMBOLIC)
add_library(farcall_xla_handler INTERFACE)
target_link_libraries(farcall_xla_handler INTERFACE farcall_handler)
target_include_directories(farcall_xla_handler INTERFACE ${_xla_root})

# The parameters of the primitives, which the ops layer fills in and engines read.
set(_primitives_root ${PROJECT_BINARY_DIR}/layers/primitives)
file(MAKE_DIRECTORY ${_primitives_root}/farcall)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/include/farcall/primitives ${_primitives_root}/farcall/primitives SYMBOLIC)
add_library(farcall_primitives INTERFACE)
target_include_directories(farcall_primitives INTERFACE ${_primitives_root})
