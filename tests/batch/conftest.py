"""What these tests share."""

from ..chromium import browser, served, view
from ..cli.conftest import site

__all__ = ["browser", "served", "site", "view"]
