"""Random programs over all operations and transformations, run in every way that there is.

``python -m random_programs`` in tests/python runs as many as one likes.
"""
