"""What a notebook shows of a fitted decomposer: scikit-learn's diagram and its largest components."""

from __future__ import annotations

from contextlib import suppress
from html import escape
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import estimator_html_repr

from skglex._utils._budgets import budgets

_SHOWN = 10
_IMPORTANCES = ("component_importances_", "feature_importances_")
_OF_COMPONENTS = ("component_importances_", "components_", "n_components_")
# A component without a table takes about as long as so many that have one.
_STREAMED = 100


class ComponentsHTMLMixin:
    """Adds a table of the largest components to scikit-learn's diagram."""

    def _html_repr(self) -> str:
        table = ""
        with suppress(Exception):  # not fitted, or too many components: the diagram alone
            table = _largest_components(self)
        return str(estimator_html_repr(self)) + table

    # scikit-learn before 1.7 does not ask `_html_repr`

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle

    # The diagram of scikit-learn 1.8 and later lists the values of all attributes that `dir` names, and `dir`
    # itself, say for completion, asks for each of them. Neither shall compute importances or raise.

    def _get_fitted_attr_html(self, doc_link: str = "") -> Any:
        self.__dict__["_in_diagram"] = True
        try:
            return super()._get_fitted_attr_html(doc_link)  # type: ignore[misc]
        finally:
            del self.__dict__["_in_diagram"]

    def __dir__(self) -> list[str]:
        state = self.__dict__
        hidden = set(_IMPORTANCES + _OF_COMPONENTS) if "_lazy" not in state else set()
        if state.get("_too_many") is not None:
            hidden.update(_OF_COMPONENTS)
        if "_in_diagram" in state:
            hidden.update(name for name in _IMPORTANCES if name.rstrip("_") not in state.get("_lazy", {}))
        shown = [name for name in object.__dir__(self) if name not in hidden]
        return [name for name in shown if name in _IMPORTANCES + _OF_COMPONENTS or hasattr(self, name)]


def _largest_components(decomposer: Any) -> str:
    """An HTML table, or nothing where it would take long."""
    tabulated = decomposer._decomposition.layout(decomposer._execution).tabulated
    n_rows = decomposer._background.n_rows
    look_ups = n_rows * (tabulated.sum() + _STREAMED * (~tabulated).sum())
    if "component_importances" not in decomposer._lazy and look_ups > budgets.html_look_ups:
        return ""
    largest = decomposer.strongest_components(_SHOWN)
    importances = decomposer.component_importances_.reshape(len(tabulated), -1).sum(axis=1)
    outputs = "" if decomposer._n_outputs == 1 else f", summed over {decomposer._n_outputs} outputs"
    rows = "".join(
        f"<tr><td style='text-align:left'>{escape(c.name)}</td><td>{c.order}</td>"
        f"<td>{importances[c._position]:.4g}</td></tr>"
        for c in largest
    )
    intercept = ", ".join(f"{value:.4g}" for value in np.ravel(decomposer.intercept_)[:_SHOWN])
    return (
        "<table class='skglex-components'><caption style='text-align:left'>"
        f"The {len(largest)} largest of {len(tabulated):,} components; intercept {intercept}</caption>"
        "<thead><tr><th style='text-align:left'>component</th><th>order</th>"
        f"<th>mean absolute value on the background (margin scale{outputs})</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )
