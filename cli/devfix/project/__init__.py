"""The project that is looked at: its files, its settings, what it requires."""
