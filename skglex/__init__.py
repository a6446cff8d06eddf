"""skglex: exact functional decomposition of tree ensembles for scikit-learn."""

from typing import TYPE_CHECKING, Any

from skglex._decomposer import GlexDecomposer
from skglex._remover import FeatureRemover
from skglex._version import __version__ as __version__

if TYPE_CHECKING:
    from skglex._planted import RandomPlantedForestClassifier, RandomPlantedForestRegressor

__all__ = [
    "FeatureRemover",
    "GlexDecomposer",
    "RandomPlantedForestClassifier",
    "RandomPlantedForestRegressor",
]


def __getattr__(name: str) -> Any:
    """The planted forests, with the thirty kernels that nobody else needs."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from skglex import _planted

    return getattr(_planted, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
