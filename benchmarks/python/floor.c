// The floor under every call of a foreign function from CPython: a vectorcall that fills a ready
// frame, drops the interpreter lock, calls the handler and makes the result. No cache is looked up,
// no type checked, no batching or tracing known.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>

#include "farcall/abi.h"

typedef struct {
  PyObject_HEAD void* data;  // f32[4], aligned to 64 bytes
  char memory[16 + 64];
} Array;

static PyTypeObject array_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Array",
                                  .tp_basicsize = sizeof(Array), .tp_flags = Py_TPFLAGS_DEFAULT};

static Array* new_array(void) {
  Array* array = PyObject_New(Array, &array_type);
  if (array) array->data = (void*)(((uintptr_t)array->memory + 63) / 64 * 64);
  return array;
}

typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  FARCALL_FFI_Handler* handler;
  FARCALL_FFI_Api api;
  FARCALL_FFI_CallFrame frame;
  FARCALL_FFI_Buffer arg, ret;
  FARCALL_FFI_ArgType arg_kind;
  FARCALL_FFI_RetType ret_kind;
  void *args[1], *rets[1];
  int64_t dim;
} Call;

static PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  Call* call = (Call*)self;
  if (PyVectorcall_NARGS(nargsf) != 1 || kwnames || Py_TYPE(args[0]) != &array_type) {
    return PyErr_Format(PyExc_TypeError, "expected one floor.Array");
  }
  Array* result = new_array();
  if (!result) return NULL;
  call->arg.data = ((Array*)args[0])->data;
  call->ret.data = result->data;
  PyThreadState* state = PyEval_SaveThread();
  FARCALL_FFI_Error* error = call->handler(&call->frame);
  PyEval_RestoreThread(state);
  if (error) return PyErr_Format(PyExc_RuntimeError, "the handler failed");
  return (PyObject*)result;
}

static PyMemberDef call_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Call, vectorcall), READONLY, NULL}, {NULL}};
static PyTypeObject call_type = {PyVarObject_HEAD_INIT(NULL, 0).tp_name = "floor.Call",
                                 .tp_basicsize = sizeof(Call),
                                 .tp_vectorcall_offset = offsetof(Call, vectorcall),
                                 .tp_call = PyVectorcall_Call,
                                 .tp_members = call_members,
                                 .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL};

// make(address of the handler) -> a callable
static PyObject* make(PyObject* module, PyObject* address) {
  (void)module;
  void* handler = PyLong_AsVoidPtr(address);
  if (!handler) return NULL;
  Call* made = PyObject_New(Call, &call_type);
  if (!made) return NULL;
  memset((char*)made + sizeof(PyObject), 0, sizeof(Call) - sizeof(PyObject));
  made->vectorcall = call;
  made->handler = (FARCALL_FFI_Handler*)handler;
  made->api.struct_size = sizeof(FARCALL_FFI_Api);
  made->api.api_version.struct_size = sizeof(FARCALL_FFI_Api_Version);
  made->api.api_version.minor_version = FARCALL_FFI_API_MINOR;
  made->dim = 4;
  made->arg = (FARCALL_FFI_Buffer){
      sizeof(FARCALL_FFI_Buffer), NULL, FARCALL_FFI_DataType_F32, NULL, 1, &made->dim};
  made->ret = made->arg;
  made->arg_kind = FARCALL_FFI_ArgType_BUFFER;
  made->ret_kind = FARCALL_FFI_RetType_BUFFER;
  made->args[0] = &made->arg;
  made->rets[0] = &made->ret;
  made->frame.struct_size = FARCALL_FFI_STRUCT_SIZE(FARCALL_FFI_CallFrame, attrs);
  made->frame.api = &made->api;
  made->frame.stage = FARCALL_FFI_ExecutionStage_EXECUTE;
  made->frame.args =
      (FARCALL_FFI_Args){sizeof(FARCALL_FFI_Args), NULL, 1, &made->arg_kind, made->args};
  made->frame.rets =
      (FARCALL_FFI_Rets){sizeof(FARCALL_FFI_Rets), NULL, 1, &made->ret_kind, made->rets};
  made->frame.attrs.struct_size = sizeof(FARCALL_FFI_Attrs);
  return (PyObject*)made;
}

static PyObject* array(PyObject* module, PyObject* unused) {
  (void)module, (void)unused;
  Array* result = new_array();
  if (result) memset(result->data, 0, 16);
  return (PyObject*)result;
}

static PyMethodDef methods[] = {{"make", make, METH_O, "A callable for the handler at an address."},
                                {"array", array, METH_NOARGS, "A new f32[4]."},
                                {NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "floor", .m_methods = methods};

PyMODINIT_FUNC PyInit_floor(void) {
  if (PyType_Ready(&array_type) < 0 || PyType_Ready(&call_type) < 0) return NULL;
  return PyModule_Create(&module);
}
