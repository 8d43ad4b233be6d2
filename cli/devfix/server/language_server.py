"""The language server's state: what is known of each document that a client has open.

Each document has at most one analysis under way. A change cancels it: nothing is told of a version that is gone.
"""

import asyncio
from collections.abc import Iterator

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified
from pygls.lsp.server import LanguageServer

from devfix import __version__
from devfix.results import Rewritten
from devfix.server import actions, clients
from devfix.server.actions import Shown
from devfix.server.analyst import Analyst, Found
from devfix.server.diagnostics import diagnostics
from devfix.server.texts import OpenText, is_python, path_of

_TYPING_SECONDS = 0.3
"""How long a text has to rest before it is analysed."""


class DevfixServer(LanguageServer):
    """The Python files that a client has open, and what was found in them."""

    def __init__(self) -> None:
        # pygls would apply partial changes to lines as `str.splitlines` counts them, which no client does.
        super().__init__("devfix", __version__, types.TextDocumentSyncKind.Full)
        self.stopped_properly = False
        self._analyst: Analyst | None = None
        self._shown: dict[str, Shown] = {}
        self._tasks: dict[str, asyncio.Task[Shown | None]] = {}
        self._epoch = 0
        self._troubles: dict[str, str] = {}

    def start(self) -> None:
        """Analyse from now on, from the working directory as it is."""
        self._analyst = Analyst()

    def close(self) -> None:
        """End the processes that analyse."""
        if self._analyst is not None:
            self._analyst.close()

    def document_changed(self, uri: str, rested: bool = False) -> None:
        """Analyse a document anew, and those that rest on it. One that was typed in has not `rested`."""
        self._refresh(uri, 0 if rested else _TYPING_SECONDS)
        for other in self._resting_on(uri):
            self._refresh(other, _TYPING_SECONDS)

    def files_changed(self) -> None:
        """Analyse all documents anew: files that they rest on, or settings, may be others now."""
        self._epoch += 1
        for uri in self.workspace.text_documents:
            self._refresh(uri, _TYPING_SECONDS)

    def document_closed(self, uri: str) -> None:
        """Forget a document, and take its diagnostics away."""
        if (task := self._tasks.pop(uri, None)) is not None:
            task.cancel()
        self._troubles.pop(uri, None)
        resting = self._resting_on(uri)
        if self._shown.pop(uri, None) is not None:
            self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
        for other in resting:
            self._refresh(other, _TYPING_SECONDS)

    def shown(self, uri: str) -> Shown | None:
        """What the client shows of a document; None where its text is another by now."""
        shown = self._shown.get(uri)
        return shown if shown is not None and self._holds(shown) else None

    async def up_to_date(self, uri: str) -> Shown | None:
        """The findings in the text as it is now; one that is still changing is analysed at once."""
        shown, task = self.shown(uri), self._tasks.get(uri)
        if shown is not None and task is not None and task.done():
            return shown
        task = self._refresh(uri, 0)
        return None if task is None else await asyncio.shield(task)

    async def edit_for_all(self, shown: Shown) -> types.WorkspaceEdit:
        """The edit of all safe fixes.

        Raises:
            JsonRpcContentModified: the text changed meanwhile.
        """
        assert self._analyst is not None
        assert shown.found.job is not None
        answer = await self._analyst.fixed(shown.found.job, shown.safe)
        if not self._holds(shown):
            raise JsonRpcContentModified
        return actions.whole_edit(shown, answer.after) if isinstance(answer, Rewritten) else shown.edit([])

    def _refresh(self, uri: str, delay: float) -> "asyncio.Task[Shown | None] | None":
        """Analyse the document once it has rested for `delay` seconds, in the place of what was under way."""
        document = self.workspace.text_documents.get(uri)
        if document is None or not is_python(uri, document.language_id):
            return None
        if (pending := self._tasks.get(uri)) is not None:
            pending.cancel()
        self._tasks[uri] = asyncio.ensure_future(self._analysed(uri, delay))
        return self._tasks[uri]

    async def _analysed(self, uri: str, delay: float) -> Shown | None:
        await asyncio.sleep(delay)
        assert self._analyst is not None
        text, others = self._text(uri), list(self._others(uri))
        codec = self.workspace.position_codec
        found = await self._analyst.check(text, others, self._epoch)
        told = await asyncio.to_thread(diagnostics, found, others, codec)
        versioned = clients.takes_versions(self.client_capabilities)
        shown = Shown(found, told, text.positions(codec), versioned)
        if not self._holds(shown):
            return None
        before, self._shown[uri] = self._shown.get(uri), shown
        self._tell(found, before)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, told, text.version))
        if self._is_behind(found, others):
            # Not at once: that would cancel the task that we are in.
            asyncio.get_running_loop().call_soon(self._refresh, uri, _TYPING_SECONDS)
        return shown

    def _text(self, uri: str) -> OpenText:
        document = self.workspace.text_documents[uri]
        return OpenText(uri, path_of(uri), document.version, document.source)

    def _others(self, uri: str) -> Iterator[OpenText]:
        for other, document in self.workspace.text_documents.items():
            if other != uri and is_python(other, document.language_id):
                yield self._text(other)

    def _resting_on(self, uri: str) -> list[str]:
        """The documents on whose findings the one at `uri` had a say."""
        path = path_of(uri)
        return [other for other, shown in self._shown.items() if other != uri and path in shown.found.rests_on]

    def _is_behind(self, found: Found, others: list[OpenText]) -> bool:
        """Whether a text that had a say changed while `found` was worked out: nobody knew yet that it rests on that."""
        then = {one.path: one.text for one in others}
        now = {one.path: one.text for one in self._others(found.text.uri)}
        return any(then.get(path) != now.get(path) for path in found.rests_on)

    def _holds(self, shown: Shown) -> bool:
        """Whether the document is still open, with the text that was analysed."""
        text = shown.found.text
        document = self.workspace.text_documents.get(text.uri)
        return document is not None and document.version == text.version and document.source == text.text

    def _tell(self, found: Found, before: Shown | None) -> None:
        """What keeps a document from being analysed, not again for each change of it."""
        uri, trouble, reason = found.text.uri, found.trouble, found.reason
        if trouble is not None and trouble not in self._troubles.values():
            message = types.ShowMessageParams(types.MessageType.Error, f"devfix: {trouble}")
            self.window_show_message(message)
        self._troubles.pop(uri, None)
        if trouble is not None:
            self._troubles[uri] = trouble
        if reason is not None and (before is None or before.found.reason != reason):
            self.window_log_message(types.LogMessageParams(types.MessageType.Log, f"{found.text.label}: {reason}"))
