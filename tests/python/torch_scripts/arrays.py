"""Arrays and tensors are one memory, in both directions."""

import farcall as fc
import farcall.numpy as fnp
import numpy as np
import torch

array = fnp.arange(4.0)
tensor = torch.from_dlpack(array)
assert tensor.data_ptr() == array.unsafe_buffer_pointer()
assert tensor.tolist() == [0, 1, 2, 3]

again = fnp.from_dlpack(tensor)
assert again.unsafe_buffer_pointer() == tensor.data_ptr()
np.testing.assert_array_equal(again, array)
del array, tensor  # what is shared outlives those that it came from
np.testing.assert_array_equal(again, [0, 1, 2, 3])

matrix = torch.arange(6.0).reshape(2, 3)
for view in (matrix, matrix.T, matrix[:, 1:], matrix[0, 0]):
    np.testing.assert_array_equal(fnp.asarray(view), view.tolist())
    np.testing.assert_array_equal(fc.jit(lambda x: 2 * x)(view), (2 * view).tolist())
print("done")
