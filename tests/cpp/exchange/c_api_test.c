/* farcall/c.h from C99, which is what farcall/farcall.h is there: its functions and all of their
 * errors. */
#include <farcall/farcall.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int num_failed = 0;

static void expect(int is_true, const char* what, int line) {
  if (is_true) return;
  fprintf(stderr, "line %d: expected %s\n", line, what);
  ++num_failed;
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

/* Expects an error with this code and with this text in its message. */
static void expect_error(farcall_error* error, FARCALL_FFI_Error_Code code, const char* text,
                         int line) {
  if (farcall_error_code(error) != code || strstr(farcall_error_message(error), text) == NULL) {
    fprintf(stderr, "line %d: got code %d, \"%s\"\n", line, (int)farcall_error_code(error),
            farcall_error_message(error));
    ++num_failed;
  }
  farcall_error_free(error);
}
#define EXPECT_ERROR(call, code, text) \
  expect_error(call, FARCALL_FFI_Error_Code_##code, text, __LINE__)
#define EXPECT_OK(call) EXPECT_ERROR(call, OK, "")

static farcall_program* parsed(const char* text) {
  farcall_program* program = NULL;
  EXPECT_OK(farcall_program_parse(text, strlen(text), &program));
  return program;
}

static farcall_executable* compiled(const farcall_program* program) {
  farcall_executable* executable = NULL;
  EXPECT_OK(farcall_compile(program, &executable));
  return executable;
}

static const char kScaled[] =
    "{ lambda ; a:f32[4] b:f32[]. let c:f32[4] = mul a b d:f32[4] = sin c in (c, d) }";

static void test_a_program(void) {
  farcall_program* program = parsed(kScaled);
  size_t num_inputs = 0, num_outputs = 0;
  const char* text = NULL;
  farcall_array_type type = {0};
  farcall_program* again;
  EXPECT_OK(farcall_program_num_inputs(program, &num_inputs));
  EXPECT_OK(farcall_program_num_outputs(program, &num_outputs));
  EXPECT(num_inputs == 2 && num_outputs == 2);
  type.struct_size = sizeof(type);
  EXPECT_OK(farcall_program_input(program, 0, &type));
  EXPECT(type.dtype == FARCALL_FFI_DataType_F32 && type.rank == 1 && type.dims[0] == 4);
  EXPECT(type.nbytes == 16);
  EXPECT_OK(farcall_program_output(program, 1, &type));
  EXPECT(type.rank == 1 && type.nbytes == 16);
  EXPECT_OK(farcall_program_text(program, &text));
  again = parsed(text);
  farcall_program_free(again);
  farcall_program_free(program);
  EXPECT(farcall_c_version() == FARCALL_C_VERSION);
  EXPECT(strchr(farcall_version(), '.') != NULL);
}

static void test_running(void) {
  farcall_program* program = parsed(kScaled);
  farcall_executable* executable = compiled(program);
  const float x[4] = {1, 2, 3, 4}, factor = 0.5f;
  float scaled[4] = {0}, sines[4] = {0};
  const void* inputs[2];
  void* outputs[2];
  int i;
  inputs[0] = x;
  inputs[1] = &factor;
  outputs[0] = scaled;
  outputs[1] = sines;
  farcall_program_free(program);
  EXPECT_OK(farcall_execute(executable, inputs, 2, outputs, 2));
  for (i = 0; i < 4; ++i) {
    EXPECT(fabsf(scaled[i] - 0.5f * x[i]) == 0);
    EXPECT(fabsf(sines[i] - sinf(0.5f * x[i])) < 1e-6f);
  }
  EXPECT_ERROR(farcall_execute(executable, inputs, 1, outputs, 2), INVALID_ARGUMENT,
               "farcall_execute: num_inputs is 1, the program has 2");
  EXPECT_ERROR(farcall_execute(executable, inputs, 2, outputs, 3), INVALID_ARGUMENT,
               "num_outputs is 3, the program has 2");
  EXPECT_ERROR(farcall_execute(executable, NULL, 2, outputs, 2), INVALID_ARGUMENT,
               "inputs is null");
  EXPECT_ERROR(farcall_execute(executable, inputs, 2, NULL, 2), INVALID_ARGUMENT,
               "outputs is null");
  outputs[1] = NULL;
  EXPECT_ERROR(farcall_execute(executable, inputs, 2, outputs, 2), INVALID_ARGUMENT,
               "outputs[1] is null, should point to f32[4]");
  inputs[1] = NULL;
  EXPECT_ERROR(farcall_execute(executable, inputs, 2, outputs, 2), INVALID_ARGUMENT,
               "inputs[1] is null, should point to f32[]");
  farcall_executable_free(executable);
}

static void test_an_output_in_the_memory_of_an_input(void) {
  farcall_program* program =
      parsed("{ lambda ; a:f32[3]. let b:f32[3] = rev[dimensions=(0,)] a in (b,) }");
  farcall_executable* executable = compiled(program);
  float x[3] = {1, 2, 3};
  const void* inputs[1];
  void* outputs[1];
  inputs[0] = x;
  outputs[0] = x;
  EXPECT_OK(farcall_execute(executable, inputs, 1, outputs, 1));
  EXPECT(fabsf(x[0] - 3) == 0 && fabsf(x[2] - 1) == 0);
  farcall_executable_free(executable);
  farcall_program_free(program);
}

static void test_empty_arrays_and_no_inputs(void) {
  farcall_program* program = parsed("{ lambda ; a:f32[0]. let in (a,) }");
  farcall_executable* executable = compiled(program);
  const void* nothing[1] = {NULL};
  void* none[1] = {NULL};
  EXPECT_OK(farcall_execute(executable, nothing, 1, none, 1));
  farcall_executable_free(executable);
  farcall_program_free(program);
  program = parsed("{ lambda ; . let in () }");
  executable = compiled(program);
  EXPECT_OK(farcall_execute(executable, NULL, 0, NULL, 0));
  farcall_executable_free(executable);
  farcall_program_free(program);
}

static void test_derived_programs(void) {
  farcall_program* program =
      parsed("{ lambda ; a:f32[] n:i32[]. let b:f32[] = mul a a in (b, n) }");
  farcall_program *batch = NULL, *vjp = NULL;
  farcall_executable* executable;
  const int64_t axes[2] = {0, -1};
  const float x[3] = {1, 2, 3}, cotangents[3] = {1, 10, 100};
  const int32_t n = 7;
  float squares[3] = {0}, gradient[3] = {0};
  int32_t ns[3] = {0};
  const void* inputs[3];
  void* outputs[3];
  EXPECT_OK(farcall_program_vjp(program, &vjp));
  inputs[0] = x + 2;
  inputs[1] = &n;
  inputs[2] = cotangents + 1;
  outputs[0] = squares;
  outputs[1] = ns;
  outputs[2] = gradient;
  executable = compiled(vjp);
  EXPECT_OK(farcall_execute(executable, inputs, 3, outputs, 3));
  EXPECT(fabsf(squares[0] - 9) == 0 && ns[0] == 7 && fabsf(gradient[0] - 60) == 0);
  farcall_executable_free(executable);

  EXPECT_OK(farcall_program_batch(program, 3, axes, 2, &batch));
  executable = compiled(batch);
  inputs[0] = x;
  EXPECT_OK(farcall_execute(executable, inputs, 2, outputs, 2));
  EXPECT(fabsf(squares[2] - 9) == 0 && ns[2] == 7);
  farcall_executable_free(executable);
  farcall_program_free(batch);

  batch = NULL;
  EXPECT_ERROR(farcall_program_batch(program, 3, axes, 1, &batch), INVALID_ARGUMENT,
               "num_axes is 1, should be the number of inputs, 2");
  EXPECT_ERROR(farcall_program_batch(program, -3, axes, 2, &batch), INVALID_ARGUMENT,
               "size is -3, should not be negative");
  {
    const int64_t wrong[2] = {0, 5};
    EXPECT_ERROR(farcall_program_batch(program, 3, wrong, 2, &batch), INVALID_ARGUMENT,
                 "axes[1] is 5");
  }
  EXPECT(batch == NULL);
  farcall_program_free(vjp);
  farcall_program_free(program);
}

/* Adds 1 to four floats. */
static FARCALL_FFI_Error* add_one(FARCALL_FFI_CallFrame* frame) {
  const FARCALL_FFI_Buffer* x;
  const FARCALL_FFI_Buffer* y;
  int i;
  if (frame->extension_start != NULL &&
      frame->extension_start->type == FARCALL_FFI_Extension_Metadata) {
    FARCALL_FFI_Metadata* metadata =
        ((FARCALL_FFI_Metadata_Extension*)(void*)frame->extension_start)->metadata;
    metadata->api_version.major_version = FARCALL_FFI_API_MAJOR;
    metadata->api_version.minor_version = FARCALL_FFI_API_MINOR;
    return NULL;
  }
  x = (const FARCALL_FFI_Buffer*)frame->args.args[0];
  y = (const FARCALL_FFI_Buffer*)frame->rets.rets[0];
  for (i = 0; i < 4; ++i) ((float*)y->data)[i] = ((const float*)x->data)[i] + 1;
  return NULL;
}
static FARCALL_FFI_Error* another(FARCALL_FFI_CallFrame* frame) { return add_one(frame); }

static const char kCalls[] =
    "{ lambda ; a:f32[4]. let b:f32[4] = ffi_call[attributes={} batched_operands=()"
    " custom_call_api_version=4 has_side_effect=False input_layouts=(None,)"
    " input_output_aliases=() legacy_backend_config=None output_layouts=(None,)"
    " result_types=(f32[4],) target_name=add_one vmap_method=None] a in (b,) }";

static void test_handlers(void) {
  farcall_program* program;
  farcall_executable* executable = NULL;
  FARCALL_FFI_Handler* exported = NULL;
  FARCALL_FFI_Handler* again = NULL;
  const float x[4] = {1, 2, 3, 4};
  float y[4] = {0};
  const void* inputs[1];
  void* outputs[1];
  inputs[0] = x;
  outputs[0] = y;
  program = parsed(kCalls);
  EXPECT_ERROR(farcall_compile(program, &executable), NOT_FOUND, "add_one");
  EXPECT(executable == NULL);
  EXPECT_OK(farcall_register_handler("add_one", add_one));
  EXPECT_OK(farcall_register_handler("add_one", add_one));
  EXPECT_ERROR(farcall_register_handler("add_one", another), ALREADY_EXISTS, "add_one");
  executable = compiled(program);
  EXPECT_OK(farcall_execute(executable, inputs, 1, outputs, 1));
  EXPECT(fabsf(y[3] - 5) == 0);
  farcall_executable_free(executable);

  EXPECT_OK(farcall_export_handler("twice", program, &exported));
  EXPECT_OK(farcall_export_handler("twice", program, &again));
  EXPECT(exported != NULL && exported == again);
  EXPECT_OK(farcall_register_handler("exported", exported));
  farcall_program_free(program);
  EXPECT_ERROR(farcall_register_handler(NULL, add_one), INVALID_ARGUMENT, "name is null");
  EXPECT_ERROR(farcall_register_handler("name", NULL), INVALID_ARGUMENT, "handler is null");
}

static void test_what_is_no_program(void) {
  farcall_program* program = NULL;
  EXPECT_ERROR(farcall_program_parse("{ lambda", 8, &program), INVALID_ARGUMENT,
               "farcall_program_parse: ");
  EXPECT_ERROR(farcall_program_parse("", 0, &program), INVALID_ARGUMENT, "line 1");
  EXPECT_ERROR(farcall_program_parse(NULL, 3, &program), INVALID_ARGUMENT, "text is null");
  EXPECT_ERROR(farcall_program_load("farcall", 7, &program), INVALID_ARGUMENT,
               "farcall_program_load: ");
  EXPECT_ERROR(farcall_program_load(NULL, 7, &program), INVALID_ARGUMENT, "bytes is null");
  EXPECT(program == NULL);
}

static void test_nulls(void) {
  farcall_program* program = parsed(kScaled);
  farcall_program* made = NULL;
  farcall_executable* executable = NULL;
  FARCALL_FFI_Handler* handler = NULL;
  farcall_array_type type = {0};
  const char* text = NULL;
  size_t count = 0;
  EXPECT_ERROR(farcall_program_parse(kScaled, strlen(kScaled), NULL), INVALID_ARGUMENT,
               "program is null");
  EXPECT_ERROR(farcall_program_load(kScaled, 1, NULL), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_text(NULL, &text), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_text(program, NULL), INVALID_ARGUMENT, "text is null");
  EXPECT_ERROR(farcall_program_num_inputs(NULL, &count), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_num_inputs(program, NULL), INVALID_ARGUMENT, "count is null");
  EXPECT_ERROR(farcall_program_num_outputs(NULL, &count), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_num_outputs(program, NULL), INVALID_ARGUMENT, "count is null");
  EXPECT_ERROR(farcall_program_input(NULL, 0, &type), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_output(program, 0, NULL), INVALID_ARGUMENT, "type is null");
  EXPECT_ERROR(farcall_program_output(program, 0, &type), INVALID_ARGUMENT,
               "struct_size is 0, should be at least");
  type.struct_size = sizeof(type);
  EXPECT_ERROR(farcall_program_input(program, 2, &type), OUT_OF_RANGE, "index is 2, there are 2");
  EXPECT_ERROR(farcall_program_batch(NULL, 1, NULL, 0, &made), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_batch(program, 1, NULL, 2, &made), INVALID_ARGUMENT, "axes is null");
  EXPECT_ERROR(farcall_program_batch(program, 1, NULL, 0, NULL), INVALID_ARGUMENT,
               "batched is null");
  EXPECT_ERROR(farcall_program_vjp(NULL, &made), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_program_vjp(program, NULL), INVALID_ARGUMENT, "vjp is null");
  EXPECT_ERROR(farcall_compile(NULL, &executable), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_compile(program, NULL), INVALID_ARGUMENT, "executable is null");
  EXPECT_ERROR(farcall_execute(NULL, NULL, 0, NULL, 0), INVALID_ARGUMENT, "executable is null");
  EXPECT_ERROR(farcall_export_handler(NULL, program, &handler), INVALID_ARGUMENT, "name is null");
  EXPECT_ERROR(farcall_export_handler("f", NULL, &handler), INVALID_ARGUMENT, "program is null");
  EXPECT_ERROR(farcall_export_handler("f", program, NULL), INVALID_ARGUMENT, "handler is null");
  EXPECT(farcall_error_code(NULL) == FARCALL_FFI_Error_Code_OK);
  EXPECT(strcmp(farcall_error_message(NULL), "") == 0);
  farcall_error_free(NULL);
  farcall_executable_free(NULL);
  farcall_program_free(NULL);
  farcall_program_free(program);
}

static void* run_often(void* executable) {
  const float x[4] = {1, 2, 3, 4}, factor = 2;
  float scaled[4], sines[4];
  const void* inputs[2];
  void* outputs[2];
  size_t num_wrong = 0;
  int i;
  inputs[0] = x;
  inputs[1] = &factor;
  outputs[0] = scaled;
  outputs[1] = sines;
  for (i = 0; i < 1000; ++i) {
    farcall_error* error = farcall_execute((farcall_executable*)executable, inputs, 2, outputs, 2);
    if (error != NULL || fabsf(scaled[3] - 8) != 0) ++num_wrong;
    farcall_error_free(error);
  }
  return num_wrong == 0 ? NULL : executable;
}

static void test_threads(void) {
  farcall_program* program = parsed(kScaled);
  farcall_executable* executable = compiled(program);
  pthread_t threads[4];
  int i;
  for (i = 0; i < 4; ++i) {
    if (pthread_create(&threads[i], NULL, run_often, executable) != 0) abort();
  }
  for (i = 0; i < 4; ++i) {
    void* wrong = NULL;
    EXPECT(pthread_join(threads[i], &wrong) == 0 && wrong == NULL);
  }
  farcall_executable_free(executable);
  farcall_program_free(program);
}

int main(void) {
  test_a_program();
  test_running();
  test_an_output_in_the_memory_of_an_input();
  test_empty_arrays_and_no_inputs();
  test_derived_programs();
  test_handlers();
  test_what_is_no_program();
  test_nulls();
  test_threads();
  return num_failed == 0 ? 0 : 1;
}
