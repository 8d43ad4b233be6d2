"""What a client says and asks, one function each."""

import logging
import os
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified

from devfix.rules.pages import page_named
from devfix.server import actions, clients
from devfix.server.language_server import DevfixServer
from devfix.server.texts import path_of

_WATCHED = ("**/*.py", "**/pyproject.toml", "**/.gitignore")


def new_server() -> DevfixServer:
    """A server that hears and answers."""
    logging.getLogger("pygls.protocol.json_rpc").addFilter(_is_worth_a_line)
    server = DevfixServer()
    server.feature(types.INITIALIZE)(_initialize)
    server.feature(types.INITIALIZED)(_initialized)
    server.feature(types.SHUTDOWN)(_shutdown)
    server.feature(types.TEXT_DOCUMENT_DID_OPEN)(_opened)
    server.feature(types.TEXT_DOCUMENT_DID_CHANGE)(_changed)
    server.feature(types.TEXT_DOCUMENT_DID_SAVE)(_saved)
    server.feature(types.TEXT_DOCUMENT_DID_CLOSE)(_closed)
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(_files_changed)
    offered = types.CodeActionOptions(code_action_kinds=actions.KINDS, resolve_provider=True)
    server.feature(types.TEXT_DOCUMENT_CODE_ACTION, offered)(_code_actions)
    server.feature(types.CODE_ACTION_RESOLVE)(_resolve)
    server.feature(types.TEXT_DOCUMENT_HOVER)(_hover)
    return server


def _is_worth_a_line(record: logging.LogRecord) -> bool:
    """Not that a text changed while it was worked on: the client is told, and that is all there is to it."""
    return not (record.exc_info and isinstance(record.exc_info[1], JsonRpcContentModified))


def _initialize(ls: DevfixServer, params: types.InitializeParams) -> None:
    root = path_of(clients.root_of(params) or "")
    if root is not None and Path(root).is_dir():
        os.chdir(root)  # labels, patterns and imports are then those of `devfix check` there
    ls.start()


async def _initialized(ls: DevfixServer, params: types.InitializedParams) -> None:
    if ls.process_id is not None:
        clients.end_with(ls.process_id, ls.close)
    if clients.watches_files(ls.client_capabilities):
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(one) for one in _WATCHED])
        registration = types.Registration("devfix-files", types.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
        await ls.client_register_capability_async(types.RegistrationParams([registration]))


def _shutdown(ls: DevfixServer, params: None) -> None:
    ls.stopped_properly = True


def _opened(ls: DevfixServer, params: types.DidOpenTextDocumentParams) -> None:
    ls.document_changed(params.text_document.uri, rested=True)


def _changed(ls: DevfixServer, params: types.DidChangeTextDocumentParams) -> None:
    ls.document_changed(params.text_document.uri)


def _saved(ls: DevfixServer, params: types.DidSaveTextDocumentParams) -> None:
    ls.files_changed()


def _closed(ls: DevfixServer, params: types.DidCloseTextDocumentParams) -> None:
    ls.document_closed(params.text_document.uri)


def _files_changed(ls: DevfixServer, params: types.DidChangeWatchedFilesParams) -> None:
    ls.files_changed()


async def _code_actions(ls: DevfixServer, params: types.CodeActionParams) -> list[types.CodeAction]:
    shown = await ls.up_to_date(params.text_document.uri)
    if shown is None:
        return []
    only = params.context.only
    found: list[types.CodeAction] = []
    if actions.asked(only, types.CodeActionKind.QuickFix):
        found += actions.quick_fixes(shown, params.range)
    if actions.asked(only, actions.FIX_ALL) and (action := actions.fix_all(shown)) is not None:
        if not clients.resolves_edits(ls.client_capabilities):
            action.edit = await ls.edit_for_all(shown)
        found.append(action)
    return found


async def _resolve(ls: DevfixServer, action: types.CodeAction) -> types.CodeAction:
    if action.edit is not None or not isinstance(action.data, dict):
        return action
    shown = ls.shown(action.data.get("uri", ""))
    if shown is None or shown.found.text.version != action.data.get("version"):
        raise JsonRpcContentModified
    action.edit = await ls.edit_for_all(shown)
    return action


def _hover(ls: DevfixServer, params: types.HoverParams) -> types.Hover | None:
    shown = ls.shown(params.text_document.uri)
    if shown is None:
        return None
    here = types.Range(params.position, params.position)
    under = {problem.code: diagnostic.range for problem, diagnostic in shown.at(here)}
    pages = [page for code in under if (page := page_named(code)) is not None]
    if not pages:
        return None
    text = "\n\n---\n\n".join(f"**{page.code} {page.name}**\n\n{page.text}" for page in pages)
    kind = clients.hover_kind(ls.client_capabilities)
    return types.Hover(types.MarkupContent(kind, text), next(iter(under.values())))
