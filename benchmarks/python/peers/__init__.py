"""The rows of benchmarks/compare, and how each peer computes them."""
