"""The files of a project, read off their syntax: names, imports, classes, and what binds what."""
