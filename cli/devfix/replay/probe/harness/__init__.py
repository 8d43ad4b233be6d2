"""The search for a driver: a short program that calls a function of the project with arguments that fit it.

Arguments are proposed from what the function's text says of them, and mended by the errors of the calls.
"""
