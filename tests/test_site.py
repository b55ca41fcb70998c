"""The documentation site: built with warnings as errors, complete, and without requests to the network."""

import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import unmask

ROOT = Path(__file__).parents[1]
LOADING = {
    ("script", "src"),
    ("img", "src"),
    ("iframe", "src"),
    ("source", "src"),
    ("link", "href"),
    ("object", "data"),
}
BUILD = (sys.executable, "-m", "mkdocs", "build", "--strict")  # not --quiet: warnings would go uncounted
NAMED_ONLY = {"canonical", "next", "prev", "alternate"}  # relations of a <link> that load nothing


class Page(HTMLParser):
    """The resources that a page loads, its links and its anchors."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.links, self.anchors = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        relations = set((attributes.get("rel") or "").split())
        for name, value in attrs:
            if (tag, name) in LOADING and value and not relations & NAMED_ONLY:
                self.loads.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    completed = subprocess.run(
        [*BUILD, "--site-dir", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_docs_is_there(site, pages):
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {path.relative_to(site) for path in pages} == sources
    assert {
        Path(name) for name in ("index.html", "reference/api.html", "paper/items.html", "tutorials/prove-a-model.html")
    } <= sources


def test_links_and_images_resolve(pages):
    for path, page in pages.items():
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            where = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert where.exists(), f"{path.name} points to {target}"
            if parts.fragment and where.suffix == ".html":
                assert where not in pages or unquote(parts.fragment) in pages[where].anchors, f"{path.name}: {target}"


def outside(site, pages):
    """Return the resources that would be loaded from the network."""
    for path, page in pages.items():
        for target in page.loads:
            if urlsplit(target).netloc:
                yield f"{path.name} loads {target}"
    for path in site.rglob("*.css"):
        for target in re.findall(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""", path.read_text("utf-8")):
            yield f"{path.name} loads {target}"


def test_nothing_is_loaded_from_the_network(site, pages):
    assert list(outside(site, pages)) == []


def test_what_is_loaded_from_the_network_is_found(tmp_path):
    page = Page('<script src="https://cdn.example/x.js"></script><link rel="stylesheet" href="//fonts.example/a.css">')
    (tmp_path / "a.css").write_text('@import "https://fonts.example/b.css"; p { background: url(//x.example/c.png) }')
    assert len(list(outside(tmp_path, {tmp_path / "index.html": page}))) == 4
    assert (
        list(outside(tmp_path / "nowhere", {tmp_path / "a.html": Page('<link rel="canonical" href="https://x/">')}))
        == []
    )


def test_the_search_works_from_disk(site, browser):
    """Browsers refuse workers on file:// pages; `iframe-worker.js` replaces them."""
    page = browser.new_page()
    page.goto(f"file://{site}/index.html")
    page.click(".md-search__input")
    page.type(".md-search__input", "planner", delay=50)
    page.wait_for_selector(".md-search-result__item", timeout=30_000)
    page.close()


def test_a_warning_is_an_error(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[nowhere](nowhere.md)")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\n")
    completed = subprocess.run(BUILD, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert completed.returncode != 0
    assert "nowhere.md" in completed.stderr


def test_every_public_name_is_in_the_reference(site):
    text = (site / "reference" / "api.html").read_text(encoding="utf-8")
    assert [name for name in unmask.__all__ if f">{name}<" not in text] == []


def test_pictures_can_be_read_in_the_dark():
    """Each picture has its own background, and colours for both schemes."""
    pictures = sorted((ROOT / "docs" / "pictures").rglob("*.svg"))
    assert pictures
    for picture in pictures:
        text = picture.read_text(encoding="utf-8")
        assert re.search(r"prefers-color-scheme:\s*dark", text)
        assert re.search(r'<rect class="(card|paper)"', text)
        assert "aria-label" in text


def test_make_builds_it_in_the_same_way():
    recipe = re.search(r"^docs:.*\n\t(.*)$", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert recipe is not None
    assert recipe[1].endswith("$(BIN)/mkdocs build --strict")


def test_the_site_comes_with_the_developers_installation():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert [line for line in extras["dev"] if re.fullmatch(r"unmask\[.*\bdocs\b.*\]", line)]
    assert any(line.startswith("mkdocs-material") for line in extras["docs"])
