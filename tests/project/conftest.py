"""Files of a project that exist in a test only."""

from collections.abc import Mapping, Sequence
from textwrap import dedent

from devfix_codemods.project.imports import find, mentioned


class InMemory:
    """Files of a project that exist in a test only: texts by path."""

    def __init__(self, texts: Mapping[str, str | bytes], top: str = "/p") -> None:
        self.top = top
        self._texts = {path: text if isinstance(text, bytes) else dedent(text).encode() for path, text in texts.items()}

    def has(self, path: str) -> bool:
        return path in self._texts

    def read(self, path: str) -> bytes | None:
        return self._texts.get(path)

    def importers(self, path: str) -> Sequence[str]:
        def imports(other: str, data: bytes) -> bool:
            places = (find(other, dotted, self) for dotted in mentioned(data))
            return other != path and any(place is not None and place[0] == path for place in places)

        return [other for other, data in sorted(self._texts.items()) if imports(other, data)]
