"""Decompose tree ensembles exactly into main effects and interactions, with scikit-learn's API.

Start with one of the estimators:

- `GlexDecomposer` decomposes a fitted model into components, and computes SHAP values, partial dependence and
  importances from them.
- `FeatureRemover` predicts with a fitted model without the effects of some features.
- `ComponentModel` predicts from the components of a model that one keeps, as one has edited them.
- `RandomPlantedForestRegressor` and `RandomPlantedForestClassifier` are models that consist of components.

Or call `report`, which writes all about a fitted model into one HTML file, a `Report`.

These modules continue from a fitted estimator:

- `skglex.inspection` computes importances and the strength of interactions, and explains differences between rows,
  groups of rows, data sets and models.
- `skglex.plotting` plots components, importances, SHAP values and the explanation of a single row.
- `skglex.export` stores components, and converts them to explainable boosting machines and to the formats of shap and
  shapiq.
- `skglex.components` describes the components that a decomposer returns, and their axes.
- `skglex.datasets` loads and simulates data for examples.
- `skglex.exceptions` contains the errors and warnings.
"""

from typing import TYPE_CHECKING, Any

from skglex._component_model import ComponentModel
from skglex._decomposer import GlexDecomposer
from skglex._remover import FeatureRemover
from skglex._version import __version__ as __version__

if TYPE_CHECKING:
    from skglex._explorer import Report, report
    from skglex._planted import RandomPlantedForestClassifier, RandomPlantedForestRegressor

__all__ = [
    "ComponentModel",
    "FeatureRemover",
    "GlexDecomposer",
    "RandomPlantedForestClassifier",
    "RandomPlantedForestRegressor",
    "Report",
    "report",
]


def __getattr__(name: str) -> Any:
    """Import on first access what slows down the import: the kernels of planted forests, and reports."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from skglex import _explorer, _planted

    return getattr(_explorer if name in _explorer.__all__ else _planted, name)


def __dir__() -> list[str]:
    """List the public names, including those that are not imported yet."""
    return sorted({*globals(), *__all__})
