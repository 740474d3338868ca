# farcall_add_handler(<name> <source>…)
#
# Adds a library of foreign functions: a module with hidden symbols that is compiled against
# farcall/ffi.h and links nothing of farcall. Its handlers are what FARCALL_DEFINE_HANDLER exports.
function(farcall_add_handler name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE farcall::ffi)
  farcall_align_jumps(${name} PRIVATE)
  set_target_properties(${name} PROPERTIES
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()

# farcall_align_jumps(<target> <scope>)
#
# Intel's processors from Skylake to Comet Lake keep no jump that touches a boundary of 32 bytes in their
# cache of decoded instructions, which costs up to a third of a short call. Where the assembler can move
# such jumps, this lets it.
function(farcall_align_jumps target scope)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(-Wa,-mbranches-within-32B-boundaries FARCALL_CAN_ALIGN_JUMPS)
    if(FARCALL_CAN_ALIGN_JUMPS)
      target_compile_options(${target} ${scope}
        $<$<COMPILE_LANGUAGE:C,CXX>:-Wa,-mbranches-within-32B-boundaries>)
    endif()
  endif()
endfunction()
