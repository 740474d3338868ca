"""What tests of definitions share: handlers by short names, and rules of their derivatives."""

from __future__ import annotations

from typing import Any

import farcall.numpy as fnp
import numpy as np

F64 = np.float64
SAME = "[...] -> [...]"
WEIGH = "[..., n], [..., n] -> [..., n], [...]"
# Handlers by short names, in the libraries that have them.
TARGETS = {
    "batched.cpp": {"weigh": "batched_weigh", "grow": "batched_grow", "memory": "batched_memory"},
    "declared.cpp": {"twice": "twice_through_scratch"},
    "python_handlers.cpp": {
        "describe": "describe_attributes",
        "copy": "copy_all",
        "count": "count_calls",
    },
}
X = np.array([0.5, 1.0, 1.5])
W = np.array([2.0, -1.0, 0.5])


def grow_jvp(call: Any, primals: Any, tangents: Any) -> Any:
    y = call(*primals)
    return y, call.attributes["rate"] * y * tangents[0]


def grow_forward(call: Any, x: Any) -> Any:
    y = call(x)
    return y, y


def grow_backward(call: Any, residuals: Any, cotangents: Any) -> Any:
    return call.attributes["rate"] * residuals[0] * cotangents[0]


def weigh_transpose(call: Any, cotangents: Any, x: Any, w: Any) -> Any:
    """Of the call in either operand, the other being known."""
    ct_y, ct_sum = cotangents
    total = call.attributes["factor"] * (ct_y + fnp.expand_dims(ct_sum, -1))
    return (None, total * x) if w is None else (total * w, None)
