"""Name the classes of a model for its page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained


def with_classes(view: Explained, y: NDArray[Any] | None, names: list[str] | None) -> Explained:
    """Return a view that names the classes of its model.

    A booster does not say that it is a classifier. It counts as one if names are given, or if the target has nothing
    but the numbers of its classes.

    Parameters
    ----------
    view : Explained
    y : ndarray of shape (n_samples,), or None
        The target.
    names : list of str, or None
        The names that the user gives.

    Raises
    ------
    ValueError
        The names do not fit the model.
    """
    response = view.source.response
    n = response.n_classes
    if names is None:
        if n is None or response.is_classifier or y is None or y.ndim != 1 or not np.isin(y, range(n)).all():
            return view
        names = [str(label) for label in range(n)]
    if n is None:
        raise ValueError(
            f"class_names gives the names {names}, but the {type(view.fitted.model).__name__} does not decide between "
            "classes. Leave class_names out"
        )
    if len(names) != n or len(set(names)) < n:
        classes = list(range(n)) if view.classes is None else np.asarray(view.classes).tolist()
        raise ValueError(
            f"class_names must be a different name for each of the classes {classes}; got {names}"
        )
    if not response.is_classifier:
        source = replace(view.source, response=replace(response, classes=np.arange(n)))
        view = replace(view, fitted=replace(view.fitted, source=source))
    return replace(view, class_names=names, output_labels=None if view.output_labels is None else names)
