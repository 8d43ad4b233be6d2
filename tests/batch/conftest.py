"""What these tests share."""

from ..chromium import browser, served, tab, view
from ..cli.conftest import site

__all__ = ["browser", "served", "site", "tab", "view"]
