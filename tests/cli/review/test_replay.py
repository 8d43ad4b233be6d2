"""The accepted fixes are run from within the review; each has its verdict then."""

from contextlib import nullcontext
from pathlib import Path

import pytest
from devfix.review.screens.app import ReviewApp

from ..conftest import Devfix
from .conftest import Shown, driven, session_of
from .test_plain import asked, editor_that
from .test_screen import decided, sees, sees_not

pytestmark = pytest.mark.usefixtures("library")

ERROR = "Expected all tensors to be on the same device, but got cpu"
SCRIPT = f"# torch\ndef wrong(x):\n    raise RuntimeError({ERROR!r})\nright = print\nwrong(1)\n"


@pytest.fixture
def script(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (tree / "pyproject.toml").touch()
    (tree / "run.py").write_text(SCRIPT)
    return tree / "run.py"


def test_there_is_nothing_to_replay_before_a_fix_is_accepted(script: Path) -> None:
    driven("p", sees("nothing to replay: no fix is accepted"), "P", sees("nothing was replayed yet"))


def test_the_verdict_is_shown_with_the_fix(script: Path) -> None:
    driven(
        "y",
        "p",
        sees("5 DVF101 confirmed", "replay confirmed: on cpu: RuntimeError at run.py:3 is gone", "P shows the report"),
        "P",
        sees("replay run.py on cpu: confirmed", "before: RuntimeError at run.py:3 after"),
        "escape",
        "u",
        sees("(with other fixes than are accepted now)"),
    )
    assert script.read_text() == SCRIPT


@pytest.mark.slow
def test_a_function_that_nothing_runs_is_driven(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    (tree / "pyproject.toml").touch()
    (tree / "lib.py").write_text(
        "import torch\n\n\ndef wrong(n, x):\n    return torch.arange(n)\n\n\n"
        "def right(n, x):\n    return torch.arange(n, device=x.device)\n\n\n"
        "def counted(x):\n    return x + wrong(x.shape[-1], x)\n"
    )

    def replays_simulated(shown: Shown) -> None:
        from devfix.replay import ReplayOptions

        shown.app.main._replay_options = lambda: ReplayOptions(on="simulated")

    driven(
        "y", replays_simulated, "p", sees("DVF101 confirmed"), "P", sees("a driver of devfix's own called `counted`")
    )


@pytest.mark.slow
def test_after_an_edit_a_verdict_says_nothing(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ReviewApp, "suspend", lambda _app: nullcontext())
    editor_that(script.parent, monkeypatch, "path.read_text()")
    confirmed = sees("DVF101 confirmed")
    driven("y", "p", confirmed, "e", confirmed)
    editor_that(script.parent, monkeypatch, "path.write_text(path.read_text() + '# more\\n')")
    driven("y", "p", confirmed, "e", sees_not("confirmed"), decided("y"))


@pytest.mark.slow
def test_what_was_refuted_is_said_before_writing(script: Path) -> None:
    script.write_text("# torch\ndef right(x):\n    raise ValueError\nwrong = print\nwrong(1)\n")
    driven("y", "p", sees("DVF101 refuted"), "w", sees("refuted by the replay: run.py:5 DVF101"))


def test_a_replay_that_cannot_begin(script: Path) -> None:
    def replays_nowhere(shown: Shown) -> None:
        from devfix.replay import ReplayOptions

        shown.app.main._replay_options = lambda: ReplayOptions(on="npu")

    driven("y", replays_nowhere, "p", sees("replay: "), decided("y"), "q")


def test_the_prompt_replays_too(tree: Path, script: Path, devfix: Devfix) -> None:
    (tree / "second.py").write_text("# torch\nwrong = right = print\nwrong(2)\n")
    code, out, _ = asked(devfix, "p y p n w n", "--on", "cpu")
    assert code == 1
    assert "nothing to replay: no fix is accepted" in out
    assert "replay run.py on cpu: confirmed" in out


@pytest.mark.slow
def test_verdicts_of_what_was_judged_are_kept_by_finding(script: Path) -> None:
    session = session_of()
    driven("y", "p", session=session)
    assert [judged.kind for judged in session.verdicts.values()] == ["confirmed"]
