"""Student's t distribution with ``df`` degrees of freedom."""

from farcall._core import stats as _stats

__all__ = ["logpdf", "pdf"]

logpdf = _stats.t_logpdf
pdf = _stats.t_pdf
