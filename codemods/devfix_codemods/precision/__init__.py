"""Mixed precision: its calls, old and new, the device types that these want, and the torch that code provides for."""
