"""Tests of several devices: in a process with four, which ``test_four_devices.py`` starts."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("FARCALL_NUM_CPU_DEVICES") == "4" else ["test_*.py"]
