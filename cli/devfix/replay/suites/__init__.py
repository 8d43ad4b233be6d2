"""A project's own test suite as what a replay runs: how its tests end on the plain CPU and on the simulation."""
