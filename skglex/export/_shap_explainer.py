"""Explain tree models with the calls of shap.TreeExplainer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposer import GlexDecomposer
from skglex._decomposition import Explained, explained
from skglex._leaves import require_equal, rounding_of
from skglex.export._shap import explanation_of, shown_names

# The sums of SHAP values are compared with the model's margin on at most this many rows.
_CHECKED_ROWS = 100
_PERTURBATIONS = ("auto", "interventional", "tree_path_dependent")
_OUTPUTS = ("raw", "probability", "predict_proba", "predict")
_WAYS_OUT = {
    "approximate": "The values are always exact. Leave it out",
    "link": "Leave it out, as shap does not use it either; model_output='probability' explains probabilities",
    "linearize_link": "Leave it out, as shap does not use it either",
    "tree_limit": "All trees that predict uses are explained. Cut the model before, as booster[:10] of XGBoost",
    "y": "Labels are for model_output='log_loss' only, which is not supported. Leave it out",
}


class ShapExplainer:
    """Compute exact SHAP values with the parameters, methods and shapes of ``shap.TreeExplainer``.

    Code that uses ``shap.TreeExplainer`` keeps working after a change of its import::

        from skglex.export import ShapExplainer as TreeExplainer

    Unlike shap, it uses all rows of ``data``, not 100 of them, and has interaction values for them. shap itself is
    needed only to call the explainer, ``explainer(X)``, which returns a ``shap.Explanation``.

    Parameters
    ----------
    model : estimator, booster or GlexDecomposer
        A fitted model that `~skglex.GlexDecomposer` supports, or a fitted decomposer.
    data : array-like, sparse matrix, data frame or shap masker of shape (n_samples, n_features), default=None
        The background rows. A ``shap.maskers.Independent`` has the rows that it drew. None: path-dependent values,
        with the covers that the model stores. A fitted decomposer has its background already.
    model_output : {"raw", "probability", "predict_proba", "predict"}, default="raw"
        ``"raw"``: the margin; for a forest or tree classifier of scikit-learn, the probability of each class.
        ``"probability"``: the probabilities; a binary classifier of another library has those of the second class only.
        ``"predict_proba"``: the probability of each class. ``"predict"``: the prediction of a regressor. All but
        ``"raw"`` need ``data``, and the model may use at most 14 features, or groups of a decomposer.
    feature_perturbation : {"auto", "interventional", "tree_path_dependent"}, default="auto"
        ``"auto"``: interventional if there is ``data``, otherwise path-dependent.
    feature_names : list of str, default=None
        Names of the features in explanations of rows that are not a data frame. None: those that `to_shap` gives the
        features of a decomposer. Behind a preprocessing, a column that is computed from a single raw column has the
        name of that. Without ``data`` no rows show this, and columns have the names after the preprocessing.
    approximate, link, linearize_link : object, default=None
        Accepted for the sake of old code, as False or None only.
    n_jobs : int, default=None
        Number of threads, as everywhere in scikit-learn.

    Attributes
    ----------
    expected_value : float, or ndarray of shape (n_outputs,)
        The mean of what is explained over the background.
    decomposer : GlexDecomposer
        The fitted decomposer, for components and displays.
    model, data, model_output : object
        The parameters; ``data`` are the rows of a masker.
    feature_names : list of str
        The names of the features.
    feature_perturbation : {"interventional", "tree_path_dependent"}
        The one in use.

    Raises
    ------
    TypeError
        ``data`` is an object of shap other than an Independent masker.
    ValueError
        A parameter has no exact counterpart. The message says what to do instead.

    See Also
    --------
    to_shap : Return the SHAP values of a decomposer as a ``shap.Explanation``.

    Notes
    -----
    On the scale of the probability these are the Shapley values of the probability itself. shap rescales the values of
    the margin, for each background row, so that they add up to the probability; its values therefore differ.

    ``TreeExplainer(model, data, feature_perturbation="tree_path_dependent")`` counts the covers of ``data``. It has no
    counterpart here.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex.export import ShapExplainer
    >>> from xgboost import XGBRegressor
    >>> X = np.random.default_rng(0).normal(size=(500, 3))
    >>> model = XGBRegressor(n_estimators=50, max_depth=2).fit(X, X[:, 0] + 2 * X[:, 0] * X[:, 1])
    >>> explainer = ShapExplainer(model, X)
    >>> values = explainer.shap_values(X)
    >>> values.shape
    (500, 3)
    >>> np.allclose(explainer.expected_value + values.sum(axis=1), model.predict(X), atol=1e-5)
    True
    >>> explainer.shap_interaction_values(X[:10]).shape
    (10, 3, 3)
    >>> explainer.decomposer["x0", "x1"]
    <Component 'x0:x1' of order 2>
    """

    def __init__(
        self,
        model: Any,
        data: Any = None,
        model_output: str = "raw",
        feature_perturbation: str = "auto",
        feature_names: Any = None,
        approximate: Any = None,
        link: Any = None,
        linearize_link: Any = None,
        *,
        n_jobs: int | None = None,
    ) -> None:
        _refuse(approximate=approximate, link=link, linearize_link=linearize_link)
        self.model = model
        self.data = _background_rows(data)
        self.feature_perturbation = _choose_perturbation(feature_perturbation, model, self.data)
        self.decomposer = _decompose(model, self.data, self.feature_perturbation, n_jobs)
        view = explained(self.decomposer)
        self.feature_names = shown_names(view) if feature_names is None else list(feature_names)
        self._doubled = _has_both_classes(view, model_output)
        self._scale = "margin" if _is_margin(view, model_output) else "response"
        self.model_output = model_output
        self.expected_value = self._expected_value(view)

    def __call__(
        self,
        X: Any,
        y: Any = None,
        interactions: bool = False,
        check_additivity: bool = True,
        approximate: bool = False,
    ) -> Any:
        """Return the SHAP values of rows as a ``shap.Explanation``; this needs shap.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the columns of the model.
        y : None
            Accepted for the sake of old code, as None only.
        interactions : bool, default=False
            Return SHAP interaction values.
        check_additivity : bool, default=True
            As in `shap_values`.
        approximate : bool, default=False
            Accepted for the sake of old code, as False only.

        Returns
        -------
        shap.Explanation
            See `to_shap` for its parts.
        """
        _refuse(y=y, approximate=approximate)
        view = explained(self.decomposer)
        X = view.as_rows(X)
        if interactions:
            values = self.shap_interaction_values(X)
        else:
            values = self.shap_values(X, check_additivity=check_additivity)
        explanation = explanation_of(view, X, values, self.expected_value, self._output_labels(view))
        if not hasattr(X, "columns"):
            explanation.feature_names = self.feature_names
        return explanation

    def shap_values(
        self,
        X: Any,
        y: Any = None,
        tree_limit: int | None = None,
        approximate: bool = False,
        check_additivity: bool = True,
        from_call: bool = False,
    ) -> NDArray[np.float64]:
        """Compute SHAP values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the columns of the model. An array of one dimension or a Series is a single row.
        y : None
            Accepted for the sake of old code, as None only.
        tree_limit : int, default=None
            Accepted for the sake of old code, as None or -1 only.
        approximate : bool, default=False
            Accepted for the sake of old code, as False only.
        check_additivity : bool, default=True
            Compare the sums of the values with the model's margin, on up to 100 rows, if the margin is explained.
        from_call : bool, default=False
            Ignored.

        Returns
        -------
        ndarray of shape (n_samples, n_features) or (n_samples, n_features, n_outputs)
            Without the first axis for a row that is not in a table.

        Raises
        ------
        AdditivityError
            The values do not add up to the model's margin.
        """
        _refuse(y=y, tree_limit=tree_limit, approximate=approximate)
        view = explained(self.decomposer)
        rows = view.as_rows(X)
        values = self.decomposer.shap_values(rows, scale=self._scale)
        if check_additivity and self._scale == "margin":
            self._check_sums(view, rows, values)
        return self._shaped(values, X)

    def shap_interaction_values(
        self, X: Any, y: Any = None, tree_limit: int | None = None
    ) -> NDArray[np.float64]:
        """Compute SHAP interaction values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the columns of the model. An array of one dimension or a Series is a single row.
        y : None
            Accepted for the sake of old code, as None only.
        tree_limit : int, default=None
            Accepted for the sake of old code, as None or -1 only.

        Returns
        -------
        ndarray of shape (n_samples, n_features, n_features) or (n_samples, n_features, n_features, n_outputs)
            The rows of each matrix add up to the SHAP values.
        """
        _refuse(y=y, tree_limit=tree_limit)
        rows = explained(self.decomposer).as_rows(X)
        return self._shaped(self.decomposer.shap_interaction_values(rows, scale=self._scale), X)

    def _shaped(self, values: NDArray[np.float64], X: Any) -> NDArray[np.float64]:
        """Add the values of the first of two classes, and drop the first axis if X is a row that is not in a table."""
        if self._doubled:
            values = np.stack([-values, values], axis=-1)
        return values[0] if np.ndim(X) == 1 and len(values) == 1 else values

    def _expected_value(self, view: Explained) -> Any:
        if self._scale == "margin":
            mean = self.decomposer.intercept_
        else:
            mean = self.decomposer.partial_dependence([], view.fitted.row, scale="response")[0]
        if self._doubled:
            mean = np.array([1 - mean, mean])
        return float(mean) if np.ndim(mean) == 0 else mean

    def _output_labels(self, view: Explained) -> list[Any] | None:
        if self._doubled:
            return list(view.source.response.classes)
        return view.output_labels if self._scale == "margin" else view.response_labels

    def _check_sums(self, view: Explained, X: Any, values: NDArray[np.float64]) -> None:
        """Raise an AdditivityError unless the values add up to the model's margin on a sample of the rows."""
        Xt = view.check(X)
        rows = np.unique(np.linspace(0, len(values) - 1, _CHECKED_ROWS).astype(int))
        margin = view.fitted.model_margin(Xt, rows)
        terms = values[rows].reshape(len(rows), values.shape[1], -1)
        total = view.intercept + terms.sum(axis=1)
        rounding = (
            rounding_of(view.source.ensemble) + np.abs(terms).sum(axis=1) * 8 * np.finfo(np.float64).eps
        )
        require_equal(margin, total, rounding, rows, "SHAP values", "shap_values")


