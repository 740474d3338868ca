"""The reference that is made from docstrings and headers has what users look for."""

import re
import subprocess
from pathlib import Path

import farcall
import pytest
from test_docs import ROOT


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".venv").exists():
        pytest.skip("scripts/make_reference works in the environment of a clone")
    folder = tmp_path_factory.mktemp("reference")
    command = [ROOT / "scripts" / "make_reference", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_python_pages_have_every_public_name(reference: Path) -> None:
    for module in (farcall, farcall.numpy, farcall.lax, farcall.ffi, farcall.nn):
        page = reference / "python" / f"{module.__name__.replace('.', '/')}.html"
        text = page.read_text()
        names = [name for name in module.__all__ if callable(getattr(module, name))]
        assert names
        assert [name for name in names if f'id="{name}"' not in text] == []


def test_private_modules_have_no_page(reference: Path) -> None:
    assert not list((reference / "python").rglob("_*.html"))


@pytest.mark.parametrize(
    ("page", "name", "words"),
    [
        ("namespacefarcall", "clear_caches", "Forgets the programs of eager operations"),
        ("namespacefarcall", "linear_transpose", "The transpose of a function that is linear"),
        ("namespacefarcall_1_1ffi", "Buffer", ""),
        ("namespacefarcall_1_1numpy", "mean", ""),
        ("classfarcall_1_1FfiCall", "operator()", "The results, as many as result_types"),
    ],
)
def test_cpp_pages_have_what_the_headers_say(
    reference: Path, page: str, name: str, words: str
) -> None:
    text = re.sub(r"<[^>]+>", "", (reference / "cpp" / f"{page}.html").read_text())
    assert name in text
    assert words in text
