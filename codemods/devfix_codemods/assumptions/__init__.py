"""What code takes for granted of the machine: that there is CUDA, which card, and where a checkpoint was saved."""
