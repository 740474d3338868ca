"""The operations that programs are made of: each takes a Writer and appends steps."""

from random_programs.operations import (
    calls,
    control,
    elementwise,
    foreign,
    indexing,
    linear,
    shapes,
)

FAMILIES = {
    "elementwise": (elementwise, 5),
    "shapes": (shapes, 4),
    "indexing": (indexing, 3),
    "linear": (linear, 2),
    "control": (control, 2),
    "calls": (calls, 2),
    "foreign": (foreign, 1),
}
