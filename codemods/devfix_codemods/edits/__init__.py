"""Edits: what rules ask for (`operations`), how it is done (`apply`), and whether the result is sound (`verify`)."""
