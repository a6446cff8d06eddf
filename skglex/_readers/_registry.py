"""Find the reader of a model by the module of its class."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from sklearn.base import is_classifier

from skglex._readers._source_model import ModelKind, SourceModel
from skglex._readers._steps import inner_model, tree_model

# The keys are the modules of models' classes (or of their base classes), packages that contain these modules, or
# single classes. A reader is imported only when such a model appears, so that its library stays optional.
_READERS = {
    "xgboost": "skglex._readers._xgboost",
    "lightgbm": "skglex._readers._lightgbm",
    "catboost": "skglex._readers._catboost",
    "treelite": "skglex._readers._treelite",
    "skglex._planted": "skglex._readers._planted_forest",
    "sklearn.tree": "skglex._readers._sklearn",
    "sklearn.ensemble._forest": "skglex._readers._sklearn",
    "sklearn.ensemble._gb": "skglex._readers._sklearn",
    "sklearn.ensemble._iforest": "skglex._readers._sklearn",
    "sklearn.ensemble._weight_boosting": "skglex._readers._votes",
    "sklearn.ensemble._hist_gradient_boosting": "skglex._readers._hist_boosting",
    "sklearn.ensemble._bagging": "skglex._readers._averages",
    "sklearn.ensemble._voting": "skglex._readers._averages",
    "sklearn.model_selection._classification_threshold": "skglex._readers._thresholds",
    "sklearn.calibration": "skglex._readers._composed",
    "sklearn.compose._target": "skglex._readers._composed",
    "sklearn.ensemble._stacking": "skglex._readers._composed",
    "sklearn.multiclass.OneVsRestClassifier": "skglex._readers._several_models",
    "sklearn.multioutput.MultiOutputClassifier": "skglex._readers._several_models",
    "sklearn.multioutput.MultiOutputRegressor": "skglex._readers._several_models",
    "ngboost": "skglex._readers._ngboost",
    "sksurv.ensemble.boosting.GradientBoostingSurvivalAnalysis": "skglex._readers._survival",
    "sksurv.ensemble.forest": "skglex._readers._survival",
    "sksurv.tree": "skglex._readers._survival",
}
# Models of these modules, or of these classes, contain trees but are not sums of trees. The text explains why, and
# what to pass instead.
UNSUPPORTED = {
    "skglex._decomposer": "it is a decomposer itself. Pass its model, `.estimator_`",
    "skglex._remover": (
        "it is a FeatureRemover. Pass its model, `.estimator_`: the components without the removed features are the "
        "debiased model. For an XGBoost model you can also pass the debiased booster, `.to_xgboost()`"
    ),
    "econml": (
        "its trees weight training rows, by which it solves an equation for each prediction. Fit a regressor on its "
        "estimated effects, and pass this regressor"
    ),
    "causalml": (
        "its trees choose splits and estimate effects on their own. Fit a regressor on the estimated effects, and pass "
        "this regressor"
    ),
    "isotree": "its trees are kept in a format of their own. Use sklearn.ensemble.IsolationForest",
    "quantile_forest": (
        "it predicts quantiles of the training targets in its leaves, which are no sum of trees. Use a quantile loss "
        "(XGBoost, CatBoost, LightGBM, HistGradientBoostingRegressor), or a RandomForestRegressor for the mean"
    ),
    "sksurv": (
        "it is no sum of trees. Use a RandomSurvivalForest, ExtraSurvivalTrees or GradientBoostingSurvivalAnalysis"
    ),
    "sklearn.ensemble._forest.RandomTreesEmbedding": "its trees predict nothing. Pass a random forest",
    "sklearn.ensemble._weight_boosting.AdaBoostRegressor": (
        "it takes a weighted median of its trees, not their sum. Use gradient boosting"
    ),
    "sklearn.model_selection._search": "it searches for a model. Pass the best model, `.best_estimator_`",
    "sklearn.model_selection._search_successive_halving": (
        "it searches for a model. Pass the best model, `.best_estimator_`"
    ),
    "sklearn.multiclass": (
        "its models compare pairs of classes, or codes. Pass them one by one, `.estimators_`, or use a "
        "OneVsRestClassifier"
    ),
    "sklearn.multiclass._ConstantPredictor": (
        "all of its training rows, or none, had its label. Leave this label out, or train on rows that differ in it"
    ),
    "sklearn.multioutput": (
        "each of its models takes the predictions of the others as features. Pass them one by one, `.estimators_`, or "
        "use a MultiOutputRegressor or MultiOutputClassifier"
    ),
}
# Classifiers of these packages accept only the labels 0 .. K-1.
_CODED_LABELS = {"xgboost"}
# Classifiers of these modules average probabilities.
_PROBABILITY_AVERAGES = (
    "sklearn.tree",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._bagging",
    "sklearn.ensemble._voting",
)
# Classifiers of these modules pass the labels on to the models that they wrap, and take the scores from them.
_WRAPPERS = (
    "sklearn.calibration",
    "sklearn.model_selection._classification_threshold",
    "sklearn.multiclass",
    "sklearn.multioutput",
)
# Classifiers of these modules combine the predictions of their members.
_COMBINED = ("sklearn.calibration", "sklearn.ensemble._stacking")


def find_reader(model: Any) -> Callable[[Any], SourceModel] | None:
    """Return the reader of a model, or None if there is none.

    The longest path that is registered counts, of the model's class before its base classes.

    Raises
    ------
    TypeError
        The model is known not to be a sum of trees.
    """
    path = registered_path(type(model))
    if path in UNSUPPORTED:
        raise TypeError(f"cannot decompose a {type(model).__name__}: {UNSUPPORTED[path]}")
    if path is None:
        return None
    read: Callable[[Any], SourceModel] = import_module(_READERS[path]).read
    return read


def registered_path(kind: type) -> str | None:
    """Return the longest registered path of a class, or else of its base classes; None if there is none."""
    for klass in kind.__mro__:
        path = [*klass.__module__.split("."), klass.__name__]
        for depth in range(len(path), 0, -1):
            prefix = ".".join(path[:depth])
            if prefix in UNSUPPORTED or prefix in _READERS:
                return prefix
    return None


def declared_kinds() -> dict[str, tuple[ModelKind, ...]]:
    """Return what every reader reads, by the module of the reader; this imports all libraries."""
    return {module: import_module(module).READS for module in dict.fromkeys(_READERS.values())}


def require_reader(model: Any) -> Callable[[Any], SourceModel]:
    """Return the reader of a model; raise a TypeError if there is none."""
    reader = find_reader(model)
    if reader is None:
        parts = [f"`.{name}` ({kind})" for name, kind in _readable_parts(model).items()]
        if parts:
            raise TypeError(
                f"cannot read a {type(model).__name__} into leaves, but it has parts that can be read. Pass "
                + " or ".join(parts)
            )
        raise TypeError(
            f"cannot read a {type(model).__name__} into leaves. Pass a tree ensemble: an XGBoost or LightGBM model or "
            "booster, a CatBoost or NGBoost model, a tree, forest or boosting model of scikit-learn or scikit-survival "
            "(or an ensemble of these), a treelite model, or a random planted forest"
        )
    return reader


def _readable_parts(model: Any) -> dict[str, str]:
    """Return the public attributes of a wrapper that have a reader, with the names of their classes."""
    parts = {}
    for name, part in getattr(model, "__dict__", {}).items():
        with suppress(TypeError):
            if not name.startswith("_") and hasattr(part, "predict") and find_reader(part) is not None:
                parts[name] = type(part).__name__
    return parts


def describe_subclass(model: Any) -> str | None:
    """Describe a model whose class another package derives from one that can be read; None for other models."""
    package = type(model).__module__.partition(".")[0]
    for klass in type(model).__mro__:
        base = klass.__module__
        if any(f"{base}.".startswith(f"{path}.") for path in _READERS):
            library = base.partition(".")[0]
            if library == package:
                return None
            return (
                f"{type(model).__name__} is a class of {package} that derives from {klass.__name__} of {library}, but "
                f"it does not predict the sum of its trees. Pass a model of {library} itself, or another that does"
            )
    return None


def encodes_labels(model: Any) -> bool:
    """Return whether a classifier accepts any labels, since it encodes them itself."""
    model = _wrapped(model)
    return not any(klass.__module__.partition(".")[0] in _CODED_LABELS for klass in type(model).__mro__)


def is_probability_average(model: Any) -> bool:
    """Return whether a model is a scikit-learn classifier whose margin is an average of probabilities."""
    return is_classifier(model) and any(
        klass.__module__.startswith(_PROBABILITY_AVERAGES) for klass in type(model).__mro__
    )


def decides_by_margin(model: Any) -> bool:
    """Return whether a classifier has a decision function: its margin is no probability, and of one target."""
    if type(model).__module__.startswith(_COMBINED):
        return False
    return not is_probability_average(_wrapped(model)) and type(model).__module__ != "sklearn.multioutput"


def _wrapped(model: Any) -> Any:
    """Return the model inside wrappers that leave labels and scores to it."""
    while type(model).__module__.startswith(_WRAPPERS):
        model = inner_model(model)
    return tree_model(model)