def _refuse(**values: Any) -> None:
    """Raise if a parameter of shap that has no counterpart is used."""
    for name, value in values.items():
        unused = value is None or value is False or (name == "tree_limit" and value == -1)
        if not unused:
            raise ValueError(f"{name}={value!r} is not supported. {_WAYS_OUT[name]}")


def _background_rows(data: Any) -> Any:
    """Return the rows of a background, which may be in a masker of shap."""
    kind = type(data)
    if kind.__module__.partition(".")[0] != "shap":
        return data
    if kind.__name__ != "Independent" or getattr(data, "clustering", None) is not None:
        raise TypeError(
            f"data is a {kind.__name__} of shap, expected rows. Pass the rows themselves: all of them are used, so "
            "there is no need to summarize them"
        )
    if not data.output_dataframe:
        return data.data
    import pandas as pd

    return pd.DataFrame(data.data, columns=data.feature_names)


def _choose_perturbation(perturbation: str, model: Any, data: Any) -> str:
    """Return the feature perturbation in use; raise if it does not go with the background."""
    if perturbation not in _PERTURBATIONS:
        raise ValueError(f"feature_perturbation must be one of {list(_PERTURBATIONS)}; got {perturbation!r}")
    if isinstance(model, GlexDecomposer):
        if data is not None:
            raise ValueError(
                "the decomposer has a background already. Leave data out, or pass the model itself with data"
            )
        used = "tree_path_dependent" if model.weighting == "path_dependent" else "interventional"
        if perturbation not in ("auto", used):
            raise ValueError(
                f"feature_perturbation={perturbation!r}, but the decomposer has weighting={model.weighting!r}. Leave "
                "feature_perturbation out, or fit a decomposer with the other weighting"
            )
        return used
    if perturbation == "auto":
        return "tree_path_dependent" if data is None else "interventional"
    if perturbation == "interventional" and data is None:
        raise ValueError(
            "feature_perturbation='interventional' needs a background. Pass data, or leave feature_perturbation out: "
            "without data the values are path-dependent"
        )
    if perturbation == "tree_path_dependent" and data is not None:
        raise ValueError(
            "feature_perturbation='tree_path_dependent' uses the covers that the model stores, so it takes no data. "
            "Leave data out, or use feature_perturbation='interventional'"
        )
    return perturbation


