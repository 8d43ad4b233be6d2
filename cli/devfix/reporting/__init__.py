"""What devfix prints."""
