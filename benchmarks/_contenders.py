"""Contenders: skglex, its peers, and units of time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from benchmarks._types import Call, Contender, Data, Skipped

# -- comparable forms of results -----------------------------------------------------------------


def without_bias(values: Any) -> Any:
    """Drop the bias, which is the last entry of XGBoost's contributions and interactions."""
    return values[:, :-1] if values.ndim == 2 else values[:, :-1, :-1]


def columns_by_features(result: tuple[Any, Any]) -> dict[tuple[int, ...], Any]:
    """Return the columns of a fitted decomposer by the positions of their features."""
    decomposer, values = result
    position = {name: i for i, name in enumerate(decomposer.explained_features_)}
    return {
        tuple(position[name] for name in component.features): values[:, i]
        for i, component in enumerate(decomposer.components_)
    }


def shap_from_components(result: tuple[Any, Any]) -> Any:
    """Return the SHAP values phi_k, the sum over S with k of m_S / |S|, from the components of all orders."""
    decomposer, values = result
    out = np.zeros((len(values), decomposer.n_features_in_))
    for members, column in columns_by_features((decomposer, values)).items():
        for k in members:
            out[:, k] += column / len(members)
    return out


def margin_from_components(result: tuple[Any, Any]) -> Any:
    """Return the margin: the intercept plus all components."""
    decomposer, values = result
    return decomposer.intercept_ + values.sum(axis=1)


def off_diagonal(values: Any) -> Any:
    """Return the interactions of pairs alone; woodelf returns no diagonal unless it computes the values once more."""
    values = np.array(values, np.float64)
    values[:, range(values.shape[1]), range(values.shape[1])] = 0
    return values


# -- skglex -------------------------------------------------------------------------------------


def decomposer(data: Data, weighting: str, **parameters: Any) -> Any:
    from skglex import GlexDecomposer

    parameters = {"max_interaction": None, "n_jobs": data.threads, **parameters}
    try:
        return GlexDecomposer(data.model, weighting=weighting, **parameters).fit(data.background)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise Skipped(f"GlexDecomposer does not accept the model: {error}") from error


def skglex_method(
    method: str,
    weighting: str,
    label: str = "skglex",
    *,
    fit: bool = False,
    comparable: Callable[[Any], Any] | None = None,
    **parameters: Any,
) -> Contender:
    """Return a contender that calls a method of GlexDecomposer; with ``fit``, the fit is timed too.

    `transform` returns the decomposer and the values, because the decomposer has the names of the columns.
    """

    def prepare(data: Data) -> Call:
        fitted = decomposer(data, weighting, **parameters)

        def call(n: int) -> Any:
            dec = decomposer(data, weighting, **parameters) if fit else fitted
            values = getattr(dec, method)(data.X[:n])
            return (dec, values) if method == "transform" else values

        return call

    if comparable is None:
        comparable = columns_by_features if method == "transform" else lambda result: result
    return Contender(label, prepare, comparable, np.float64)


def skglex_method_with_fit(method: str, weighting: str, **parameters: Any) -> Contender:
    return skglex_method(method, weighting, "skglex, with fit", fit=True, **parameters)


def skglex_partial_dependence(data: Data) -> Call:
    dec = decomposer(data, "empirical")

    def call(n: int) -> Any:
        return np.column_stack([dec.partial_dependence(j, data.X[:n]) for j in range(data.size.features)])

    return call


def remover(data: Data) -> Any:
    from skglex import FeatureRemover

    try:
        return FeatureRemover(data.model, [0], n_jobs=data.threads).fit(data.background)
    except (TypeError, ValueError, NotImplementedError) as error:
        raise Skipped(f"FeatureRemover does not accept the model: {error}") from error


def debiased(data: Data) -> Call:
    fitted = remover(data)
    return lambda n: fitted.predict(data.X[:n])


def debiased_booster(data: Data) -> Call:
    booster = remover(data).to_xgboost()
    booster.set_param({"nthread": data.threads})
    return lambda n: booster.inplace_predict(data.X[:n])


# -- XGBoost and scikit-learn -------------------------------------------------------------------


def booster_of(data: Data) -> Any:
    if not hasattr(data.model, "get_booster"):
        raise Skipped("not an XGBoost model")
    booster = data.model.get_booster()
    booster.set_param({"nthread": data.threads})
    return booster


def xgboost_explains(**options: bool) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        import xgboost

        booster = booster_of(data)
        return lambda n: booster.predict(xgboost.DMatrix(data.X[:n], nthread=data.threads), **options)

    return prepare


