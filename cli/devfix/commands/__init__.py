"""The commands: options, then one call each."""
