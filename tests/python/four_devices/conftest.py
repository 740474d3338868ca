"""Tests of several devices: in a process with four, which ``test_four_devices.py`` starts, or of
programs alone in several processes, which ``test_mpi.py`` starts."""

from __future__ import annotations

import os

import farcall as fc

if os.environ.get("FARCALL_TEST_PROCESSES"):
    fc.distributed.initialize(timeout=100)

collect_ignore_glob = [] if fc.device_count() == 4 else ["test_*.py"]
