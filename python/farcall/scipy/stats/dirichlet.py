"""The Dirichlet distribution of concentrations ``alpha``."""

from farcall._core import stats as _stats

__all__ = ["logpdf", "pdf"]

logpdf = _stats.dirichlet_logpdf
pdf = _stats.dirichlet_pdf