def lightgbm_explains(data: Data) -> Call:
    return lambda n: data.model.predict(data.X[:n], pred_contrib=True, num_threads=data.threads)


def catboost_explains(kind: str, weighting: str) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        import catboost

        options: dict[str, Any] = {"type": kind, "thread_count": data.threads}

        def pool(rows: Any) -> Any:
            # With a background, CatBoost wants targets and does not use them.
            return catboost.Pool(rows, np.zeros(len(rows)))

        if weighting == "empirical":
            options |= {"reference_data": pool(data.background), "shap_mode": "UsePreCalc"}
        return lambda n: data.model.get_feature_importance(pool(data.X[:n]), **options)

    return prepare


def training(data: Data) -> Call:
    from sklearn.base import clone

    return lambda n: clone(data.model).set_params(n_jobs=data.threads).fit(data.train, data.y)


def model_predicts(data: Data) -> Call:
    if not hasattr(data.model, "get_booster"):
        return lambda n: data.model.predict(data.X[:n])
    booster = booster_of(data)
    return lambda n: booster.inplace_predict(data.X[:n])


def brute_force(data: Data) -> Call:
    """Average the predictions over the background: its first feature, with all other features of the row."""

    def call(n: int) -> Any:
        filled = np.empty_like(data.background)
        out = np.empty(n)
        for i in range(n):
            filled[:] = data.X[i]
            filled[:, 0] = data.background[:, 0]
            out[i] = data.model.predict(filled).mean(dtype=np.float64)
        return out

    return call


def sklearn_partial_dependence(data: Data) -> Call:
    from sklearn.inspection import partial_dependence

    def call(n: int) -> Any:
        return np.column_stack(
            [
                partial_dependence(
                    data.model,
                    data.background,
                    [j],
                    method="brute",
                    kind="average",
                    custom_values={j: data.X[:n, j]},
                )["average"][0]
                for j in range(data.size.features)
            ]
        )

    return call


# -- shap, woodelf, shapiq, treehfd ---------------------------------------------------------------


