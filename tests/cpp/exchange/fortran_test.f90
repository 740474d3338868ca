! farcall/c.h from Fortran, by the interoperability that the language has with C.
module farcall
  use, intrinsic :: iso_c_binding
  implicit none

  interface
    function farcall_program_parse(text, size, program) bind(c) result(error)
      import :: c_char, c_size_t, c_ptr
      character(kind=c_char), intent(in) :: text(*)
      integer(c_size_t), value :: size
      type(c_ptr), intent(out) :: program
      type(c_ptr) :: error
    end function
    function farcall_compile(program, executable) bind(c) result(error)
      import :: c_ptr
      type(c_ptr), value :: program
      type(c_ptr), intent(out) :: executable
      type(c_ptr) :: error
    end function
    function farcall_execute(executable, inputs, num_inputs, outputs, num_outputs) bind(c) result(error)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: executable
      type(c_ptr), intent(in) :: inputs(*)
      integer(c_size_t), value :: num_inputs
      type(c_ptr), intent(in) :: outputs(*)
      integer(c_size_t), value :: num_outputs
      type(c_ptr) :: error
    end function
    function farcall_error_code(error) bind(c) result(code)
      import :: c_ptr, c_int
      type(c_ptr), value :: error
      integer(c_int) :: code
    end function
    subroutine farcall_error_free(error) bind(c)
      import :: c_ptr
      type(c_ptr), value :: error
    end subroutine
    subroutine farcall_program_free(program) bind(c)
      import :: c_ptr
      type(c_ptr), value :: program
    end subroutine
    subroutine farcall_executable_free(executable) bind(c)
      import :: c_ptr
      type(c_ptr), value :: executable
    end subroutine
  end interface
end module

program fortran_test
  use farcall
  implicit none
  integer(c_int), parameter :: invalid_argument = 3
  character(*), parameter :: text = &
    "{ lambda ; a:f64[2,3] b:f64[]. let c:f64[2,3] = mul a b in (c,) }"
  real(c_double), target :: x(3, 2), y(3, 2), factor  ! columns first: the dimensions the other way
  type(c_ptr) :: prog, executable, error
  integer :: i

  error = farcall_program_parse("nonsense", 8_c_size_t, prog)
  if (farcall_error_code(error) /= invalid_argument) error stop "nonsense is no program"
  call farcall_error_free(error)

  error = farcall_program_parse(text, len(text, c_size_t), prog)
  if (c_associated(error)) error stop "parse"
  error = farcall_compile(prog, executable)
  if (c_associated(error)) error stop "compile"
  x = reshape([(real(i, c_double), i = 1, 6)], [3, 2])
  factor = 0.5_c_double
  error = farcall_execute(executable, [c_loc(x), c_loc(factor)], 2_c_size_t, [c_loc(y)], 1_c_size_t)
  if (c_associated(error)) error stop "execute"
  if (any(y /= 0.5_c_double * x)) error stop "wrong values"
  call farcall_executable_free(executable)
  call farcall_program_free(prog)
end program
