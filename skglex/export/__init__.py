"""Export explanations, models made of components, and models without some features, to the formats of others."""

from skglex.export._booster import to_xgboost
from skglex.export._ebm import to_ebm
from skglex.export._excel import save_excel
from skglex.export._onnx import onnx_model as onnx_model
from skglex.export._onnx_metadata import onnx_metadata as onnx_metadata
from skglex.export._shap import to_shap
from skglex.export._shap_explainer import ShapExplainer
from skglex.export._shapiq import to_shapiq
from skglex.export._sql import to_sql
from skglex.export._store import load_components, save_components
from skglex.export._stored_components import StoredComponents
from skglex.export._tables import to_tables
from skglex.export._term_onnx import to_onnx
from skglex.export._xgboost import debiased_booster as debiased_booster

__all__ = [
    "ShapExplainer",
    "StoredComponents",
    "load_components",
    "save_components",
    "save_excel",
    "to_ebm",
    "to_onnx",
    "to_shap",
    "to_shapiq",
    "to_sql",
    "to_tables",
    "to_xgboost",
]
