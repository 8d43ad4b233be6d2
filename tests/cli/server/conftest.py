"""An editor: a real client that talks with a real `devfix server` over its standard input and output."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

SECONDS = 60.0
"""Long enough for any machine: what is waited for comes, or the test fails."""

CAPABILITIES = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True)
    ),
    text_document=types.TextDocumentClientCapabilities(
        code_action=types.CodeActionClientCapabilities(
            resolve_support=types.ClientCodeActionResolveOptions(["edit"]), data_support=True
        )
    ),
)
PLAIN = types.ClientCapabilities()


class Editor:
    """Opens, changes and closes documents, and knows what it was told of them."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.opened: set[str] = set()
        self.told: list[types.PublishDiagnosticsParams] = []
        self.messages: list[str] = []
        self.logged: list[str] = []
        self._news = asyncio.Condition()
        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(self._take())
        self.client.feature(types.WINDOW_SHOW_MESSAGE)(lambda params: self.messages.append(params.message))
        self.client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: self.logged.append(params.message))

    def _take(self) -> Callable[[types.PublishDiagnosticsParams], Awaitable[None]]:
        async def take(params: types.PublishDiagnosticsParams) -> None:
            async with self._news:
                self.told.append(params)
                self._news.notify_all()

        return take

    async def start(self, root: Path, capabilities: types.ClientCapabilities) -> types.InitializeResult:
        await self.client.start_io(sys.executable, "-m", "devfix", "server")
        given = types.InitializeParams(capabilities, process_id=os.getpid(), root_uri=root.as_uri())
        result = await self.client.initialize_async(given)
        self.client.initialized(types.InitializedParams())
        return result

    async def stop(self) -> tuple[int, str]:
        """The exit code, and what the server wrote on standard error."""
        await self.client.shutdown_async(None)
        self.client.exit(None)
        process = self.process
        assert process.stderr is not None
        written = await process.stderr.read()
        await self.client.stop()
        assert process.returncode is not None
        return process.returncode, written.decode()

    @property
    def process(self) -> asyncio.subprocess.Process:
        process = self.client._server
        assert process is not None
        return process

    def open(self, path: Path, text: str, version: int = 1) -> str:
        document = types.TextDocumentItem(path.as_uri(), "python", version, text)
        self.open_document(document)
        return document.uri

    def open_document(self, document: types.TextDocumentItem) -> None:
        self.opened.add(document.uri)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))

    def change(self, uri: str, text: str, version: int) -> None:
        document = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, uri: str) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(uri)))

    def close(self, uri: str) -> None:
        self.opened.discard(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def forget(self) -> None:
        """Close all documents; what the server still had to say of them is said and dropped."""
        for uri in list(self.opened):
            self.close(uri)
        await self.hover((Path.cwd() / "none.py").as_uri(), types.Position(0, 0))  # answered after what was sent before
        self.told.clear()
        self.messages.clear()
        self.logged.clear()

    async def diagnostics(
        self, uri: str, wanted: Callable[[types.PublishDiagnosticsParams], bool] = lambda one: True
    ) -> list[types.Diagnostic]:
        """The first that is told of a document and is `wanted`, waited for; what came before it is dropped."""
        async with asyncio.timeout(SECONDS), self._news:
            while not (found := [one for one in self.told if one.uri == uri and wanted(one)]):
                await self._news.wait()
        del self.told[: self.told.index(found[0]) + 1]
        return list(found[0].diagnostics)

    async def actions(self, uri: str, where: types.Range, *only: str) -> list[types.CodeAction]:
        context = types.CodeActionContext([], list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), where, context)
        found = await self.client.text_document_code_action_async(params)
        return [one for one in found or [] if isinstance(one, types.CodeAction)]

    async def hover(self, uri: str, at: types.Position) -> types.Hover | None:
        params = types.HoverParams(types.TextDocumentIdentifier(uri), at)
        return await self.client.text_document_hover_async(params)


Session = Callable[[Editor], Awaitable[None]]
Edit = Callable[..., None]
EditInShared = Callable[[Session], None]


@pytest.fixture
def edit(tree: Path) -> Edit:
    """Runs a session of an editor that has the working directory open; the server has to end well and silent."""

    def run(session: Session, capabilities: types.ClientCapabilities = CAPABILITIES) -> None:
        async def main() -> None:
            editor = Editor()
            await editor.start(tree, capabilities)
            try:
                await session(editor)
            except BaseException:
                editor.process.kill()  # a thread would wait for it in the tests that follow
                await editor.process.wait()
                raise
            assert await editor.stop() == (0, "")

        asyncio.run(main())

    return run


class Shared:
    """An editor for many sessions one after another, each with documents of its own."""

    def __init__(self, root: Path) -> None:
        self._runner, self._editor = asyncio.Runner(), Editor()
        self._runner.run(self._editor.start(root, CAPABILITIES))

    @property
    def ended(self) -> bool:
        return self._editor.process.returncode is not None

    def run(self, session: Session) -> None:
        async def main() -> None:
            try:
                await session(self._editor)
                await self._editor.forget()
            except BaseException:
                self._editor.process.kill()
                await self._editor.process.wait()
                raise

        self._runner.run(main())

    def stop(self) -> None:
        with self._runner:
            if not self.ended:
                assert self._runner.run(self._editor.stop()) == (0, "")


@pytest.fixture(scope="module")
def _shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Shared]]:
    """The editor that sessions share; one whose session failed is followed by another."""
    started: list[Shared] = []

    def get() -> Shared:
        if not started or started[-1].ended:
            started.append(Shared(tmp_path_factory.getbasetemp()))
        return started[-1]

    yield get
    for one in started:
        one.stop()


@pytest.fixture
def edit_in_shared(tree: Path, _shared: Callable[[], Shared]) -> EditInShared:
    """Runs a session of an editor that has a folder above the working directory open, and goes on after it.

    The server has to end well and silent after the last one. To start one takes longer than most sessions.
    """
    return lambda session: _shared().run(session)


def applied(text: str, edit: types.WorkspaceEdit | None) -> str:
    """`text` with an edit made, in UTF-16 as clients count by default."""
    assert edit is not None
    if edit.document_changes is not None:
        (change,) = edit.document_changes
        assert isinstance(change, types.TextDocumentEdit)
        edits: list[Any] = list(change.edits)
    else:
        ((_, edits),) = ((uri, list(some)) for uri, some in (edit.changes or {}).items())
    lines = text.split("\n")
    starts = [sum(len(line.encode("utf-16-le")) + 2 for line in lines[:number]) for number in range(len(lines))]
    data = text.encode("utf-16-le")
    for one in sorted(edits, key=lambda one: one.range.start, reverse=True):
        first, last = (starts[at.line] + 2 * at.character for at in (one.range.start, one.range.end))
        data = data[:first] + one.new_text.encode("utf-16-le") + data[last:]
    return data.decode("utf-16-le")
