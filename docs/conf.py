"""Sphinx configuration; build with ``python -m sphinx docs docs/_build``."""

import skglex

project = "skglex"
author = "The skglex developers"
release = version = skglex.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
default_role = "code"
html_theme = "pydata_sphinx_theme"

autosummary_generate = True
numpydoc_show_class_members = False
intersphinx_mapping = {
    "numpy": ("https://numpy.org/doc/stable", None),
    "sklearn": ("https://scikit-learn.org/stable", None),
}

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "doc_module": ("skglex",),
    "backreferences_dir": None,
}
