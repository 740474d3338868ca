// Threads that the interpreter terminates.
//
// Before Python 3.14, a thread that requests the interpreter lock after finalization began is
// terminated by pthread_exit, which unwinds its frames: destructors would use the interpreter
// without the lock, and noexcept functions would abort the process. This module's frames do not
// take part: the thread sleeps until the process has ended.
//
// The unwinder calls the personality routine of each frame. For the frames of this module only, the
// linker replaces the C++ library's routine by this one (--wrap, see CMakeLists.txt).
#include <Python.h>
#include <unistd.h>
#include <unwind.h>

namespace {

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

}  // namespace

extern "C" {

// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the linker's names
_Unwind_Reason_Code __real___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context);

_Unwind_Reason_Code __wrap___gxx_personality_v0(int version, _Unwind_Action actions,
                                                _Unwind_Exception_Class exception_class,
                                                _Unwind_Exception* exception,
                                                _Unwind_Context* context) {
  if ((actions & _UA_FORCE_UNWIND) != 0 && is_finalizing()) {
    for (;;) pause();
  }
  return __real___gxx_personality_v0(version, actions, exception_class, exception, context);
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)

}  // extern "C"
