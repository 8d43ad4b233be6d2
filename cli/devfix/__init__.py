"""The devfix application: everything that touches the world. The library beneath it is `devfix_codemods`."""

__version__ = "0.1.0"
