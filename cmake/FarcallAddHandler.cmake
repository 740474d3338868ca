# farcall_add_handler(<name> <source>…)
#
# Adds a library of foreign functions: a module with hidden symbols that is compiled against
# farcall/ffi.h and links nothing of farcall. Its handlers are what FARCALL_DEFINE_HANDLER exports.
function(farcall_add_handler name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE farcall::ffi)
  set_target_properties(${name} PROPERTIES
    C_VISIBILITY_PRESET hidden
    CXX_VISIBILITY_PRESET hidden
    VISIBILITY_INLINES_HIDDEN ON)
endfunction()
