"""Sphinx's configuration of the site. scripts/make_site prepares the folder that it works on."""

import os

import farcall

project = "farcall"
author = "the farcall authors"
copyright = author
version = release = farcall.__version__
root_doc = "index"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
autodoc_typehints = (
    "none"  # the signatures of native functions have none, and the docstrings say more
)
autodoc_member_order = "alphabetical"
napoleon_numpy_docstring = False
napoleon_use_ivar = True
suppress_warnings = ["ref.python"]  # exceptions have names in two modules
toc_object_entries = (
    False  # thousands of names; each page of a module begins with a list of its own
)
add_module_names = False
highlight_language = "text"

html_theme = "furo"
html_title = f"farcall {release}"
html_domain_indices = html_copy_source = html_show_sourcelink = html_show_sphinx = (
    html_show_copyright
) = False
html_extra_path = [os.environ["FARCALL_SITE_FILES"]]
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
