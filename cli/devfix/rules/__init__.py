"""The rules of a run: which are chosen, those of plug-ins, and their pages."""
