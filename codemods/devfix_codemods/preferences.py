"""What the user may prefer. It stands alone, because the command line needs it at its start."""

from enum import StrEnum


class Prefer(StrEnum):
    """Which device a program gets that declares none."""

    CUDA = "cuda"
    """CUDA where there is one, else the host."""
    ACCELERATOR = "accelerator"
    """Whatever accelerator torch sees, else the host; torch 2.6 brought the API for it."""
