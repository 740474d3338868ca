// When machine code is made.
#pragma once

namespace farcall::native::jit {

// Whether code is made before the first run, instead of after enough work to pay for it: the
// environment has FARCALL_JIT=always. For tests.
bool makes_code_at_once();

}  // namespace farcall::native::jit
