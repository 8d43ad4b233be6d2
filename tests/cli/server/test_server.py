"""`devfix server` as an editor sees it: a real process, a real client, the real library."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from ..conftest import TIERED, Devfix, install
from .conftest import PLAIN, SECONDS, Edit, EditInShared, Editor, applied

CORPUS = Path(__file__).parents[3] / "corpus"
LABELS = CORPUS / "DVF101-batch-not-moved" / "classifier-labels"
BUGGY, FIXED = (LABELS / "before.py").read_text(), (LABELS / "after.py").read_text()
STEP = """\
import torch


class Net(torch.nn.Module):
    def embed(self, x):
        with torch.autocast(device_type="cuda:0"):
            return self.layers(x)

    @torch.autocast(device_type="cuda", dtype=torch.float32)
    def forward(self, x):
        return self.layers(x)
"""
MASKS = (CORPUS / "DVF104-factory-without-device" / "masks-made-anew" / "before.py").read_text()
LOOP = "def train(model, loader, device):\n    for x, y in loader:\n        model(x.to(device))\n"
MAIN = """\
import torch
from torch import nn

from loop import train

if __name__ == "__main__":
    model = nn.Linear(4, 2)
    train(model, loader, torch.device("cuda"))
"""
DEPRECATED = 'import torch\n\nname, scaler = "😀😀", torch.cuda.amp.GradScaler()\n'
MODERN = DEPRECATED.replace("cuda.amp.GradScaler()", 'amp.GradScaler("cuda")')
ONE_LINE = '\ufeffimport torch; name, scaler = "😀", torch.cuda.amp.GradScaler()'
ONE_LINE_FIXED = ONE_LINE.replace("cuda.amp.GradScaler()", 'amp.GradScaler("cuda")')
EVERYWHERE = types.Range(types.Position(0, 0), types.Position(1000, 0))


def at(one: types.Diagnostic, text: str) -> str:
    """What a diagnostic on one line of `text` underlines, in UTF-16."""
    line = text.split("\n")[one.range.start.line].encode("utf-16-le")
    return line[2 * one.range.start.character : 2 * one.range.end.character].decode("utf-16-le")


def settings(tree: Path, text: str) -> None:
    (tree / "pyproject.toml").write_text(f"[tool.devfix]\n{text}\n")


# What must not be


def test_a_text_that_cannot_be_parsed_keeps_no_diagnostics(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        assert len(await editor.diagnostics(uri)) == 1
        broken = (BUGGY + "def (", BUGGY, "# coding: nonsense\n" + BUGGY, BUGGY, "# coding: ascii\nx = 'é'\n" + BUGGY)
        for version, text in enumerate(broken, 2):
            editor.change(uri, text, version)
            assert len(await editor.diagnostics(uri)) == (text == BUGGY)
        editor.change(uri, BUGGY + "def (\n", 10)
        editor.change(uri, BUGGY + "def (\n\n", 11)
        assert await editor.diagnostics(uri, lambda one: one.version == 11) == []
        assert await editor.actions(uri, EVERYWHERE) == []
        assert [message.partition(": ")[2][:12] for message in editor.logged] == [
            "syntax error",
            "unknown or c",
            "syntax error",
        ]

    edit_in_shared(session)


def test_nothing_is_told_of_a_version_that_is_gone(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        for version in range(2, 7):
            editor.change(uri, BUGGY + "\n" * version, version)
        editor.change(uri, FIXED, 7)
        assert await editor.diagnostics(uri, lambda one: one.version == 7) == []
        editor.close(uri)
        assert await editor.diagnostics(uri, lambda one: one.version is None) == []
        assert editor.told == []

    edit_in_shared(session)


def test_what_is_no_python_and_what_the_settings_leave_out_has_no_diagnostics(
    tree: Path, edit_in_shared: EditInShared
) -> None:
    settings(tree, 'exclude = ["old"]')
    (tree / "old").mkdir()
    (tree / "old" / "train.py").write_text("")

    async def session(editor: Editor) -> None:
        for name, language in (("notes.txt", "plaintext"), ("train.ipynb", "python")):
            document = types.TextDocumentItem((tree / name).as_uri(), language, 1, BUGGY)
            editor.open_document(document)
            assert await editor.actions(document.uri, EVERYWHERE) == []
        assert editor.told == []
        for name in ("train.py", "not_saved_yet.py"):
            assert await editor.diagnostics(editor.open(tree / "old" / name, BUGGY)) == []

    edit_in_shared(session)


@pytest.mark.slow
def test_settings_rules_baseline_and_mistakes(tree: Path, edit: Edit, devfix: Devfix) -> None:
    (tree / "train.py").write_text(BUGGY)
    settings(tree, 'ignore = ["DVF101"]')

    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        assert await editor.diagnostics(uri) == []
        settings(tree, "")
        editor.save(uri)
        assert len(await editor.diagnostics(uri)) == 1
        settings(tree, "nonsense = 1")
        editor.save(uri)
        assert await editor.diagnostics(uri) == []
        (message,) = editor.messages
        assert "[tool.devfix] nonsense: is not a setting of devfix" in message
        settings(tree, 'baseline = "known.json"')
        assert await asyncio.to_thread(devfix, "baseline", "--output-file", "known.json") is not None
        editor.save(uri)
        assert await editor.diagnostics(uri) == []

    settings(tree, 'ignore = ["DVF101"]')
    edit(session)


@pytest.mark.slow
def test_findings_do_not_stay_where_an_analysis_breaks_off(tree: Path, edit: Edit) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        assert len(await editor.diagnostics(uri)) == 1
        shutil.rmtree(tree)  # and with it the working directory of the server
        editor.change(uri, BUGGY + "\n", 2)
        assert await editor.diagnostics(uri) == []
        (message,) = editor.messages
        assert "FileNotFoundError" in message

    edit(session)


def test_an_edit_for_a_text_that_changed_meanwhile_is_refused(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        (action,) = await editor.actions(uri, EVERYWHERE, "source.fixAll")
        editor.change(uri, "\n" + BUGGY, 2)
        with pytest.raises(JsonRpcException, match="Content Modified"):
            await editor.client.code_action_resolve_async(action)

    edit_in_shared(session)


def test_without_its_extra_the_server_says_what_to_install(devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("devfix.server")]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("pygls", "pygls.lsp.server", "pygls.exceptions", "lsprotocol"):
        monkeypatch.setitem(sys.modules, name, None)
    ran = devfix("server")
    assert ran.code == 2
    assert ran.err == "devfix: error: devfix server needs pygls: pip install 'devfix[server]'\n"


# Diagnostics


def test_the_text_of_the_editor_counts_not_that_of_the_disk(tree: Path, edit_in_shared: EditInShared) -> None:
    (tree / "train.py").write_text("x = 1\n")

    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        (one,) = await editor.diagnostics(uri)
        assert (one.code, one.source, one.severity) == ("DVF101", "devfix", types.DiagnosticSeverity.Warning)
        assert at(one, BUGGY) == "criterion(model(x), y)"
        stops = [(stop.location.uri, stop.message) for stop in one.related_information or []]
        assert (uri, "`y` comes from the loader here, on the host") in stops
        editor.change(uri, FIXED, 2)
        assert await editor.diagnostics(uri) == []

    edit_in_shared(session)


def test_advice_is_information_and_what_is_deprecated_is_tagged(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        fixed, advice = await editor.diagnostics(editor.open(tree / "step.py", STEP))
        assert (fixed.severity, advice.severity) == (
            types.DiagnosticSeverity.Warning,
            types.DiagnosticSeverity.Information,
        )
        assert advice.message.endswith(
            "\ntake the device type from the data: `with torch.autocast(x.device.type, …)` inside the method"
        )
        uri = editor.open(tree / "old.py", DEPRECATED)
        (old,) = await editor.diagnostics(uri)
        assert list(old.tags or ()) == [types.DiagnosticTag.Deprecated]

    edit_in_shared(session)


def test_the_unsaved_text_of_another_file_has_its_say(tree: Path, edit_in_shared: EditInShared) -> None:
    (tree / "loop.py").write_text(LOOP)

    async def session(editor: Editor) -> None:
        main = editor.open(tree / "main.py", MAIN)
        (one,) = await editor.diagnostics(main)
        assert one.code == "DVF202"
        last = (one.related_information or [])[-1]
        assert (last.location.uri, last.location.range.start.line) == ((tree / "loop.py").as_uri(), 2)
        loop = editor.open(tree / "loop.py", LOOP.replace("model(x.to(device))", "model(x)"))
        assert await editor.diagnostics(loop) == []
        assert await editor.diagnostics(main) == []
        editor.close(loop)
        assert len(await editor.diagnostics(main, lambda told: bool(told.diagnostics))) == 1

    edit_in_shared(session)


@pytest.mark.slow
def test_another_file_that_changes_during_the_first_analysis_has_its_say(tree: Path, edit: Edit) -> None:
    (tree / "loop.py").write_text(LOOP)

    async def session(editor: Editor) -> None:
        main = editor.open(tree / "main.py", MAIN)
        await asyncio.sleep(0.1)  # the analysis is under way: its process takes longer to start
        editor.open(tree / "loop.py", LOOP.replace("model(x.to(device))", "model(x)"))
        assert await editor.diagnostics(main, lambda told: not told.diagnostics) == []

    edit(session)


@pytest.mark.parametrize(
    "encoding",
    [types.PositionEncodingKind.Utf8, pytest.param(types.PositionEncodingKind.Utf32, marks=pytest.mark.slow)],
)
def test_columns_are_in_the_units_that_the_client_asks_for(
    tree: Path, edit: Edit, encoding: types.PositionEncodingKind
) -> None:
    each = 4 if encoding is types.PositionEncodingKind.Utf8 else 1

    async def session(editor: Editor) -> None:
        (one,) = await editor.diagnostics(editor.open(tree / "old.py", DEPRECATED))
        assert one.range.start == types.Position(2, len('name, scaler = "", ') + 2 * each)

    edit(session, types.ClientCapabilities(general=types.GeneralClientCapabilities(position_encodings=[encoding])))


def test_characters_of_two_units_line_ends_marks_and_form_feeds(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        for number, (before, after, where) in enumerate(
            [
                (BUGGY.replace("\n", "\r\n"), FIXED.replace("\n", "\r\n"), "criterion(model(x), y)"),
                ("# \f\x0b\u2028\x85\n" + BUGGY, "# \f\x0b\u2028\x85\n" + FIXED, "criterion(model(x), y)"),
                (DEPRECATED, MODERN, "torch.cuda.amp.GradScaler()"),
                (f"\ufeff{DEPRECATED}", f"\ufeff{MODERN}", "torch.cuda.amp.GradScaler()"),
                (ONE_LINE, ONE_LINE_FIXED, "torch.cuda.amp.GradScaler()"),
            ]
        ):
            uri = editor.open(tree / f"{number}.py", before)
            (one,) = await editor.diagnostics(uri)
            assert at(one, before) == where
            fix, *_ = await editor.actions(uri, one.range)
            assert applied(before, fix.edit) == after

    edit_in_shared(session)


# Actions and hovers


def test_quick_fixes_are_for_a_version_and_say_what_is_unsafe(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        fix, silence = await editor.actions(uri, EVERYWHERE, "quickfix")
        assert (fix.title, fix.is_preferred, fix.kind) == ("Move `y` to `device`, as `x` is", True, "quickfix")
        (change,) = (fix.edit.document_changes if fix.edit else None) or []
        assert isinstance(change, types.TextDocumentEdit)
        assert (change.text_document.uri, change.text_document.version) == (uri, 1)
        assert applied(BUGGY, fix.edit) == FIXED
        assert silence.title == "Silence with # devfix: ignore[DVF101]"
        editor.change(uri, applied(BUGGY, silence.edit), 2)
        assert await editor.diagnostics(uri, lambda one: one.version == 2) == []

        uri = editor.open(tree / "masks.py", MASKS)
        unsafe, *_ = await editor.actions(uri, EVERYWHERE, "quickfix")
        assert unsafe.title == "Make it on `device` (unsafe)"
        assert not unsafe.is_preferred
        assert [one.kind for one in await editor.actions(uri, EVERYWHERE)] == ["quickfix"] * 2

    edit_in_shared(session)


def test_all_safe_fixes_at_once(tree: Path, edit_in_shared: EditInShared) -> None:
    both = BUGGY + "\n" + DEPRECATED.partition("\n\n")[2]

    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", both)
        (action,) = await editor.actions(uri, EVERYWHERE, "source.fixAll")
        assert (action.kind, action.edit) == ("source.fixAll.devfix", None)
        resolved = await editor.client.code_action_resolve_async(action)
        after = applied(both, resolved.edit)
        assert after.startswith(FIXED)
        assert 'torch.amp.GradScaler("cuda")' in after
        assert await editor.actions(uri, EVERYWHERE, "source.fixAllOthers") == []

    edit_in_shared(session)


def test_a_client_that_can_do_little_gets_edits_at_once_and_plain_ones(tree: Path, edit: Edit) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        (action,) = await editor.actions(uri, EVERYWHERE, "source.fixAll.devfix")
        assert action.edit is not None
        assert list(action.edit.changes or {}) == [uri]
        assert applied(BUGGY, action.edit) == FIXED

    edit(session, PLAIN)


@pytest.mark.slow
def test_the_rules_page_is_shown_on_a_diagnostic_only(tree: Path, edit_in_shared: EditInShared) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        (one,) = await editor.diagnostics(uri)
        hover = await editor.hover(uri, one.range.start)
        assert hover is not None
        assert hover.range == one.range
        assert isinstance(hover.contents, types.MarkupContent)
        assert hover.contents.kind is types.MarkupKind.Markdown
        assert hover.contents.value.startswith("**DVF101 batch-not-moved**\n\n")
        assert "Why" in hover.contents.value
        assert await editor.hover(uri, types.Position(0, 0)) is None

    edit_in_shared(session)


# Processes


@pytest.mark.slow
def test_an_analysis_that_dies_ends_neither_the_server_nor_the_next_one(tree: Path, edit: Edit) -> None:
    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", BUGGY)
        assert len(await editor.diagnostics(uri)) == 1
        for child in workers(editor.process.pid):
            os.kill(child, signal.SIGKILL)
        editor.change(uri, BUGGY + "\n", 2)
        await editor.diagnostics(uri, lambda one: one.version == 2)
        editor.change(uri, BUGGY + "\n\n", 3)
        assert len(await editor.diagnostics(uri, lambda one: one.version == 3)) == 1

    edit(session)


def workers(process: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines()]
    return [int(child) for child, parent, command in rows if int(parent) == process and "spawn_main" in command]


def test_it_ends_with_the_standard_input_of_its_client(tree: Path) -> None:
    ran = subprocess.run([sys.executable, "-m", "devfix", "server"], input=b"", capture_output=True, timeout=SECONDS)
    assert (ran.returncode, ran.stdout, ran.stderr) == (1, b"", b"")


def test_it_ends_with_its_client_though_its_input_stays_open(tree: Path) -> None:
    client = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    server = subprocess.Popen(
        [sys.executable, "-m", "devfix", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=tree
    )
    assert server.stdin is not None
    assert server.stdout is not None
    assert client.stdin is not None
    for message in (
        f'{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"processId":{client.pid},"capabilities":{{}}}}}}',
        '{"jsonrpc":"2.0","method":"initialized","params":{}}',
    ):
        server.stdin.write(f"Content-Length: {len(message)}\r\n\r\n{message}".encode())
    server.stdin.flush()
    assert server.stdout.readline().startswith(b"Content-Length")
    with client, client.stdin:
        client.stdin.write(b"\n")
    with server:
        assert server.wait(SECONDS) == 1


def test_suggestions_are_hints_where_the_settings_ask_for_them(site: Path, tree: Path, edit: Edit) -> None:
    install(site, TIERED)
    text = DEPRECATED + "from m import right, wrong\nx = wrong(1)  # suggestion 0.62\n"

    async def session(editor: Editor) -> None:
        uri = editor.open(tree / "train.py", text)
        assert [one.code for one in await editor.diagnostics(uri)] == ["DVF302"]
        editor.close(uri)
        settings(tree, "suggestions = true")
        uri = editor.open(tree / "other.py", text)
        _, hint = await editor.diagnostics(uri)
        assert (hint.code, hint.severity) == ("TIER101", types.DiagnosticSeverity.Hint)
        assert hint.message == "this is wrong (suggestion, 0.62)"
        fix, silence = await editor.actions(uri, hint.range, "quickfix")
        assert (fix.title, fix.is_preferred) == ("Say `right` (suggestion)", False)
        assert applied(text, fix.edit) == text.replace("wrong(1)", "right(1)")
        assert silence.title == "Silence with # devfix: ignore[TIER101]"
        (action,) = await editor.actions(uri, EVERYWHERE, "source.fixAll")
        resolved = await editor.client.code_action_resolve_async(action)
        assert applied(text, resolved.edit).endswith("x = wrong(1)  # suggestion 0.62\n")

    edit(session)
