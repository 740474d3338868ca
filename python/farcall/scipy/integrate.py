"""Integrals of samples."""

from farcall.numpy import trapezoid as trapezoid

__all__ = ["trapezoid"]
