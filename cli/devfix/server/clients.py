"""What a client can do, and whether it is still there."""

import asyncio
import os
from collections.abc import Callable

from lsprotocol import types
from pygls.capabilities import get_capability

_PARENT_SECONDS = 2.0


def root_of(params: types.InitializeParams) -> str | None:
    """The folder that the client has open: the first, where there are several."""
    if params.workspace_folders:
        return params.workspace_folders[0].uri
    return params.root_uri


def watches_files(client: types.ClientCapabilities) -> bool:
    """Whether it tells of changed files when asked to."""
    return bool(get_capability(client, "workspace.did_change_watched_files.dynamic_registration"))


def takes_versions(client: types.ClientCapabilities) -> bool:
    """Whether it takes edits of documents in a certain version."""
    return bool(get_capability(client, "workspace.workspace_edit.document_changes"))


def resolves_edits(client: types.ClientCapabilities) -> bool:
    """Whether it asks for the edit of an action when that was chosen."""
    support = get_capability(client, "text_document.code_action.resolve_support")
    return support is not None and "edit" in support.properties


def hover_kind(client: types.ClientCapabilities) -> types.MarkupKind:
    """What it can show: Markdown, or only plain text."""
    formats = get_capability(client, "text_document.hover.content_format")
    markdown = not formats or types.MarkupKind.Markdown in formats
    return types.MarkupKind.Markdown if markdown else types.MarkupKind.PlainText


def end_with(process: int, clean_up: Callable[[], None]) -> None:
    """End this process when that one is gone. On Windows the end of standard input has to do."""
    if os.name != "posix":
        return

    def look() -> None:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            clean_up()
            os._exit(1)  # a thread waits for standard input, which may never end
        except PermissionError:
            pass  # it is there, and somebody else's
        loop.call_later(_PARENT_SECONDS, look)

    loop = asyncio.get_running_loop()
    loop.call_later(_PARENT_SECONDS, look)
