"""Trace → one self-contained HTML page, a picture, or plain text.

A `Recording` watches a run and keeps it small; with the trace it becomes a `Panel`, and panels side by side a `View`,
which `render` writes as a page, `picture` as an SVG, `text` as lines. Nothing here runs a model: `unmask.views` does,
and hands over what it saw.
"""
