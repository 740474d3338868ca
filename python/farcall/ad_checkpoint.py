"""checkpoint, and what it may keep."""

from farcall._checkpoint import checkpoint as checkpoint
from farcall._checkpoint import checkpoint_name as checkpoint_name
from farcall._checkpoint import checkpoint_policies as checkpoint_policies
from farcall._checkpoint import remat as remat
