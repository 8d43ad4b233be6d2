"""Replay: run a changed script before and after its patch, in a copy of its tree, and say what that proves."""

from devfix.replay.backends import CHOICES, BackendError
from devfix.replay.changes import Change
from devfix.replay.options import ReplayOptions
from devfix.replay.programs import Program, ProgramError, parse_command, suite_of
from devfix.replay.replaying import (
    choose_backend,
    replay_on,
    replay_program,
    replay_suite,
    run_alone,
    run_replays,
    runs_to_come,
)
from devfix.replay.report import as_json, lone_as_json, reasons, render, render_lone
from devfix.replay.results import FixResult, LoneRun, ReplayResult, SuiteReplay
from devfix.replay.stage import Progress
from devfix.replay.verdict_kinds import Kind, Verdict
from devfix.replay.workspace import Limits, WorkspaceError, project_root

__all__ = [
    "CHOICES",
    "BackendError",
    "Change",
    "FixResult",
    "Kind",
    "Limits",
    "LoneRun",
    "Program",
    "ProgramError",
    "Progress",
    "ReplayOptions",
    "ReplayResult",
    "SuiteReplay",
    "Verdict",
    "WorkspaceError",
    "as_json",
    "choose_backend",
    "lone_as_json",
    "parse_command",
    "project_root",
    "reasons",
    "render",
    "render_lone",
    "replay_on",
    "replay_program",
    "replay_suite",
    "run_alone",
    "run_replays",
    "runs_to_come",
    "suite_of",
]
