"""Queries on the placement analysis: which moves are thrown away, and what becomes of them."""
