"""Tests on a GPU, in a process that ``test_cuda_device.py`` starts where there is one."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("FARCALL_TEST_CUDA") else ["test_*.py"]
