"""`devfix review`: each fix accepted, refused or silenced by a comment, on a full screen or line by line.

What is decided and what comes of it knows no screen; only `screens/` imports Textual.
"""
