"""Replay: run a changed script before and after its patch, in a copy of its tree, and say what that proves."""

from devfix.replay.backends import CHOICES
from devfix.replay.replaying import Change, FixResult, ReplayOptions, ReplayResult, run_replays
from devfix.replay.report import as_json, render
from devfix.replay.verdicts import Kind, Verdict

__all__ = [
    "CHOICES",
    "Change",
    "FixResult",
    "Kind",
    "ReplayOptions",
    "ReplayResult",
    "Verdict",
    "as_json",
    "render",
    "run_replays",
]
