"""farcall.ops: reductions by segments against JAX and a plain loop; wrong arguments."""

from __future__ import annotations

from typing import Any

import farcall as fc
import farcall.numpy as fnp
import jax.ops
import numpy as np
import pytest
from farcall import ops

DATA = np.float32([[1, 2], [3, 4], [-5, 6], [7, 0.5], [2, 2]])
IDS = np.int32([2, 0, 2, 5, -1])
FUNCTIONS = {
    "segment_sum": (np.sum, 0.0),
    "segment_prod": (np.prod, 1.0),
    "segment_max": (np.max, -np.inf),
    "segment_min": (np.min, np.inf),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "int8", "uint16", "bfloat16"])
def test_segments_are_those_of_a_loop(name: str, dtype: str) -> None:
    reduce, start = FUNCTIONS[name]
    data = np.abs(DATA).astype(fc.dtypes.__dict__[dtype])
    out = np.asarray(getattr(ops, name)(data, IDS, num_segments=4))
    assert (out.dtype, out.shape) == (data.dtype, (4, 2))
    for segment in range(4):
        rows = np.float32(data[segment == IDS])
        if len(rows):
            np.testing.assert_array_equal(np.float32(out[segment]), reduce(rows, 0))
        elif np.isfinite(start) or "float" in dtype:
            np.testing.assert_array_equal(np.float32(out[segment]), start)
        else:
            limits = np.iinfo(data.dtype)
            assert (out[segment] == (limits.min if start < 0 else limits.max)).all()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_segments_are_those_of_jax(name: str) -> None:
    ours, theirs = getattr(ops, name), getattr(jax.ops, name)
    np.testing.assert_array_equal(ours(DATA, IDS), theirs(DATA, IDS))
    np.testing.assert_allclose(
        ours(DATA, IDS, 3, bucket_size=2), theirs(DATA, IDS, 3, bucket_size=2), rtol=1e-6
    )
    assert ours(DATA[:0], IDS[:0]).shape == (0, 2)
    assert ours(DATA[:0], IDS[:0], 3).shape == (3, 2)


def test_indices_outside_may_be_moved_inside() -> None:
    np.testing.assert_array_equal(
        ops.segment_sum(DATA, IDS, 3, mode="clip"), jax.ops.segment_sum(DATA, IDS, 3, mode="clip")
    )


def test_segments_are_differentiated_batched_and_compiled() -> None:
    def loss(x: Any) -> Any:
        return (ops.segment_sum(x, IDS, 6) ** 2).sum() + ops.segment_max(x, IDS, 6)[2].sum()

    np.testing.assert_allclose(
        fc.jit(fc.grad(loss))(DATA),
        jax.jit(
            jax.grad(
                lambda x: (
                    (jax.ops.segment_sum(x, IDS, 6) ** 2).sum()
                    + jax.ops.segment_max(x, IDS, 6)[2].sum()
                )
            )
        )(DATA),
        rtol=1e-6,
    )
    ids = np.stack([IDS, IDS[::-1]])
    batched = fc.vmap(lambda i: ops.segment_sum(DATA, i, 6))(ids)
    for i in range(2):
        np.testing.assert_array_equal(batched[i], ops.segment_sum(DATA, ids[i], 6))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ops.segment_sum(DATA, DATA[:, 0]), TypeError, "segment_ids must be integers"),
        (lambda: ops.segment_sum(1.0, IDS), ValueError, "data must have a first dimension"),
        (lambda: ops.segment_sum(DATA, IDS[:2]), ValueError, "an id for each of the 5 rows"),
        (lambda: ops.segment_sum(DATA, IDS, -1), ValueError, "must not be negative, got -1"),
        (lambda: ops.segment_max(DATA, IDS, 2.5), TypeError, "segment_max: num_segments"),
        (lambda: ops.segment_sum(DATA, IDS, 3, bucket_size=0), ValueError, "bucket_size must be"),
        (lambda: ops.segment_sum(DATA, IDS, 3, mode="x"), ValueError, "x"),
        (
            lambda: fc.jit(lambda ids: ops.segment_sum(DATA, ids))(fnp.array(IDS)),
            fc.errors.ConcretizationTypeError,
            "segment_sum: the number of segments depends on .* pass num_segments=",
        ),
    ],
)
def test_wrong_arguments(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
