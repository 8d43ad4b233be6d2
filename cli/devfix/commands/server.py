"""`devfix server`."""


def server() -> int:
    """Serve an editor over the language server protocol, on standard input and output."""
    from devfix.rules import plugins
    from devfix.server.serving import serve

    plugins.load()

    return serve()
