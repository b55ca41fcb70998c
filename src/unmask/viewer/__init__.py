"""Trace → one self-contained HTML page, a picture, or plain text."""
