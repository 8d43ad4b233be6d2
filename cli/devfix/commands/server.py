"""`devfix server`."""


def server() -> int:
    """Serve an editor over the language server protocol, on standard input and output."""
    from devfix.server.serving import serve

    return serve()
