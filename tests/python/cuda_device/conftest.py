"""Tests on a GPU, in a process that ``test_cuda_device.py`` starts where there is one."""

from __future__ import annotations

import os

import farcall as fc
import jax
import pytest

collect_ignore_glob = [] if os.environ.get("FARCALL_TEST_CUDA") else ["test_*.py"]
if os.environ.get("FARCALL_TEST_CUDA"):
    jax.config.update("jax_platforms", None)  # JAX's own calls on the GPU are compared with


@pytest.fixture(scope="module")
def device() -> fc.Device:
    return fc.devices("cuda")[0]
