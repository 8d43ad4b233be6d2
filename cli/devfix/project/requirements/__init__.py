"""Which torch and which Python a project admits."""
