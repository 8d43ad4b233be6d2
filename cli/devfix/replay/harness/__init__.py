"""A driver of devfix's own for a patch that no program and no test runs: what it calls, and what its runs prove."""
