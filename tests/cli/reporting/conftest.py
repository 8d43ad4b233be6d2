"""What these tests share."""

from ...chromium import browser, served, tab, view

__all__ = ["browser", "served", "tab", "view"]
