"""Jupyter notebooks: their code cells as one program, and the program's changes back in the cells."""