def require(module: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise Skipped(f"not installed: {error}") from error


def shap_explains(method: str, perturbation: str) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        shap = require("shap")
        if perturbation == "interventional" and data.size.background > 100:
            raise Skipped("it reduces every background to 100 rows")
        background = data.background if perturbation == "interventional" else None
        explainer = shap.TreeExplainer(data.model, background, feature_perturbation=perturbation)
        return lambda n: getattr(explainer, method)(data.X[:n])

    return prepare


def shap_on_whole_background(method: str) -> Callable[[Data], Call]:
    """Return a contender that makes shap use all background rows, of which it takes 100 unless told otherwise."""

    def prepare(data: Data) -> Call:
        shap = require("shap")
        masker = shap.maskers.Independent(data.background, max_samples=len(data.background))
        explainer = shap.TreeExplainer(data.model, masker, feature_perturbation="interventional")
        return lambda n: getattr(explainer, method)(
            data.X[:n], **({"check_additivity": False} if method == "shap_values" else {})
        )

    return prepare


def frame(X: Any) -> Any:
    import pandas as pd

    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def woodelf_explains(method: str, weighting: str) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        woodelf = require("woodelf.explainer")
        if weighting == "empirical":
            explainer = woodelf.WoodelfExplainer(data.model, frame(data.background))
        else:
            explainer = woodelf.WoodelfExplainer(data.model, feature_perturbation="tree_path_dependent")
        table = frame(data.X)
        return lambda n: getattr(explainer, method)(table[:n], verbose=False)

    return prepare


def woodelf_pairs(weighting: str) -> Callable[[Data], Call]:
    """Return woodelf's interactions in its cheapest form: a column for each pair that the model has."""

    def prepare(data: Data) -> Call:
        background = (frame(data.background),) if weighting == "empirical" else ()
        explainer = require("woodelf.explainer").WoodelfExplainer(data.model, *background)
        table = frame(data.X)
        form = {
            "as_df": True,
            "exclude_zero_contribution_features": True,
            "include_interaction_with_itself": False,
        }
        return lambda n: (
            explainer.shap_interaction_values(table[:n], verbose=False, **form),
            data.size.features,
        )

    return prepare


def woodelf_interactions(result: Any) -> Any:
    """Return the array of the pairs."""
    columns, d = result
    out = np.zeros((len(columns), d, d))
    for first, second in columns.columns:
        out[:, int(first[1:]), int(second[1:])] = columns[(first, second)]
    return off_diagonal(out)


def woodelf_components(weighting: str, max_order: int | None = None) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        metric = require("woodelf.core.cube_metric").MobiusCoefficients(1, max_order)
        hybrid_woodelf = require("woodelf.woodelf_sparse").hybrid_woodelf
        table = frame(data.X)
        background = frame(data.background) if weighting == "empirical" else None
        load = require("woodelf.core.trees.parse_models").load_decision_tree_ensemble_model
        model = load(data.model, list(table.columns))
        return lambda n: hybrid_woodelf(
            model, table[:n], background, metric, model_was_loaded=True, verbose=False
        )

    return prepare


def woodelf_columns_by_features(values: dict[Any, Any]) -> dict[tuple[int, ...], Any]:
    out: dict[tuple[int, ...], Any] = {}
    for names, column in values.items():
        key = tuple(sorted(int(name[1:]) for name in names))
        out[key] = out.get(key, 0) + np.asarray(column)
    return out


def woodelf_partial_dependence(data: Data) -> Call:
    pdp = require("woodelf.pdp")
    table, background = frame(data.X), frame(data.background)

    def call(n: int) -> Any:
        # woodelf returns no column for a feature that the model does not use.
        centred = pdp.woodelf_fast_pdp(data.model, table[:n], background, verbose=False)
        mean = data.model.predict(data.background).mean(dtype=np.float64)
        return np.column_stack([mean + centred.get(name, np.zeros(n)) for name in table.columns])

    return call


def shapiq_explains(index: str, order: int | None, mode: str = "pathdependent") -> Callable[[Data], Call]:
    """Return Shapley values (SV), interactions (SII) or components (Moebius) up to an order; None means all."""

    def prepare(data: Data) -> Call:
        shapiq = require("shapiq")
        if mode == "interventional" and data.size.background > 1000:
            raise Skipped("compares pairs of rows, and calls woodelf for more than 1,000 background rows")
        explainer = shapiq.TreeExplainer(
            data.model,
            mode=mode,
            reference_dataset=data.background if mode == "interventional" else None,
            index=index,
            min_order=1,
            max_order=order or data.size.features,
            backend="shapiq",
        )
        return lambda n: (explainer.explain_X(data.X[:n]).values, n, data.size.features)

    return prepare


def shapiq_values(result: Any) -> Any:
    values, n, d = result
    return np.column_stack([values.get((j,), np.zeros(n)) for j in range(d)])


def shapiq_interactions(result: Any) -> Any:
    """Return half of each interaction off the diagonal, as XGBoost and shap do."""
    values, n, d = result
    out = np.zeros((n, d, d))
    for i, j in combinations(range(d), 2):
        out[:, i, j] = out[:, j, i] = values.get((i, j), 0) / 2
    for i in range(d):
        out[:, i, i] = values.get((i,), 0) - out[:, i].sum(axis=1)
    return out


def on_background(contender: Contender) -> Contender:
    """Return a contender that explains the rows of the background."""
    return replace(contender, prepare=lambda data: contender.prepare(replace(data, X=data.background)))


def treehfd_explains(data: Data) -> Call:
    treehfd = require("treehfd")

    def call(n: int) -> Any:
        model = treehfd.XGBTreeHFD(data.model)
        model.fit(data.background, interaction_order=2, verbose=False)
        main, pairs = model.predict(data.X[:n], verbose=False)
        return model.eta0 + main.sum(axis=1) + pairs.sum(axis=1)

    return call


# -- random planted forests -----------------------------------------------------------------------

PLANTED = {"n_estimators": 50, "max_interaction": 2, "n_splits": 30, "random_state": 0}


def planted_fit(**parameters: Any) -> Callable[[Data], Call]:
    def prepare(data: Data) -> Call:
        from skglex import RandomPlantedForestClassifier, RandomPlantedForestRegressor

        forest = RandomPlantedForestClassifier if "loss" in parameters else RandomPlantedForestRegressor
        target = (data.y > 0).astype(int) if "loss" in parameters else data.y
        return lambda n: forest(n_jobs=data.threads, **PLANTED, **parameters).fit(data.train, target)

    return prepare


def planted_predict(data: Data) -> Call:
    forest = planted_fit()(data)(0)
    return lambda n: forest.predict(data.X[:n])


def planted_components(data: Data) -> Call:
    from skglex import GlexDecomposer

    forest = planted_fit()(data)(0)

    def call(n: int) -> Any:
        dec = GlexDecomposer(forest, max_interaction=None, n_jobs=data.threads).fit(data.background)
        return dec, dec.transform(data.X[:n])

    return call


def histogram_boosting_fit(data: Data) -> Call:
    from sklearn.ensemble import HistGradientBoostingRegressor

    return lambda n: HistGradientBoostingRegressor(max_iter=100).fit(data.train, data.y)
