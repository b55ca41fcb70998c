"""A hook of MkDocs: links into the source, which the site does not contain, become the names of the files."""

import re

LINK = re.compile(r"\[([^\]]+)\]\((?:\.\./)+(?:src|tests)/[^)]*\)")


def on_page_markdown(markdown: str, **_: object) -> str:
    return LINK.sub(lambda link: f"`{link[1].strip('`')}`", markdown)
