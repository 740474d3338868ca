"""Callbacks that work in place on the program's memory."""

from farcall import _core
from farcall._callbacks import buffer_callback as buffer_callback

__all__ = [
    "Buffer",
    "ExecutionContext",
    "ExecutionStage",
    "buffer_callback",
]

Buffer = _core.callbacks.Buffer
ExecutionContext = _core.callbacks.ExecutionContext
ExecutionStage = _core.callbacks.ExecutionStage
