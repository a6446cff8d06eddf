"""Models that are no sum of trees though there are trees in them, and what to pass instead."""

# By module, as readers are.
UNSUPPORTED = {
    "skglex._decomposer": "it decomposes a model itself. Pass that, `.estimator_`",
    "skglex._remover": (
        "pass the model that it takes features out of, `.estimator_`, whose components that touch none of them are "
        "what is left; or, of an XGBoost model, the debiased booster, `.to_xgboost()`"
    ),
    "sklearn.calibration": "its calibration comes on top of the classifier. Pass the classifier itself",
    "sklearn.compose._target": (
        "it transforms what its regressor predicts. Pass the fitted regressor, `.regressor_`; its margin is on the "
        "scale of the transformed target"
    ),
    "sklearn.ensemble._stacking": (
        "its final estimator takes the members' predictions. Pass one of its members, `.estimators_`, or a "
        "VotingRegressor or VotingClassifier"
    ),
    "sklearn.ensemble._weight_boosting": (
        "its trees vote or give a weighted median, their predictions are not summed. Use gradient boosting"
    ),
    "sklearn.model_selection._classification_threshold": (
        "its threshold comes on top of the classifier. Pass the classifier itself, `.estimator_`"
    ),
    "sklearn.model_selection._search": "it searches for a model. Pass the model it has found, `.best_estimator_`",
    "sklearn.model_selection._search_successive_halving": (
        "it searches for a model. Pass the model it has found, `.best_estimator_`"
    ),
    "sklearn.multiclass": "it has a model per class. Pass them one by one, `.estimators_`",
    "sklearn.multioutput": "it has a model per target. Pass them one by one, `.estimators_`",
}
