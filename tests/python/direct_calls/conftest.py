"""Foreign calls that the plugin makes itself, in a process that ``test_direct_calls.py`` starts."""

from __future__ import annotations

import os

DIRECT = os.environ.get("FARCALL_PJRT_FOREIGN_CALLS") == "direct"
collect_ignore_glob = [] if DIRECT else ["test_*.py"]
