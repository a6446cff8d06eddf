"""Hold a fitted model: how rows reach it, what it predicts for them, and the background that it is averaged over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from skglex._dask import partitioned_background, partitions_of
from skglex._input import (
    as_numpy,
    bin_all,
    categories_of,
    check_rows,
    is_frame,
    iter_bins,
    map_chunks,
    name_categories,
    take_rows,
)
from skglex._leaves import (
    Background,
    BackgroundLike,
    Grid,
    LeafSum,
    PathDependent,
    Weighting,
    require_equal,
    rounding_of,
)
from skglex._prefit import steps_of
from skglex._readers import SourceModel
from skglex._utils import Execution, budgets, check_memory, warn_user

# The additivity check of `fit` compares at most so many background rows.
_CHECKED_ROWS = 1000


@dataclass(frozen=True)
class FittedModel:
    """A fitted model, read into leaves, with its preprocessing and its background.

    Attributes
    ----------
    model : object
        The tree model itself: the estimator, or the last step of a pipeline.
    preprocess : Pipeline, or None
        The steps before the model.
    source : SourceModel
        The model read into leaves.
    feature_names : list of str
        Names of the model's features.
    weighting : Weighting
        How features are averaged out. `with_background` sets it.
    background : BackgroundLike
        The binned background. `with_background` sets it.
    background_rows : ndarray, int64
        Positions of the background among the rows that `fit` was given.
    row : array-like, sparse matrix or data frame of one row
        A background row before the preprocessing.
    """

    model: Any
    preprocess: Any
    source: SourceModel
    feature_names: list[str]
    weighting: Weighting = None  # type: ignore[assignment]
    background: BackgroundLike = None  # type: ignore[assignment]
    background_rows: NDArray[np.int64] = None  # type: ignore[assignment]
    row: Any = None

    @property
    def grid(self) -> Grid:
        """Return the grid of the features that the model splits on."""
        return self.source.ensemble.grid

    # -- rows ---------------------------------------------------------------------------------

    def check(self, X: Any, estimator: Any) -> Any:
        """Check rows as scikit-learn does, and take them through the preprocessing.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows, with the columns of those given to `fit`.
        estimator : estimator
            The fitted estimator that the rows are given to: scikit-learn names it in its errors.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_model_features)
            The rows as the model takes them.
        """
        X = as_numpy(X)
        if self.preprocess is None:
            X = check_rows(X, partial(takes_objects, self.model))
        X = validate_data(estimator, X, reset=False, skip_check_array=True)
        Xt = self.to_model_space(X)
        self.check_columns(Xt)
        return Xt

    def to_model_space(self, X: Any) -> Any:
        """Take rows through the preprocessing."""
        if self.preprocess is None:
            return X
        return check_rows(self.preprocess.transform(X), partial(takes_objects, self.model))

    def check_columns(self, Xt: Any) -> None:
        """Raise unless rows after the preprocessing have the columns that the model was trained on."""
        spec = self.source.input
        if Xt.shape[1] != spec.n_features:
            raise ValueError(
                f"X has {Xt.shape[1]} features, but the model was trained on {spec.n_features}"
                + (f": {spec.feature_names}" if spec.feature_names else "")
            )
        if not is_frame(Xt):
            return
        names = list(Xt.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"X has {names.count(twice)} columns with the name {twice!r}. Rename them")
        given_names = [str(name).replace(" ", spec.spaces_become) for name in names]
        if spec.feature_names and given_names != spec.feature_names:
            raise ValueError(
                "The feature names should match those that were passed during fit: X has the columns "
                f"{names}, the model was trained on {spec.feature_names}, in this order"
            )

    def bins(self, Xt: Any, execution: Execution) -> NDArray[np.unsignedinteger]:
        """Bin all rows at once: shape (n_used_features, n_samples)."""
        return bin_all(Xt, self.source.input, self.grid, execution)

    def iter_bins(
        self, Xt: Any, execution: Execution, width: int, dtype: Any = np.float64
    ) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield the bins of rows chunk by chunk; see `skglex._input.iter_bins`."""
        return iter_bins(Xt, self.source.input, self.grid, execution, width, dtype)

    def map_rows(
        self,
        Xt: Any,
        shape: tuple[int, ...],
        compute: Callable[[NDArray[Any], Execution], NDArray[np.float64]],
        execution: Execution,
        what: str,
        dtype: Any = np.float64,
    ) -> NDArray[Any]:
        r"""Compute an array of numbers for all rows, chunk by chunk.

        Parameters
        ----------
        Xt : array, sparse matrix or data frame of shape (n_samples, n_model_features)
            Rows after `check`.
        shape : tuple of int
            Shape of the numbers of one row.
        compute : callable
            Takes the bins of some rows and the execution; returns shape (\*shape, n_rows).
        execution : Execution
        what : str
            What is computed, for the error if it does not fit into memory.
        dtype : {numpy.float64, numpy.float32}

        Returns
        -------
        ndarray of shape (\*shape, n_samples), of type ``dtype``
        """
        whole = (*shape, Xt.shape[0])
        check_memory(whole, what)
        chunks = self.iter_bins(Xt, execution, int(np.prod(shape)), dtype)
        return map_chunks(chunks, whole, lambda bins: compute(bins, execution), dtype)

    # -- the model's own margin ---------------------------------------------------------------

    def model_margin(self, Xt: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the margin that the library itself predicts for some rows: shape (n_rows, n_outputs)."""
        margin = np.asarray(self.source.margin(take_rows(Xt, rows)), dtype=np.float64)
        return margin.reshape(len(rows), -1)

    def check_additivity(self, Xt: Any, background: Background, background_rows: NDArray[np.int64]) -> None:
        """Raise an AdditivityError unless the leaves add up to the model's own margin on background rows."""
        leaves = replace(self.source.ensemble, trees=None)  # the components are made from the leaves
        affordable = budgets.checked_conditions // max(len(leaves.leaf_condition), 1)
        n = max(100, min(_CHECKED_ROWS, affordable))
        positions = np.unique(np.linspace(0, len(background_rows) - 1, n).astype(int))
        rows = background_rows[positions]
        leaf_margin = LeafSum(leaves)(np.ascontiguousarray(background.bins[:, positions])).T
        rounding = rounding_of(self.source.ensemble)
        require_equal(self.model_margin(Xt, rows), leaf_margin, rounding, rows, "leaves", "fit")

    # -- the background -----------------------------------------------------------------------

    def with_background(
        self, background: BackgroundLike, rows: NDArray[np.int64], row: Any, weighting: str
    ) -> FittedModel:
        """Return the model with a background, and with the weighting of that name."""
        how = PathDependent() if weighting == "path_dependent" else background.weighting
        return replace(self, background=background, background_rows=rows, row=row, weighting=how)

    def bin_background(
        self, Xt: Any, weight: NDArray[np.float64], execution: Execution
    ) -> tuple[Background, int]:
        """Bin background rows; also return the exponent of the power of two that their weights are divided by.

        Shares do not depend on the scale, and division by a power of two is exact, so sums of huge weights stay finite.
        """
        exponent = int(np.frexp(weight.max())[1])
        return Background(self.bins(Xt, execution), np.ldexp(weight, -exponent)), exponent

    def bin_partition(
        self, X: Any, weight: NDArray[np.float64], *, estimator: Any, check_additivity: bool
    ) -> tuple[Background, int]:
        """Bin one partition of a background, as `bin_background`."""
        if not len(weight):
            return Background(np.empty((len(self.grid.features), 0), np.uint16), weight), 0
        Xt = self.check(X, estimator)
        background, exponent = self.bin_background(Xt, weight, Execution(n_jobs=1))
        if check_additivity:
            self.check_additivity(Xt, background, np.arange(len(weight)))
        return background, exponent

    def partitioned_background(
        self, partitions: Any, estimator: Any, *, check_additivity: bool = False
    ) -> BackgroundLike:
        """Return the rows of a Dask collection, which stay in their partitions, as a background."""
        read = partial(self.bin_partition, estimator=estimator)
        return partitioned_background(
            partitions,
            partial(read, check_additivity=False),
            partial(read, check_additivity=check_additivity),
        )

    def weighted_rows(
        self, X: Any, sample_weight: Any, estimator: Any, execution: Execution
    ) -> BackgroundLike:
        """Return rows with weights in the form of a background; the background itself if X is None."""
        if X is None:
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight was given without X. The background has the weights that fit was given. Pass the "
                    "rows X too"
                )
            return self.background
        if (partitions := partitions_of(X, sample_weight)) is not None:
            return self.partitioned_background(partitions, estimator)
        bins = self.bins(self.check(X, estimator), execution)
        weight = _check_sample_weight(
            sample_weight, np.empty((bins.shape[1], 0)), dtype=np.float64, ensure_non_negative=True
        )
        if not weight.sum() > 0:
            raise ValueError("sample_weight is zero for every row. Pass at least one positive weight")
        return Background(bins, weight)


