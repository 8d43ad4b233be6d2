"""Notebooks as bytes."""

import json
from typing import Any

CODE, TEXT = "code", "markdown"


def cell(source: Any, kind: str = CODE, **more: Any) -> dict[str, Any]:
    """A cell; a code cell unless `kind` says otherwise."""
    outputs = {"execution_count": None, "outputs": []} if kind == CODE else {}
    return {"cell_type": kind, "metadata": {}, **outputs, "source": source, **more}


def notebook(*sources: Any, indent: int | None = 1, ascii_only: bool = False, **more: Any) -> bytes:
    """A notebook with code cells of these sources; a string is split into lines as Jupyter does."""
    cells = [one if isinstance(one, dict) else cell(_lines(one)) for one in sources]
    document = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **more}
    return (json.dumps(document, indent=indent, ensure_ascii=ascii_only) + "\n").encode()


def _lines(source: Any) -> Any:
    if not isinstance(source, str):
        return source
    *whole, rest = source.split("\n")
    return [f"{line}\n" for line in whole] + ([rest] if rest else [])
