"""Pages use standard words instead of the phrases that the project avoids."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md")))
GENERATED = {"architecture.md", "trusted-modules.md"}  # first lines of docstrings, which follow the source
AVOIDED = re.compile(
    r"\bis none\b|\bare none\b|\bis no (?!longer|such|more)[a-z]+\b|\bheld against\b|\bstands? beside\b|\bwho looks\b"
    r"|\bnobody\b|\bwhoever\b|\bof one's own\b|\bis told\b|\bso many\b|\bthe field's\b|\b(?:in a|one) sentence\b"
    r"|\btold apart\b|\btells? apart\b|\bagainst the print\b|\btaken back\b|\bfor ever\b"
)
MOST = 10


def phrases(page):
    """Yield (line, phrase) for every avoided phrase of a page."""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        for match in AVOIDED.finditer(line):
            yield number, match[0]


def test_pages_use_standard_words():
    phrases_found = [(page.name, *each) for page in PAGES if page.name not in GENERATED for each in phrases(page)]
    assert len(phrases_found) <= MOST, phrases_found


@pytest.mark.parametrize("text", ["It is no matter of taste.", "held against the formula", "the field's samplers"])
def test_an_avoided_phrase_is_found(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text)
    assert list(phrases(page))


def test_plain_english_passes(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("There is no such file. It is no longer used. The model is compared with its problem.")
    assert list(phrases(page)) == []
