"""The site has every page and every public name, its links lead somewhere, and from its first page
one comes to all others."""

from __future__ import annotations

import inspect
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from test_docs import ROOT
from test_public_names import MODULES, names_of


class Page(HTMLParser):
    """The anchors of a page, and where its links lead."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.links.add(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".venv").exists():
        pytest.skip("scripts/make_site works in the environment of a clone")
    folder = tmp_path_factory.mktemp("site") / "html"
    command = [ROOT / "scripts" / "make_site", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """What Sphinx made; doxygen's pages are thousands, and have links that scripts make."""
    return {
        path: Page(path)
        for path in site.rglob("*.html")
        if path.relative_to(site).parts[0] != "cpp"
    }


def target(page: Path, link: str) -> tuple[Path, str] | None:
    """The file and the anchor that a link of a page leads to; None for one that leaves the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    return (page.parent / unquote(parts.path)).resolve() if parts.path else page, parts.fragment


def test_links_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if not (leads := target(path, link)):
                continue
            file, anchor = leads
            known = file.exists() and (
                not anchor or file not in pages or unquote(anchor) in pages[file].anchors
            )
            broken += [] if known else [f"{path.relative_to(site)}: {link}"]
    assert sorted(broken) == []


def test_every_page_is_reached_from_the_first(site: Path, pages: dict[Path, Page]) -> None:
    reached, to_visit = set(), [site / "index.html"]
    while to_visit:
        path = to_visit.pop()
        if path not in reached and path in pages:
            reached.add(path)
            to_visit += [leads[0] for link in pages[path].links if (leads := target(path, link))]
    assert {p.relative_to(site) for p in pages.keys() - reached} == set()
    for page in (ROOT / "docs").glob("*.md"):
        assert site / f"{page.stem}.html" in reached
    for name in ("overview", "contributing", "changelog", "examples"):
        assert site / f"{name}.html" in reached


def test_the_index_has_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    missing = [p.name for p in (ROOT / "docs").glob("*.md") if f"]({p.name})" not in index]
    assert missing == ["index.md"]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_of_python_has_an_anchor(
    module: str, site: Path, pages: dict[Path, Page]
) -> None:
    page = pages[site / "api" / f"{module}.html"]
    names = [name for name, value in names_of(module) if not inspect.ismodule(value)]
    assert [name for name in names if f"{module}.{name}" not in page.anchors] == []


def test_every_public_header_has_a_page(site: Path, pages: dict[Path, Page]) -> None:
    links = pages[site / "reference.html"].links
    text = (site / "reference.html").read_text()
    headers = [
        str(path.relative_to(ROOT / "include"))
        for path in (ROOT / "include" / "farcall").rglob("*.h")
    ]
    assert len(headers) > 50
    assert [header for header in headers if f"<code>{header}</code>" not in text] == []
    assert all((site / link).exists() for link in links if link.startswith("cpp/"))


@pytest.mark.parametrize(
    ("page", "name", "words"),
    [
        ("namespacefarcall", "clear_caches", "Clears the caches of programs of eager operations"),
        ("namespacefarcall", "linear_transpose", "The transpose of a linear function"),
        ("namespacefarcall_1_1ffi", "Buffer", ""),
        ("namespacefarcall_1_1numpy", "mean", ""),
        ("classfarcall_1_1FfiCall", "operator()", "Returns as many results as result_types"),
    ],
)
def test_cpp_pages_have_what_the_headers_say(site: Path, page: str, name: str, words: str) -> None:
    text = re.sub(r"<[^>]+>", "", (site / "cpp" / f"{page}.html").read_text())
    assert name in text
    assert words in text
