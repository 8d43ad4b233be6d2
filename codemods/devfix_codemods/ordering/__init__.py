"""In which order a program does things to a model: moves it, wraps it, gives its parameters to an optimizer."""
