"""Where code puts what it loads from files, and where what is loaded without a place belongs."""
