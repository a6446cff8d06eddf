"""Models and explanations in other libraries' formats."""

from skglex.export._ebm import to_ebm
from skglex.export._shap import to_shap
from skglex.export._shapiq import to_shapiq

__all__ = ["to_ebm", "to_shap", "to_shapiq"]
