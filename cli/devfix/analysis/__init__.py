"""The files of a run through the library: jobs, processes, and the cache."""
