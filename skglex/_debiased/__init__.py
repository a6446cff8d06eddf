"""Debiased models written as trees again: an XGBoost booster, ONNX."""

from skglex._debiased._onnx import onnx_model
from skglex._debiased._xgboost_booster import debiased_booster
