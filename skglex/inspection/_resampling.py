"""Refit a model on resampled rows, to see how sure one can be of its components."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import _check_sample_weight

from skglex._decomposer import GlexDecomposer
from skglex._decomposition import explained
from skglex._input import as_numpy, take_rows
from skglex._prefit import resolve_estimator
from skglex._utils import warn_user
from skglex.components import Component
from skglex.inspection._cells import Cells, cells_of
from skglex.inspection._comparable import decompose
from skglex.inspection._forest_variance import ForestVariance
from skglex.inspection._results import Result
from skglex.inspection._tables import as_table, label_columns

_METHODS = ("bootstrap", "subsample", "infinitesimal_jackknife", "background")
# Share of cells with a negative variance from which the number of trees is too small.
_MANY_CLIPPED = 0.05
# Draws of the largest deviation, for simultaneous bands.
_DRAWS = 2000


class Spread:
    """Describe how an estimate of many numbers varies.

    Parameters
    ----------
    estimate : ndarray of shape (n_cells, n_outputs)
        The centre of the bands. NaN where it is not known.
    deviations : ndarray of shape (n_replicates, n_cells, n_outputs)
        The sum over the replicates of products of deviations is the covariance of the estimate.
    variance : ndarray of shape (n_cells, n_outputs), optional
        The variance, if it is not the sum of the squared deviations.
    degrees : int, optional
        Degrees of freedom of Student's t. None: the normal distribution.
    """

    def __init__(
        self,
        estimate: NDArray[np.float64],
        deviations: NDArray[np.float64],
        *,
        variance: NDArray[np.float64] | None = None,
        degrees: int | None = None,
    ) -> None:
        self.estimate = estimate
        self._deviations = deviations
        self._degrees = degrees
        found = np.einsum("bco,bco->co", deviations, deviations) if variance is None else variance
        self.std_error = np.sqrt(np.maximum(found, 0.0))
        self.clipped = found < 0

    def band(self, level: float, *, simultaneous: bool) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lower and the upper end of the band, of the shape of ``estimate``."""
        upper = 0.5 + level / 2
        factor = stats.norm.ppf(upper) if self._degrees is None else stats.t.ppf(upper, self._degrees)
        width = factor * self.std_error
        if simultaneous:
            width = self._largest(level, factor) * self.std_error
        return self.estimate - width, self.estimate + width

    def _largest(self, level: float, least: float) -> NDArray[np.float64]:
        """Return the quantile of the largest standardized deviation over all cells, per output."""
        rng = np.random.default_rng(0)
        draws = rng.normal(size=(_DRAWS, len(self._deviations)))
        if self._degrees is not None:
            draws /= np.sqrt(rng.chisquare(self._degrees, size=(_DRAWS, 1)) / self._degrees)
        out = np.full(self.estimate.shape[1], least)
        for o in range(len(out)):
            deviations = self._deviations[..., o]
            size = np.sqrt(np.einsum("bc,bc->c", deviations, deviations))
            varies = size > 0
            scaled = deviations[:, varies] / size[varies]
            if scaled.size:
                step = max(1, 2**24 // scaled.shape[1])
                largest = [np.abs(draws[i : i + step] @ scaled).max(axis=1) for i in range(0, _DRAWS, step)]
                out[o] = max(least, float(np.quantile(np.concatenate(largest), level)))
        return out


@dataclass(frozen=True, repr=False, eq=False)
class ResampledComponents(Result):
    """Hold how components, their importances and their ranks vary over resampled rows.

    `resample_components` returns it. ``print`` shows the importances, ``plot`` draws the components with their bands.

    Parameters
    ----------
    decomposer : GlexDecomposer
        The decomposer of the model on all rows.
    method : str
        How rows were resampled.
    n_resamples : int
        Number of refits, of trees or of resampled backgrounds.
    level : float
        Level of the bands.
    components : list of str
        Names of the components.
    cells : dict of str to Cells
        The rows at which each component was evaluated.
    spreads : dict of str to Spread
        How the values of each component vary.
    importance : Spread
        How the importances vary, with a cell per component.
    ranks : ndarray of shape (n_resamples, n_components, n_outputs), or None
        Ranks of the importances in all replicates, 1 for the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex.inspection import resample_components
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.random.default_rng(0).integers(0, 3, size=(100, 2)).astype(float)
    >>> model = DecisionTreeRegressor(max_depth=2)
    >>> bands = resample_components(model, X, X[:, 0], features=["x0"], n_resamples=5, random_state=0)
    >>> low, high = bands.band("x0")
    >>> low.shape  # two thresholds, three bins, and one for missing values
    (4,)
    >>> bands.to_frame("x0").columns.tolist()[:4]
    ['x0', 'estimate', 'std_error', 'low']
    >>> bands.std_error("x0").shape
    (4,)
    >>> type(bands.plot()).__name__
    'ComponentDisplay'
    """

    decomposer: Any
    method: str
    n_resamples: int
    level: float
    components: list[str]
    cells: dict[str, Cells]
    spreads: dict[str, Spread]
    importance: Spread
    ranks: NDArray[np.float64] | None

    def std_error(self, component: Any) -> NDArray[np.float64]:
        """Return the standard error of a component in every cell.

        Parameters
        ----------
        component : str, tuple of str or Component
            One of the components.

        Returns
        -------
        ndarray of the shape of the component's ``values``
            On the margin scale. NaN in bins without a row of the background.
        """
        name = self._name(component)
        return self._on_cells(name, self.spreads[name].std_error)

    def band(
        self, component: Any, *, simultaneous: bool = False, level: float | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the band of a component.

        Parameters
        ----------
        component : str, tuple of str or Component
            One of the components.
        simultaneous : bool, default=False
            False: the interval of every cell has the level. True: all intervals of the component together have it.
        level : float, default=None
            The level. None: that of `resample_components`.

        Returns
        -------
        low : ndarray of the shape of the component's ``values``
            Lower ends, on the margin scale. NaN in bins without a row of the background.
        high : ndarray of the shape of the component's ``values``
            Upper ends.
        """
        name = self._name(component)
        ends = self.spreads[name].band(self.level if level is None else level, simultaneous=simultaneous)
        low, high = (self._on_cells(name, end) for end in ends)
        return low, high

    def estimate(self, component: Any) -> NDArray[np.float64]:
        """Return the centre of the band of a component.

        Parameters
        ----------
        component : str, tuple of str or Component
            One of the components.

        Returns
        -------
        ndarray of the shape of the component's ``values``
            The component of the model on all rows; for subsamples and folds, the mean of their models' components.

        Examples
        --------
        >>> import numpy as np
        >>> from skglex.inspection import resample_components
        >>> from sklearn.tree import DecisionTreeRegressor
        >>> X = np.random.default_rng(0).integers(0, 3, size=(100, 2)).astype(float)
        >>> model = DecisionTreeRegressor(max_depth=2)
        >>> bands = resample_components(model, X, X[:, 0], features=["x0"], n_resamples=5, random_state=0)
        >>> np.allclose(bands.estimate("x0")[:3], bands.decomposer["x0"].values[:3])
        True
        """
        name = self._name(component)
        return self._on_cells(name, self.spreads[name].estimate)

    def to_frame(self, component: Any) -> Any:
        """Return a component with its bands as a table, one line per cell.

        Parameters
        ----------
        component : str, tuple of str or Component
            One of the components.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            A column per feature with a value in the cell, then ``estimate``, ``std_error``, ``low``, ``high``,
            ``simultaneous_low`` and ``simultaneous_high``. Several outputs have columns ``label__low``. Cells without
            a row of the background are left out.
        """
        name, view = self._name(component), explained(self.decomposer)
        cells, spread = self.cells[name], self.spreads[name]
        at = np.indices(cells.shape).reshape(len(cells.shape), -1)[:, cells.known]
        features = self.decomposer[name].features
        columns: dict[str, Any] = {f: labels[i] for f, labels, i in zip(features, cells.labels, at)}
        columns |= label_columns(view, "estimate", spread.estimate)
        columns |= label_columns(view, "std_error", spread.std_error)
        for prefix, simultaneous in (("", False), ("simultaneous_", True)):
            low, high = spread.band(self.level, simultaneous=simultaneous)
            columns |= label_columns(view, f"{prefix}low", low)
            columns |= label_columns(view, f"{prefix}high", high)
        return as_table(columns)

    @property
    def table(self) -> Any:
        """Return the importances of the components, the largest first.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``component``, ``importance``, ``std_error``, ``low``, ``high``, and ``rank``, ``rank_low`` and
            ``rank_high``: the quantiles of the rank over the replicates. Several outputs have columns ``label__low``.
        """
        view, spread = explained(self.decomposer), self.importance
        ranking = np.argsort(-spread.estimate.sum(axis=1), kind="stable")
        low, high = spread.band(self.level, simultaneous=False)
        columns: dict[str, Any] = {"component": [self.components[i] for i in ranking]}
        parts = {"importance": spread.estimate, "std_error": spread.std_error, "low": low, "high": high}
        if self.ranks is not None:
            ends = np.quantile(self.ranks, [0.5 - self.level / 2, 0.5 + self.level / 2], axis=0)
            parts |= {"rank": _ranks(spread.estimate[None])[0], "rank_low": ends[0], "rank_high": ends[1]}
        for name, values in parts.items():
            columns |= label_columns(view, name, np.maximum(values, 0.0)[ranking])
        return as_table(columns)

    @property
    def headline(self) -> str:
        """Return what the bands contain in one sentence."""
        n, level = self.n_resamples, f"{self.level:.0%}"
        return {
            "bootstrap": f"{level} bands from {n} refits on bootstrap samples: how the learner varies with its data.",
            "subsample": f"{level} bands from {n} refits on subsamples, with the corrected variance.",
            "infinitesimal_jackknife": f"{level} bands from the bootstrap samples of {n} trees, without refits.",
            "background": (
                f"{level} bands from {n} resampled backgrounds: only the sampling error of the averages, for this "
                "model."
            ),
        }.get(self.method, f"{level} bands from {n} refits on folds, with the corrected variance.")

    def plot(self, features: Any = None, *, simultaneous: bool = False, **options: Any) -> Any:
        """Draw the components with their bands.

        Parameters
        ----------
        features : str, tuple, Component, or list of these, default=None
            Components to draw. None: all.
        simultaneous : bool, default=False
            As in `band`.
        **options : dict
            Parameters of `~skglex.plotting.ComponentDisplay.from_resamples`.

        Returns
        -------
        ComponentDisplay
            The display, with the figure and axes as attributes.
        """
        from skglex.plotting import ComponentDisplay

        return ComponentDisplay.from_resamples(self, features, simultaneous=simultaneous, **options)

    def _name(self, component: Any) -> str:
        """Return the name of one of the components."""
        found = component if isinstance(component, Component) else self.decomposer[component]
        if found.name not in self.components:
            raise KeyError(f"{found.name!r} was not resampled, only {self.components}")
        return found.name

    def _on_cells(self, name: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return numbers of the known cells in the shape of the component's table."""
        cells = self.cells[name]
        out = np.full((len(cells.known), values.shape[1]), np.nan)
        out[cells.known] = values
        return explained(self.decomposer).squeeze(out.reshape(*cells.shape, values.shape[1]))


def resample_components(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    features: Any,
    n_resamples: int = 100,
    method: Any = "bootstrap",
    train_size: float = 0.5,
    background: Any = None,
    grid: Any = None,
    level: float = 0.95,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    **params: Any,
) -> ResampledComponents:
    """Compute bands of components: how they vary if the model is fitted on other rows of the same kind.

    The model is fitted again on resampled rows. All refits are decomposed over one fixed background, and their
    components are evaluated at the same points: one for every bin of the component of the model on all rows.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier, or a pipeline that ends in one. It is cloned and fitted. With
        ``method="infinitesimal_jackknife"`` and ``"background"`` it must be fitted, and is used as it is.
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The training data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The target. Not needed by the methods without refits.
    features : str, tuple, or list of these
        Components, as in `~skglex.plotting.ComponentDisplay`: ``["hr", ("hr", "temp")]``.
    n_resamples : int, default=100
        Number of refits. Folds have their own number.
    method : {"bootstrap", "subsample", "infinitesimal_jackknife", "background"}, int or splitter, default="bootstrap"
        - ``"bootstrap"``: samples of all rows with replacement. The standard error is the standard deviation of the
          refits.
        - ``"subsample"``, folds, or any splitter of scikit-learn: samples without replacement of n_in rows, which leave
          out n_out. The variance is ``(1/B + n_out/n_in) S²`` [1]_, where S² is the variance of the B refits, with the
          quantiles of Student's t with B - 1 degrees of freedom. The centre of the band is the mean of the refits. With
          most rows in a sample, as in folds, the bands are too narrow for components: the page on bands has numbers.
        - ``"infinitesimal_jackknife"``: no refits, for a fitted random forest with ``bootstrap=True``: the covariance
          between how often a row is in a tree's sample and the tree's component, corrected for the bias of a finite
          number of trees [2]_. X must be the training data.
        - ``"background"``: no refits. Rows of the background are sampled with replacement. The bands contain only the
          sampling error of the averages, for this model.
    train_size : float, default=0.5
        Share of the rows in each sample of ``"subsample"``. With one half, the corrected variance is that of the
        delete-half jackknife. With more rows in the samples the bands are too narrow.
    background : array-like, sparse matrix or data frame, default=None
        Rows over which features are averaged out, the same for all refits. None: X.
    grid : dict of str to array-like, default=None
        Values of features at which components are evaluated, for example to compare several calls. None: the bins of
        the model on all rows.
    level : float, default=0.95
        Level of the bands.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows of X, for the fits and for X as the background.
    n_jobs : int, default=None
        Number of refits at the same time, as in joblib.
    random_state : int, RandomState instance or None, default=None
        Random state of the samples.
    **params : dict
        Parameters of the `~skglex.GlexDecomposer`, such as ``weighting`` or ``feature_groups``.

    Returns
    -------
    ResampledComponents
        The bands of the components, of their importances and of their ranks.

    Raises
    ------
    ValueError
        The method does not fit the estimator, a sample lacks a class, or a component has a group of several columns.

    See Also
    --------
    skglex.plotting.ComponentDisplay.from_resamples : Draw components with bands.
    skglex.export.to_ebm : Export a model with standard deviations.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
    .. [2] S. Wager, T. Hastie, B. Efron, "Confidence intervals for random forests: the jackknife and the infinitesimal
       jackknife", Journal of Machine Learning Research 15, 2014.

    Examples
    --------
    >>> from skglex.datasets import make_importance
    >>> from skglex.inspection import resample_components
    >>> from xgboost import XGBRegressor
    >>> X, y = make_importance(300, random_state=0)
    >>> model = XGBRegressor(n_estimators=20, max_depth=3)
    >>> bands = resample_components(model, X, y, features=["x1", "x2:x3"], n_resamples=5, random_state=0)
    >>> bands.table["component"].tolist()
    ['x1', 'x2:x3']
    >>> low, high = bands.band("x1", simultaneous=True)
    >>> bool((low <= high)[:-1].all())
    True
    """
    check_scalar(n_resamples, "n_resamples", Integral, min_val=2)
    check_scalar(level, "level", Real, min_val=0, max_val=1, include_boundaries="neither")
    check_scalar(train_size, "train_size", Real, min_val=0, max_val=1, include_boundaries="neither")
    X = _as_rows(X)
    if isinstance(method, str) and method not in _METHODS:
        raise ValueError(f"method must be one of {_METHODS}, a number of folds or a splitter; got {method!r}")
    n_rows = X.shape[0]
    weight = None if sample_weight is None else _check_sample_weight(sample_weight, np.empty((n_rows, 0)))
    refits = method not in ("infinitesimal_jackknife", "background")
    if refits and y is None:
        raise ValueError(f"method={method!r} fits the model again, so y is needed. Pass y")
    task = _Task(estimator, X, as_numpy(y), weight, background, params)
    whole = task.fit(None) if refits else task.over_background(estimator)
    chosen = [whole[key] for key in (features if isinstance(features, list) else [features])]
    if not chosen:
        raise ValueError("features is empty: name at least one component")
    points = _Points.of(whole, chosen, task.background, grid)
    rng = check_random_state(random_state)
    if method == "infinitesimal_jackknife":
        return _jackknife(whole, points, X, level)
    if method == "background":
        n_background = task.background.shape[0]
        samples = _bootstrap(n_background, n_resamples, rng)
        counts = [np.bincount(rows, minlength=n_background) for rows in samples]
        run = delayed(task.values_over)
        replicates = Parallel(n_jobs=n_jobs)(run(whole, points, count) for count in counts)
        ratio = None
    else:
        splits = list(_splits(method, X, task.y, n_resamples, train_size, is_classifier(estimator), rng))
        run = delayed(task.values_of_refit)
        replicates = Parallel(n_jobs=n_jobs)(run(points, rows) for rows, _ in splits)
        # The mean of n_out / n_in, where rows left out correct the variance.
        ratio = None if method == "bootstrap" else float(np.mean([out / len(rows) for rows, out in splits]))
    name = method if isinstance(method, str) else "folds"
    return _collect(whole, points, replicates, ratio, name, level)


@dataclass(frozen=True)
class _Points:
    """Hold the components to evaluate, and where.

    Attributes
    ----------
    names : list of str
    features : list of tuple of str
    cells : list of Cells
    """

    names: list[str]
    features: list[tuple[str, ...]]
    cells: list[Cells]

    @classmethod
    def of(cls, whole: Any, components: list[Component], background: Any, grid: Any) -> _Points:
        """Return the cells of some components of the model on all rows."""
        view = explained(whole)
        Xt = view.check(background)
        cells = [cells_of(view, component, background, Xt, grid) for component in components]
        return cls([c.name for c in components], [c.features for c in components], cells)

    def evaluate(self, decomposer: Any) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Return the values of every component in its cells, and the importances: shape (n_components, n_outputs).

        A component that the model does not have is zero.
        """
        n_outputs = explained(decomposer).n_outputs
        values, importance = [], np.zeros((len(self.names), n_outputs))
        for i, (features, cells) in enumerate(zip(self.features, self.cells)):
            try:
                component = decomposer[features]
            except KeyError:
                values.append(np.zeros((int(cells.known.sum()), n_outputs)))
                continue
            values.append(component.evaluate(cells.rows).reshape(-1, n_outputs))
            importance[i] = component.importance
        return values, importance


class _Task:
    """Fit a model on some rows, and decompose it over the fixed background.

    Parameters
    ----------
    estimator : estimator
    X, y : array-like
    weight : ndarray, or None
    background : array-like, or None
        None: X, with its weights.
    params : dict
        Parameters of the decomposers.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, weight: Any, background: Any, params: dict[str, Any]
    ) -> None:
        self._estimator = estimator
        self._X = X
        self.y = None if y is None else np.asarray(y)
        self._weight = weight
        given = background is not None
        self.background = _as_rows(background) if given else X
        self._background_weight = None if given else weight
        self._params = params
        self._classes: NDArray[Any] | None = None

    def over_background(self, model: Any, **params: Any) -> GlexDecomposer:
        """Decompose a fitted model over the background."""
        return decompose(model, self.background, self._background_weight, **{**self._params, **params})

    def fit(self, rows: NDArray[np.int64] | None, **params: Any) -> GlexDecomposer:
        """Fit the estimator on some rows (None: all), and decompose it."""
        X, y, weight = self._X, self.y, self._weight
        if rows is not None:
            X, y = take_rows(X, rows), y[rows]  # type: ignore[index]
            weight = None if weight is None else weight[rows]
        owner = GlexDecomposer(self._estimator, prefit=False)
        model, classes = resolve_estimator(self._estimator, False, X, y, weight, {}, owner=owner)
        made = self.over_background(model, **params)
        if classes is not None:
            made.classes_ = classes
        if rows is None:
            self._classes = getattr(made, "classes_", None)
        elif self._classes is not None and not np.array_equal(self._classes, made.classes_):
            raise ValueError(
                f"a sample has only the classes {made.classes_.tolist()} of {self._classes.tolist()}. Use a stratified "
                "splitter as the method, or more rows"
            )
        return made

    def values_of_refit(
        self, points: _Points, rows: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Fit on some rows, and evaluate the components."""
        order = max(map(len, points.features))
        params: dict[str, Any] = {"max_interaction": order, "remainder": False, "check_additivity": False}
        if not isinstance(self._estimator, Pipeline):
            # A pipeline may name its columns anew on every sample.
            params["features"] = list(dict.fromkeys(name for names in points.features for name in names))
        return points.evaluate(self.fit(rows, **params))

    def values_over(
        self, whole: Any, points: _Points, counts: NDArray[np.int64]
    ) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
        """Decompose the model over background rows that count so many times, and evaluate the components."""
        weight = counts if self._background_weight is None else counts * self._background_weight
        return points.evaluate(decompose(whole.estimator_, self.background, weight, like=whole))


def _as_rows(X: Any) -> Any:
    X = as_numpy(X)
    return X if hasattr(X, "shape") else np.asarray(X)


def _bootstrap(n: int, n_resamples: int, rng: Any) -> list[NDArray[np.int64]]:
    """Return samples of n rows with replacement."""
    return [rng.randint(0, n, n) for _ in range(n_resamples)]


def _splits(
    method: Any, X: Any, y: Any, n_resamples: int, train_size: float, classifier: bool, rng: Any
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Yield the rows of each sample, and how many rows it leaves out."""
    n = X.shape[0]
    if method == "bootstrap":
        yield from ((rows, 0) for rows in _bootstrap(n, n_resamples, rng))
        return
    if method == "subsample":
        n_in = max(1, round(train_size * n))
        for _ in range(n_resamples):
            yield np.sort(rng.permutation(n)[:n_in]), n - n_in
        return
    for train, test in check_cv(method, y, classifier=classifier).split(X, y):
        yield train, len(test)


def _collect(
    whole: Any,
    points: _Points,
    replicates: list[tuple[list[NDArray[np.float64]], NDArray[np.float64]]],
    ratio: float | None,
    method: str,
    level: float,
) -> ResampledComponents:
    """Return the bands from the values of all replicates."""
    n = len(replicates)
    if n < 2:
        raise ValueError(f"bands need at least two refits; the method {method!r} gives {n}")
    # Samples without replacement overlap, so that the variance between their models is too small.
    factor = 1.0 if ratio is None else 1 / n + ratio
    values, importance = points.evaluate(whole)
    by_component = [np.array(parts) for parts in zip(*(values for values, _ in replicates))]
    importances = np.array([importance for _, importance in replicates])

    def spread(estimate: NDArray[np.float64], parts: NDArray[np.float64]) -> Spread:
        mean = parts.mean(axis=0)
        deviations = (parts - mean) * np.sqrt(factor / (n - 1))
        if ratio is None:
            return Spread(estimate, deviations)
        return Spread(mean, deviations, degrees=n - 1)

    spreads = [spread(*pair) for pair in zip(values, by_component)]
    return ResampledComponents(
        decomposer=whole,
        method=method,
        n_resamples=n,
        level=level,
        components=points.names,
        cells=dict(zip(points.names, points.cells)),
        spreads=dict(zip(points.names, spreads)),
        importance=spread(importance, importances),
        ranks=_ranks(importances),
    )


def _jackknife(whole: Any, points: _Points, X: Any, level: float) -> ResampledComponents:
    """Return the bands of a forest from its trees."""
    view = explained(whole)
    forest = ForestVariance(view, X.shape[0])
    values, importance = points.evaluate(whole)
    spreads, parts = [], []
    for features, cells, estimate in zip(points.features, points.cells, values):
        listed = forest.listed(tuple(view.groups.names.index(name) for name in features))
        bins = view.fitted.bins(view.check(cells.rows), view.execution)
        deviations, variance = forest.deviations(forest.values(listed, bins))
        spreads.append(Spread(estimate, deviations, variance=variance))
        parts.append(forest.importance(listed))
    clipped = np.mean([np.mean(spread.clipped) for spread in spreads])
    if clipped > _MANY_CLIPPED:
        warn_user(
            f"the forest has {forest.n_trees} trees, too few for the infinitesimal jackknife: the variance is not "
            f"larger than the noise of the trees in {clipped:.0%} of the cells, and counts as 0 there. Grow a forest "
            "with more trees, at least as many as there are rows"
        )
    deviations, variance = forest.deviations(np.stack(parts, axis=1))
    return ResampledComponents(
        decomposer=whole,
        method="infinitesimal_jackknife",
        n_resamples=forest.n_trees,
        level=level,
        components=points.names,
        cells=dict(zip(points.names, points.cells)),
        spreads=dict(zip(points.names, spreads)),
        importance=Spread(importance, deviations, variance=variance),
        ranks=None,
    )


def _ranks(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks of the importances of shape (n_replicates, n_components, n_outputs), 1 for the largest."""
    return np.asarray(stats.rankdata(-importances, axis=1))
