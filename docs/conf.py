"""Sphinx configuration; build with ``python -m sphinx -W docs docs/_build``, quickly with ``-D plot_gallery=0``."""

import skglex

project = "skglex"
author = "The skglex developers"
release = version = skglex.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.intersphinx",
    "sphinx.ext.mathjax",
    "sphinx-mathjax-offline",
    "sphinx_copybutton",
    "myst_parser",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

# `name` is a link to the reference. A name that leads nowhere is an error; what has no page goes between ``two``.
default_role = "py:obj"
rst_prolog = ".. py:currentmodule:: skglex"
nitpicky = True
# Literal blocks without a language are formulas.
highlight_language = "none"

html_title = f"skglex {release}"
html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "right": []}  # These pages have no section.
html_show_sourcelink = False
html_static_path = ["_static"]
html_css_files = ["skglex.css"]
html_favicon = "_static/favicon.svg"

autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_typehints = "none"  # The docstrings state the types.
numpydoc_show_class_members = False

# The inventories list the names that our pages link to, so no network is needed. ``tools/inventories.py`` writes them.
intersphinx_mapping = {
    name: (url, f"_inventories/{name}.txt")
    for name, url in {
        "lightgbm": "https://lightgbm.readthedocs.io/en/stable/",
        "matplotlib": "https://matplotlib.org/stable/",
        "numpy": "https://numpy.org/doc/stable/",
        "pandas": "https://pandas.pydata.org/docs/",
        "shap": "https://shap.readthedocs.io/en/latest/",
        "sklearn": "https://scikit-learn.org/stable/",
        "xgboost": "https://xgboost.readthedocs.io/en/stable/",
    }.items()
}

linkcheck_ignore = ["https?://"]  # Only links to files are left to check; Sphinx checks links between pages.

copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/plot_",
    "doc_module": ("skglex",),
    "reference_url": {"skglex": None},
    "backreferences_dir": None,
    "write_computation_times": False,
    "capture_repr": ("_repr_html_",),
}
