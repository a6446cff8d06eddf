"""Sphinx configuration; build with ``python -m sphinx docs docs/_build``."""

import skglex

project = "skglex"
author = "The skglex developers"
release = version = skglex.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
default_role = "code"
html_theme = "pydata_sphinx_theme"

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings have them
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "doc_module": ("skglex",),
    "backreferences_dir": None,
}
