"""A trace shows itself on a page."""

from browser import browser, open_page  # noqa: F401
