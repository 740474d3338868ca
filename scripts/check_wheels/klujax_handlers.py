"""klujax gives each capsule by a function; `farcall check` finds them as members of this module."""

import klujax_cpp  # pyright: ignore[reportMissingImports]

dot_f64, dot_c128 = klujax_cpp.dot_f64(), klujax_cpp.dot_c128()
solve_f64, solve_c128 = klujax_cpp.solve_f64(), klujax_cpp.solve_c128()
