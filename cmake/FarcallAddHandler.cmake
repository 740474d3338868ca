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
# Adds the options of farcall_jump_options() to a target.
function(farcall_align_jumps target scope)
  farcall_jump_options(options)
  target_compile_options(${target} ${scope} ${options})
endfunction()

# farcall_jump_options(<variable>)
#
# Intel's processors from Skylake to Comet Lake keep no jump that touches a boundary of 32 bytes in their
# cache of decoded instructions, which costs up to a third of a short call. Where the assembler can move
# such jumps, the variable is set to the option that lets it; elsewhere to nothing.
function(farcall_jump_options variable)
  set(option -Wa,-mbranches-within-32B-boundaries)
  set(${variable} "" PARENT_SCOPE)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    include(CheckCXXCompilerFlag)
    check_cxx_compiler_flag(${option} FARCALL_CAN_ALIGN_JUMPS)
    if(FARCALL_CAN_ALIGN_JUMPS)
      set(${variable} $<$<COMPILE_LANGUAGE:C,CXX>:${option}> PARENT_SCOPE)
    endif()
  endif()
endfunction()
