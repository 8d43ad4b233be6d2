"""What operations demand of where values are: generators of what they fill, pinned memory and workers of the host."""
