"""Cuts: where a move can stand, in whose style, under whose guard, and how far it may be trusted."""
