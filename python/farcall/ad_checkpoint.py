"""checkpoint, and policies for the values that it keeps."""

from farcall._checkpoint import checkpoint as checkpoint
from farcall._checkpoint import checkpoint_name as checkpoint_name
from farcall._checkpoint import checkpoint_policies as checkpoint_policies
from farcall._checkpoint import remat as remat
from farcall._residuals import print_saved_residuals as print_saved_residuals
from farcall._residuals import saved_residuals as saved_residuals

__all__ = [
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
    "saved_residuals",
]
