"""Contenders of several groups of cases."""

from __future__ import annotations

from dataclasses import replace

from benchmarks._contenders import (
    shap_explains,
    shapiq_explains,
    shapiq_interactions,
    shapiq_values,
    skglex_method,
    skglex_method_with_fit,
    without_bias,
    woodelf_explains,
    xgboost_explains,
)
from benchmarks._types import Contender

CONTRIBS = Contender("XGBoost pred_contribs", xgboost_explains(pred_contribs=True), without_bias)
INTERACTIONS = Contender("XGBoost pred_interactions", xgboost_explains(pred_interactions=True), without_bias)
AS_UNIT = replace(CONTRIBS, comparable=None)

SHAP = Contender("shap", shap_explains("shap_values", "tree_path_dependent"))
SHAP_EMPIRICAL = Contender("shap", shap_explains("shap_values", "interventional"))
SHAPIQ = Contender("shapiq", shapiq_explains("SV", 1), shapiq_values)
SHAPIQ_PAIRS = Contender("shapiq", shapiq_explains("SII", 2), shapiq_interactions)


def woodelf(method: str, weighting: str) -> Contender:
    """Return a contender that calls a method of woodelf's explainer."""
    return Contender("woodelf", woodelf_explains(method, weighting))


def shap_contenders(weighting: str) -> tuple[Contender, ...]:
    """Return the contenders for SHAP values."""
    skglex = skglex_method("shap_values", weighting), skglex_method_with_fit("shap_values", weighting)
    if weighting == "path_dependent":
        return (*skglex, CONTRIBS, SHAP, woodelf("shap_values", weighting), SHAPIQ)
    return (*skglex, SHAP_EMPIRICAL, woodelf("shap_values", weighting))


def interaction_contenders(weighting: str) -> tuple[Contender, ...]:
    """Return the contenders for SHAP interaction values."""
    method = "shap_interaction_values"
    skglex = skglex_method(method, weighting), skglex_method_with_fit(method, weighting)
    if weighting == "path_dependent":
        shap = Contender("shap", shap_explains(method, "tree_path_dependent"))
        return (*skglex, INTERACTIONS, shap, woodelf(method, weighting), SHAPIQ_PAIRS)
    return (*skglex, woodelf(method, weighting))
