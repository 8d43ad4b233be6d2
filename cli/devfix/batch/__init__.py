"""Many repositories through find, rewrite, replay, commit and report; stopped and resumed at any point."""
