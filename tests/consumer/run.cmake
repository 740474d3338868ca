# Installs the build tree `build` into a fresh prefix below `work`, moves the prefix, and configures,
# builds and tests the consumer project against it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(result)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${output}")
  endif()
endfunction()

file(REMOVE_RECURSE ${work})
run(${CMAKE_COMMAND} --install ${build} --prefix ${work}/installed)
file(RENAME ${work}/installed ${work}/moved)
run(${CMAKE_COMMAND} -S ${source} -B ${work}/build -G ${generator}
  -DCMAKE_BUILD_TYPE=Release
  -DCMAKE_C_COMPILER=${c_compiler}
  -DCMAKE_CXX_COMPILER=${cxx_compiler}
  -DCMAKE_PREFIX_PATH=${work}/moved
  -DWANTED_VERSION=${version})
run(${CMAKE_COMMAND} --build ${work}/build)
run(${CMAKE_COMMAND} -E chdir ${work}/build ${ctest} --output-on-failure)
