"""`devfix repair`: run, diagnose, patch the copy, run again, until it runs clean or nothing more can be done."""

from devfix.repairing.command import Ask, repair

__all__ = ["Ask", "repair"]
