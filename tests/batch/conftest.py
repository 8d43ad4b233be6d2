"""What these tests share."""

from ..chromium import browser, served, view

__all__ = ["browser", "served", "view"]
