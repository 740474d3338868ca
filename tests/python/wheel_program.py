"""What an installed wheel must be able to do, with numpy and nothing else at hand."""

import farcall as fc
import farcall.numpy as fnp
import numpy as np

a = fnp.array([[4.0, 1.0], [1.0, 3.0]])
assert abs(fnp.linalg.inv(a) @ a - fnp.eye(2)).max() < 1e-6  # LAPACK, and so OpenBLAS

doubled = fc.jit(lambda x: fc.pure_callback(lambda v: np.asarray(v) * 2, x, x))
assert fc.vmap(fc.grad(lambda x: x**3))(fnp.arange(3.0)).tolist() == [0.0, 3.0, 12.0]
assert doubled(fnp.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
print("farcall", fc.__version__, "works")
