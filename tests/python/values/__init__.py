"""Values of functions against mpmath: where they are taken, what is right, how far results are."""
