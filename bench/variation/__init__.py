"""Small programs with a known device bug, each written in many shapes that mean the same."""
