"""What is written to users' files, and how it is taken back."""
