"""Makes the folder that Sphinx reads: the Markdown pages with links among them, and a page for each
public module and for the headers.

    python make_sources.py FOLDER TAGS    TAGS is the tag file that doxygen wrote of the headers
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import farcall

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Pages outside of docs/, and their names in the site.
ELSEWHERE = {
    "README.md": "overview.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "examples/README.md": "examples.md",
}
PAGES = {ROOT / path: name for path, name in ELSEWHERE.items()} | {
    path: path.name for path in DOCS.glob("*.md")
}
LINK = re.compile(r"(?<=\]\()([^)#\s]+)")


# ---- Markdown ----


def with_links(page: Path) -> str:
    """The text of a page, its links leading to where the other pages are in the site."""

    def moved(match: re.Match[str]) -> str:
        if "://" in match[1]:
            return match[1]
        target = (page.parent / match[1]).resolve()
        if target.is_dir():
            target = target / ("index.md" if target == DOCS else "README.md")
        if target in PAGES:
            return PAGES[target]
        return str(target.relative_to(DOCS)) if target.is_relative_to(DOCS) else match[1]

    return LINK.sub(moved, page.read_text())


def sections(index: str) -> list[tuple[str, list[str]]]:
    """The headings of the index, each with the pages of its table."""
    _, *parts = re.split(r"^## (.*)\n", index, flags=re.MULTILINE)
    return [
        (heading, re.findall(r"^\| \[.*?\]\((.*?)\)", text, re.MULTILINE))
        for heading, text in zip(parts[::2], parts[1::2], strict=True)
    ]


def toctree(pages: list[str], *options: str) -> str:
    return "\n".join(["\n```{toctree}", ":hidden:", *options, "", *pages, "```\n"])


def titles_for_names(index: str) -> str:
    """A table of pages shows their titles: on paper, names of files lead to them as well."""
    return re.sub(r"^\| \[.*?\]\(", "| [](", index, flags=re.MULTILINE)


# ---- Python ----


def public_modules() -> list[ModuleType]:
    names = [farcall.__name__]
    for module in pkgutil.walk_packages(farcall.__path__, "farcall."):
        if not any(part.startswith(("_", "libfarcall")) for part in module.name.split(".")):
            names.append(module.name)
    return [importlib.import_module(name) for name in names]


def directive(path: str, value: object, documented: dict[int, str]) -> str:
    """What documents one name. A thing of several names is described at the first of them."""
    name = path.rsplit(".", 1)[1]  # Sphinx puts the module before it
    kind = "class" if inspect.isclass(value) else "function" if callable(value) else "data"
    if kind == "data":
        return f".. py:data:: {name}\n   :value: {value!r}\n"
    first = documented.setdefault(id(value), path)
    if first != path:
        return f".. py:{kind}:: {name}\n\n   Another name of :py:obj:`{first}`.\n"
    origin = (getattr(value, "__module__", None) or "").split(".")[0]
    if origin != "farcall":
        return f".. py:{kind}:: {name}\n\n   That of {origin}.\n"
    return f".. auto{kind}:: {path}\n" + ("   :members:\n" if kind == "class" else "")


def module_page(module: ModuleType, documented: dict[int, str]) -> str:
    title = module.__name__
    values = {
        f"{title}.{name}": getattr(module, name)
        for name in sorted(module.__all__, key=lambda name: (name.lower(), name))
    }
    # A module of the package has its own page.
    names = {path: value for path, value in values.items() if not inspect.ismodule(value)}
    links = " ".join(f":py:obj:`~{path}`" for path in names)
    heading = f"{title}\n{'=' * len(title)}"
    parts = [heading, f".. py:module:: {title}", inspect.getdoc(module) or "", links]
    return "\n\n".join(
        [*parts, *(directive(path, value, documented) for path, value in names.items())]
    )


def first_sentence(text: str | None) -> str:
    return re.split(r"(?<=\.)\s|\n\n", (text or "").strip(), maxsplit=1)[0].replace("\n", " ")


# ---- C++ ----


def first_comment(header: Path) -> str:
    """What a header says of itself, as plain text."""
    comment = re.match(r"(?://.*\n)+|/\*(?s:.*?)\*/", header.read_text())
    return re.sub(r"^(?://|/\*| \*/?) ?", "", comment[0], flags=re.MULTILINE) if comment else ""


def header_rows(tags: Path) -> list[str]:
    """A row for each public header that doxygen has a page of."""
    rows = {}
    for compound in ElementTree.parse(tags).getroot().findall("compound[@kind='file']"):
        folder, name, page = (compound.findtext(tag) or "" for tag in ("path", "name", "filename"))
        header = ROOT / "include" / folder / name
        path = header.relative_to(ROOT / "include")
        about = first_sentence(first_comment(header)).replace("|", "\\|").replace("<", "&lt;")
        rows[path] = f"| <a href='cpp/{page}'><code>{path}</code></a> | {about} |"
    return [rows[path] for path in sorted(rows)]


def reference(tags: Path) -> str:
    modules = public_modules()
    python = [f"| [](api/{m.__name__}.rst) | {first_sentence(m.__doc__)} |" for m in modules]
    head = "| {} | |\n| --- | --- |"
    return "\n".join(
        [
            "\n## Python\n",
            head.format("module"),
            *python,
            "\n## C++\n",
            "The <a href='cpp/index.html'>pages of C++</a> are made by doxygen.\n",
            head.format("header"),
            *header_rows(tags),
            toctree([f"api/{module.__name__}" for module in modules]),
        ]
    )


def main(folder: Path, tags: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "api").mkdir(parents=True)
    shutil.copytree(DOCS / "pictures", folder / "pictures")
    texts = {name: with_links(page) for page, name in PAGES.items()}
    texts["index.md"] = titles_for_names(texts["index.md"]) + "".join(
        toctree(pages, f":caption: {heading}") for heading, pages in sections(texts["index.md"])
    )
    texts["reference.md"] += reference(tags)
    texts["overview.md"] = texts["overview.md"].replace("# farcall\n", "# Overview\n", 1)
    for name, text in texts.items():
        (folder / name).write_text(text)
    documented: dict[int, str] = {}
    for module in public_modules():
        page = folder / "api" / f"{module.__name__}.rst"
        page.write_text(module_page(module, documented))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
