// Threads that the interpreter ends.
//
// Python before 3.14 ends a thread that wants the interpreter lock after finalisation began by
// pthread_exit, which unwinds the thread's frames wherever it was: destructors would use the
// interpreter without its lock, and functions that are noexcept would abort the process. No frame
// of ours takes part in that: the thread sleeps where it is until the process has ended.
//
// The unwinder asks the personality routine of each frame what to do. Ours is linked in place of
// the C++ library's (--wrap, see CMakeLists.txt), for the frames of this module and no others.
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
