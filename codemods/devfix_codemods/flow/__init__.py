"""Where does every value live? The abstract interpreter over one file, and over what it calls in others.

`interpret(unit)` walks the module, its functions and its classes and returns `Facts`: the operations in which
values of different places meet, the moves, the batches, the averages in place. Rules read facts; none of them
interprets code.
"""