def _decompose(model: Any, data: Any, perturbation: str, n_jobs: int | None) -> GlexDecomposer:
    """Return a fitted decomposer of the model."""
    if isinstance(model, GlexDecomposer):
        return model
    weighting = "empirical" if perturbation == "interventional" else "path_dependent"
    # With ``features``, `fit` does not measure the remainder, which SHAP values do not have.
    decomposer = GlexDecomposer(model, weighting=weighting, features=slice(None), prefit=True, n_jobs=n_jobs)
    fitted: GlexDecomposer = decomposer.fit(data)
    return fitted


def _is_margin(view: Explained, model_output: Any) -> bool:
    """Return whether the margin is explained; raise if the model has no such output."""
    response = view.source.response
    if model_output == "log_loss":
        raise ValueError(
            "model_output='log_loss' is not supported: the loss is no function of the features alone. Explain the "
            "prediction with model_output='raw' or 'predict_proba'"
        )
    if not isinstance(model_output, str) or model_output not in _OUTPUTS:
        raise ValueError(f"model_output must be one of {list(_OUTPUTS)}; got {model_output!r}")
    if model_output == "raw":
        if response.without_margin is not None:
            raise ValueError(
                f"a {response.combines} combines the predictions of its members, so it has no single margin. Pass "
                "data and model_output='predict_proba' (of a classifier) or 'predict' (of a regressor)"
            )
        return True
    if response.is_classifier == (model_output == "predict"):
        way_out = "predict_proba" if response.is_classifier else "predict"
        kind = "classifier, which predicts labels" if response.is_classifier else "regressor"
        raise ValueError(
            f"model_output={model_output!r}, but the model is a {kind}. Use model_output={way_out!r}, or 'raw' for the "
            "margin"
        )
    if view.estimator.weighting == "path_dependent":
        raise ValueError(
            f"model_output={model_output!r} needs a background, over which responses are averaged. Pass data, or use "
            "model_output='raw'"
        )
    same_as_margin = response.is_named and response.isolation is None and not response.combines
    return same_as_margin and response.link in ("identity", "probability")


def _has_both_classes(view: Explained, model_output: Any) -> bool:
    """Return whether there is an output for each of two classes, although the model computes only the second."""
    response = view.source.response
    if not response.binary or len(response.classes) != 2:
        return False
    return bool(model_output == "predict_proba" or response.link == "probability")
