"""Sphinx configuration; build with ``python -m sphinx -W docs docs/_build``, quickly with ``-D plot_gallery=0``."""

import skglex

project = "skglex"
author = "The skglex developers"
release = version = skglex.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "code"

html_title = "skglex"
html_theme = "pydata_sphinx_theme"
html_theme_options = {"show_prev_next": False, "show_toc_level": 2, "secondary_sidebar_items": ["page-toc"]}
html_sidebars = {"index": [], "api": [], "how_to/index": []}
html_show_sourcelink = False

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # The docstrings state the types.
numpydoc_show_class_members = False

linkcheck_ignore = ["https?://"]  # Only links to files are left to check; Sphinx checks links between pages.

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "doc_module": ("skglex",),
    "backreferences_dir": None,
}
