"""What runs inside the interpreter of the replayed script: the standard library, and torch once the script has it.

Nothing here imports devfix, and everything here runs on Python 3.9 and later, for the interpreter is the script's.
"""
