"""Random programs over the devices of a mesh: shard_map, collectives and shardings, against JAX."""