def takes_objects(model: Any) -> bool:
    """Return whether a model takes arrays of strings, as CatBoost does."""
    return hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.categorical)


def read_model(
    read: Callable[[Any], SourceModel], estimator: Any, X: Any, *, path_dependent: bool
) -> tuple[FittedModel, Any]:
    """Read a fitted estimator into leaves and name its features.

    Parameters
    ----------
    read : callable
        The reader of the tree model.
    estimator : object
        The fitted model, or a pipeline that ends in it.
    X : array, sparse matrix or data frame
        Checked rows, before the preprocessing.
    path_dependent : bool
        Whether the model's covers are needed.

    Returns
    -------
    FittedModel
        Without a background.
    Xt : array, sparse matrix or data frame
        X after the preprocessing.
    """
    *steps, model = steps_of(estimator)
    preprocess = make_pipeline(*steps) if steps else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = read(model)
    _check_leaf_values(source, model)
    fitted = FittedModel(model, preprocess, source, [])
    Xt = fitted.to_model_space(X)
    if is_frame(Xt):
        source = replace(source, input=replace(source.input, categories=categories_of(Xt, source.input)))
    fitted = replace(fitted, source=source, feature_names=_name_features(Xt, preprocess, source))
    fitted.check_columns(Xt)
    fitted = replace(fitted, source=replace(source, input=name_categories(Xt, source.input, fitted.grid)))
    if path_dependent:
        if source.ensemble.path_ratio is None:
            raise ValueError(
                f"weighting='path_dependent' needs node covers, which this {type(model).__name__} does not have. "
                "Use weighting='empirical'"
            )
        for warning in caught:
            warn_user(str(warning.message), warning.category)
    return fitted, Xt


def _check_leaf_values(source: SourceModel, model: Any) -> None:
    """Raise if a leaf has an infinite or missing value: sums of such leaves mean nothing."""
    values = source.ensemble.value
    if not (finite := np.isfinite(values)).all():
        raise ValueError(
            f"the {type(model).__name__} has leaves with the value {values[~finite][0]}, but leaf values must be "
            "finite. Train it without infinite or missing targets and weights, or with a smaller learning rate"
        )


def _name_features(Xt: Any, preprocess: Any, source: SourceModel) -> list[str]:
    """Return the names of the preprocessing, else those of the columns, else those of the model, else x0, x1, ..."""
    if preprocess is not None:
        try:
            names = preprocess.get_feature_names_out()
        except (AttributeError, ValueError):  # a step does not name its output
            names = None
        if names is not None:
            return [str(name) for name in names]
    if is_frame(Xt):
        return [str(name) for name in Xt.columns]
    if source.input.feature_names:
        return list(source.input.feature_names)
    return [f"x{i}" for i in range(Xt.shape[1])]
