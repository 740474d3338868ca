"""Functions with the points at which their derivatives are easily got wrong, and exact forms."""

from __future__ import annotations

from derivative_rows.arrays import MATRICES, REDUCTIONS
from derivative_rows.networks import KINKS, NETWORKS
from derivative_rows.powers import POWERS, ROUND
from derivative_rows.row import Limit as Limit
from derivative_rows.row import Row as Row
from derivative_rows.special import EXPONENTIAL, SPECIAL

_ALL = [*POWERS, *ROUND, *EXPONENTIAL, *SPECIAL, *NETWORKS, *KINKS, *REDUCTIONS, *MATRICES]
ROWS: dict[str, Row | Limit] = {row.name: row for row in _ALL}
assert len(ROWS) == len(_ALL)
