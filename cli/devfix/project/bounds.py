"""What a replay can be asked for, wherever that is written: sizes in bytes, durations in seconds."""

LEAST_MEMORY = 128 << 20
"""Less is too little to import torch."""
LEAST_TIMEOUT = 0.1
MOST_DEVICES = 64
MOST_SEED = 2**32 - 1
"""What numpy and the hashes of Python take."""
