"""Hold a fitted model: its preprocessing, its leaves, and the background that features are averaged out over."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.validation import _check_sample_weight, validate_data

from skglex._dask import partitioned_background, partitions_of
from skglex._input import (
    RawMap,
    as_numpy,
    bin_all,
    categories_of,
    check_rows,
    column_limits,
    fill_columns,
    frame_names,
    is_frame,
    iter_bins,
    map_chunks,
    name_categories,
    pack_row,
    placeholders,
    row_of_series,
    take_rows,
    trace_columns,
    unpack_row,
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
    sum_leaves,
)
from skglex._readers import SourceModel, describe_subclass, is_side_by_side, steps_of
from skglex._utils import Execution, budgets, check_memory, warn_user
from skglex.exceptions import MissingValueWarning

# The additivity check of `fit` compares at most this many background rows.
_CHECKED_ROWS = 1000


@dataclass(frozen=True)
class FittedModel:
    """Hold a fitted model as leaves, with its preprocessing and its background.

    Attributes
    ----------
    model : object
        The tree model: the estimator, or the last step of a pipeline.
    preprocess : Pipeline, or None
        The steps before the model.
    source : SourceModel
        The leaves of the model, its response and its input.
    feature_names : list of str
        Names of the model's features.
    weighting : Weighting
        How features are averaged out. `with_background` sets it.
    background : BackgroundLike
        The binned background. `with_background` sets it.
    background_rows : ndarray, int64
        Positions of the background among the rows passed to `fit`.
    row : array-like, sparse matrix or data frame of one row
        A background row before the preprocessing.
    sparse : bool
        Whether the rows after the preprocessing are a sparse matrix.
    raw : RawMap
        Which raw columns the model's columns are computed from. `with_raw_columns` sets it.
    limits : ndarray of shape (n_used_features, 2), or None
        The least and the largest number of each feature in the background; None if it is not in memory.
        `with_raw_columns` sets it.
    """

    model: Any
    preprocess: Any
    source: SourceModel
    feature_names: list[str]
    weighting: Weighting = None  # type: ignore[assignment]
    background: BackgroundLike = None  # type: ignore[assignment]
    background_rows: NDArray[np.int64] = None  # type: ignore[assignment]
    row: Any = None
    sparse: bool = False
    raw: RawMap = field(default_factory=RawMap)
    limits: NDArray[np.float64] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "row": pack_row(self.row)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({**state, "row": unpack_row(state["row"])})

    @property
    def zero_is_missing(self) -> bool:
        """Return whether zeros are missing: the model gets sparse rows, and takes unstored entries as missing."""
        return self.sparse and bool(self.source.input.sparse_is_missing)

    @property
    def by_member(self) -> bool:
        """Return whether the model's members have a preprocessing, and so columns, of their own."""
        return is_side_by_side(self.model)

    @property
    def grid(self) -> Grid:
        """Return the grid of the features that the model splits on."""
        return self.source.ensemble.grid

    @property
    def column_names(self) -> list[str]:
        """Return the names of the model's features, then of the columns that the model derives from them."""
        derived = self.source.input.derived
        names = [" + ".join(self.feature_names[i] for i in members) for members in derived]
        return [*self.feature_names, *(f"statistic {i} of {name}" for i, name in enumerate(names))]

    # -- rows ---------------------------------------------------------------------------------

    def check(self, X: Any, estimator: Any) -> Any:
        """Check rows as scikit-learn does, and apply the preprocessing.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        estimator : estimator
            The fitted estimator whose method was called; scikit-learn's errors contain its name.

        Returns
        -------
        array, sparse matrix or data frame of shape (n_samples, n_model_features)
            The input of the model.
        """
        X = row_of_series(as_numpy(X), self.row)
        if self.preprocess is None:
            X = check_rows(X, partial(takes_objects, self.model))
        if self._lacks_columns(X):
            # The preprocessing may drop the columns that X lacks.
            with suppress(KeyError, ValueError):
                Xt = self.to_model_space(X)
                self.check_columns(Xt)
                return Xt
        if not self._has_written_names(X):
            check_names(estimator, X, reset=False)
        Xt = self.to_model_space(X)
        self.check_columns(Xt)
        return Xt

    def _has_written_names(self, X: Any) -> bool:
        """Return whether X has the names of the training data, and the model wrote them with other spaces.

        LightGBM stores "my age" as "my_age". Without rows in `fit`, this name is all that is known.
        """
        spec = self.source.input
        if self.row is not None or self.preprocess is not None or not is_frame(X):
            return False
        return spec.feature_names == [name.replace(" ", spec.spaces_become) for name in frame_names(X)]

    def _lacks_columns(self, X: Any) -> bool:
        """Return whether X has some columns of the data frame passed to `fit`, in its order, but not all."""
        if self.preprocess is None or not (is_frame(X) and is_frame(self.row)):
            return False
        names, known = frame_names(X), frame_names(self.row)
        return names != known and names == [name for name in known if name in names]

    def fill_others(self, X: Any, needed: NDArray[np.int64]) -> Any:
        """Fill the columns that a data frame lacks, but the model's columns ``needed`` do not depend on.

        The values come from a background row.

        Raises
        ------
        ValueError
            An array has the needed columns alone: it has no names that tell which these are.
        """
        n_features, n_needed = self.source.input.n_features, len(needed)
        columns_alone = np.ndim(X) == 2 and np.shape(X)[1] == n_needed < n_features
        if self.preprocess is None and not is_frame(X) and columns_alone:
            alone = ", ".join(repr(self.feature_names[i]) for i in needed)
            raise ValueError(
                f"X is an array with {n_needed} of the {n_features} columns passed to fit. Pass all of them (the "
                "others do not matter)" + (f", or a data frame with {alone}" if is_frame(self.row) else "")
            )
        if not (is_frame(X) and is_frame(self.row)) or X.shape[1] == self.row.shape[1]:
            return X
        names = frame_names(self.row)
        if self.preprocess is None:
            outputs: list[Any] = [(i,) for i in range(len(names))]
        else:
            outputs = self.raw.outputs
        if not set(needed.tolist()) <= {i for columns in outputs for i in columns}:
            return X
        others = [i for i, columns in enumerate(outputs) if not set(columns) & set(needed.tolist())]
        present = frame_names(X)
        X = fill_columns(X, [i for i in others if names[i] not in present], self.row, numbers=True)
        label_of = dict(zip(frame_names(X), X.columns))
        return X[[label_of[name] for name in names]] if set(label_of) == set(names) else X

    def to_model_space(self, X: Any) -> Any:
        """Apply the preprocessing to rows."""
        if self.preprocess is None:
            return X
        return check_rows(self.preprocess.transform(X), partial(takes_objects, self.model))

    def check_columns(self, Xt: Any) -> None:
        """Raise unless rows after the preprocessing have the columns that the model was trained on."""
        spec = self.source.input
        if Xt.shape[1] != spec.n_features:
            raise ValueError(
                f"X has {Xt.shape[1]} features, but the model was trained on {spec.n_features} features"
                + (f": {spec.feature_names}" if spec.feature_names else "")
            )
        if not is_frame(Xt):
            return
        names = list(Xt.columns)
        if len(set(names)) < len(names):
            repeated = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"X has {names.count(repeated)} columns with the name {repeated!r}. Rename them")
        # CatBoost writes the labels of a MultiIndex as tuples.
        accepted = [
            [name.replace(" ", spec.spaces_become) for name in written]
            for written in (frame_names(Xt), list(map(str, names)))
        ]
        if spec.feature_names and spec.feature_names not in accepted:
            raise ValueError(
                "The feature names should match those that were passed during fit: X has the columns "
                f"{names}, but the model was trained on {spec.feature_names}. Pass these columns in this order"
            )

    def bins(self, Xt: Any, execution: Execution) -> NDArray[np.unsignedinteger]:
        """Bin all rows at once: shape (n_used_features, n_samples)."""
        return bin_all(Xt, self.source.input, self.grid, execution)

    def iter_bins(
        self, Xt: Any, execution: Execution, width: int, dtype: Any = np.float64
    ) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Yield the bins of rows chunk by chunk; parameters as in `skglex._input.iter_bins`."""
        return iter_bins(Xt, self.source.input, self.grid, execution, width, dtype)

    def map_rows(
        self,
        Xt: Any,
        shape: tuple[int, ...],
        compute: Callable[[NDArray[Any], Execution], NDArray[np.float64]],
        execution: Execution,
        name: str,
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
            Function of the bins of some rows and the execution that returns float64 of shape (\*shape, n_rows).
        execution : Execution
            Execution options.
        name : str
            Name of the result, for the error if it does not fit into memory.
        dtype : {numpy.float64, numpy.float32}
            Type of the result.

        Returns
        -------
        ndarray of shape (\*shape, n_samples), of type ``dtype``
            The numbers.
        """
        out_shape = (*shape, Xt.shape[0])
        check_memory(out_shape, name)
        chunks = self.iter_bins(Xt, execution, int(np.prod(shape)), dtype)
        return map_chunks(chunks, out_shape, lambda bins: compute(bins, execution), dtype)

    def fill_rows(
        self,
        Xt: Any,
        shape: tuple[int, ...],
        fill: Callable[[NDArray[np.float64], int, NDArray[Any], Execution], None],
        execution: Execution,
        name: str,
        width: int,
    ) -> NDArray[np.float64]:
        r"""Compute the same as `map_rows`, without a copy of the output.

        ``fill`` takes the whole result, where the rows of a chunk begin in it, their bins, and the execution. It
        writes their numbers, which are zero before, and holds ``width`` more numbers per row.
        """
        out_shape = (*shape, Xt.shape[0])
        check_memory(out_shape, name)
        out = np.zeros(out_shape)
        for start, _, bins in self.iter_bins(Xt, execution, width):
            fill(out, start, bins, execution)
        return out

    # -- the model's margin -------------------------------------------------------------------

    def model_margin(self, Xt: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the margin that the model's library predicts for some rows: shape (n_rows, n_outputs)."""
        margin = np.asarray(self.source.margin(take_rows(Xt, rows)), dtype=np.float64)
        return margin.reshape(len(rows), -1)

    def check_additivity(self, Xt: Any, background: Background, background_rows: NDArray[np.int64]) -> None:
        """Raise an AdditivityError unless the leaves add up to the model's margin on background rows."""
        # The leaves are added up without the trees, since the components are computed from them.
        ensemble = self.source.ensemble
        affordable = budgets.checked_conditions // max(len(ensemble.leaf_condition), 1)
        n = max(100, min(_CHECKED_ROWS, affordable))
        positions = np.unique(np.linspace(0, len(background_rows) - 1, n).astype(int))
        rows = background_rows[positions]
        bins = np.ascontiguousarray(background.bins[:, positions])
        leaf_margin = (LeafSum(ensemble)(bins) if ensemble.trees is None else sum_leaves(ensemble, bins)).T
        rounding = rounding_of(ensemble)
        cause = describe_subclass(self.model)
        require_equal(self.model_margin(Xt, rows), leaf_margin, rounding, rows, "leaves", "fit", cause)

    # -- the background -----------------------------------------------------------------------

    def with_background(
        self, background: BackgroundLike, rows: NDArray[np.int64], row: Any, weighting: str
    ) -> FittedModel:
        """Return a copy with a background, and with the weighting that ``weighting`` names."""
        ensemble = self.source.ensemble
        strategy: Weighting = PathDependent()
        if weighting != "path_dependent":
            # In a forest, the ratios take as much memory as half of the model.
            strategy, ensemble = background.weighting, replace(ensemble, cover_ratio=None)
        # These functions have been called, and would be saved too.
        source = replace(self.source, ensemble=ensemble, with_missing=None, with_survival=None)
        return replace(
            self, source=source, background=background, background_rows=rows, row=row, weighting=strategy
        )

    def with_raw_columns(self, X: Any, Xt: Any) -> FittedModel:
        """Return a copy that knows which raw columns the model's columns come from, and the limits of their numbers.

        X and Xt are the rows passed to `fit`, before and after the preprocessing. Nothing is traced if the background
        is in Dask partitions.
        """
        rows = self.background_rows
        if len(rows) != self.background.n_rows:
            return self
        if len(rows) < Xt.shape[0]:
            X, Xt = take_rows(X, rows), take_rows(Xt, rows)
        transform = None if self.preprocess is None else self.to_model_space
        spec, background = self.source.input, self.background.in_memory()
        raw = trace_columns(X, Xt, transform, spec, self.grid, background)
        return replace(self, raw=raw, limits=column_limits(Xt, spec, self.grid))

    def bin_background(
        self, Xt: Any, weight: NDArray[np.float64], execution: Execution
    ) -> tuple[Background, int]:
        """Bin background rows and divide their weights by a power of two; also return its exponent.

        The division keeps sums of huge weights finite. It is exact, and shares do not depend on the scale.
        """
        exponent = int(np.frexp(weight.max())[1])
        return Background(self.bins(Xt, execution), np.ldexp(weight, -exponent)), exponent

    def warn_of_missing_values(self, Xt: Any) -> None:
        """Warn of background values that look like missing ones, if the model does not store which value is missing."""
        spec = self.source.input
        if self.source.with_missing is None or not np.isnan(spec.missing):
            return
        rows = np.unique(np.linspace(0, Xt.shape[0] - 1, _CHECKED_ROWS).astype(int))
        for value, used_features in placeholders(take_rows(Xt, rows), spec, self.grid).items():
            names = [self.feature_names[feature] for feature in self.grid.features[used_features]]
            warn_user(
                f"the columns {names[:20]} have the value {value:g} far away from all others and from the model's "
                f"thresholds. A {type(self.model).__name__} does not store which value was missing in training. If it "
                f"was {value:g}, pass missing={value:g}",
                MissingValueWarning,
            )

    def bin_partition(
        self, X: Any, weight: NDArray[np.float64], *, estimator: Any, check_additivity: bool
    ) -> tuple[Background, int]:
        """Check and bin one partition of a background; returns the same as `bin_background`."""
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
        """Return the rows of a Dask collection as a background; the rows stay in their partitions."""
        read = partial(self.bin_partition, estimator=estimator)
        return partitioned_background(
            partitions,
            partial(read, check_additivity=False),
            partial(read, check_additivity=check_additivity),
        )

    def weighted_rows(
        self, X: Any, sample_weight: Any, estimator: Any, execution: Execution
    ) -> BackgroundLike:
        """Return binned rows with weights, in the form of a background; if X is None, return the background."""
        if X is None:
            if sample_weight is not None:
                raise ValueError(
                    "sample_weight was passed without X. Without X, the background rows are used with the weights "
                    "passed to fit. Pass X too, or drop sample_weight"
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


def check_names(estimator: Any, X: Any, *, reset: bool) -> None:
    """Compare the number and the names of columns with those in `fit`, as scikit-learn does, or store them.

    scikit-learn raises if only some labels are strings, although models accept them. Such names are not stored.
    """
    mixed = is_frame(X) and len({isinstance(label, str) for label in X.columns}) > 1
    validate_data(
        estimator, np.broadcast_to(0.0, X.shape) if mixed else X, reset=reset, skip_check_array=True
    )


def takes_objects(model: Any) -> bool:
    """Return whether a model accepts arrays of strings: CatBoost does, and histogram boosting that encodes categories.

    The tags of histogram boosting do not tell.
    """
    columns = getattr(model, "categorical_features", None)
    encodes = getattr(model, "is_categorical_", None) is not None or not isinstance(columns, str | None)
    if not hasattr(model, "__sklearn_tags__"):  # Older versions of CatBoost have no tags.
        return encodes or hasattr(model, "get_cat_feature_indices")
    return encodes or bool(get_tags(model).input_tags.categorical)


def read_model(
    read: Callable[[Any], SourceModel],
    estimator: Any,
    X: Any,
    *,
    missing: float,
    survival: tuple[str, Any],
    path_dependent: bool,
) -> tuple[FittedModel, Any]:
    """Read the leaves of a fitted estimator, and name its features.

    Parameters
    ----------
    read : callable
        The reader of the tree model.
    estimator : object
        The fitted model, or a pipeline that ends in it.
    X : array, sparse matrix or data frame
        Checked rows, before the preprocessing; None if there are none.
    missing : float
        The value that counts as missing besides NaN, for a model that does not store it.
    survival : tuple of str and array-like
        ``survival_output`` and ``times``, for a survival model.
    path_dependent : bool
        Whether the weighting needs the model's covers. Only then warnings of the reader are shown, which concern
        covers.

    Returns
    -------
    FittedModel
        The model without a background.
    Xt : array, sparse matrix or data frame
        X after the preprocessing, or None.
    """
    *steps, model = steps_of(estimator)
    preprocess = make_pipeline(*steps) if steps else None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        source = _read(read, model)
        if not np.isnan(missing):
            source = _read_with_missing(source, model, missing)
        if survival[0] != "risk" or survival[1] is not None:
            source = _read_survival(source, model, *survival)
    _check_leaf_values(source, model)
    fitted = FittedModel(model, preprocess, source, [])
    Xt = None if X is None else fitted.to_model_space(X)
    if is_frame(Xt):
        source = replace(source, input=replace(source.input, categories=categories_of(Xt, source.input)))
    names = _name_features(Xt, preprocess, source)
    fitted = replace(fitted, source=source, feature_names=names, sparse=sp.issparse(Xt))
    if Xt is not None:
        fitted.check_columns(Xt)
        fitted = replace(fitted, source=replace(source, input=name_categories(Xt, source.input, fitted.grid)))
    if path_dependent:
        if not source.ensemble.has_cover:
            raise ValueError(
                f"weighting='path_dependent' needs node covers, which this {type(model).__name__} does not have. "
                "Use weighting='empirical'"
            )
        for warning in caught:
            warn_user(str(warning.message), warning.category)
    return fitted, Xt


def _read(read: Callable[[Any], SourceModel], model: Any) -> SourceModel:
    """Call a reader; if it fails for a subclass of another package, say so."""
    try:
        return read(model)
    except NotFittedError:
        raise
    except Exception as error:
        if (cause := describe_subclass(model)) is None:
            raise
        raise ValueError(f"cannot read this model: {error}. {cause}") from error


def _read_with_missing(source: SourceModel, model: Any, missing: float) -> SourceModel:
    """Return the model read with a value that counts as missing; raise if the model stores this value."""
    if source.with_missing is None:
        raise ValueError(
            f"missing={missing!r} was passed, but a {type(model).__name__} stores which values it counts as missing. "
            "Leave missing out; it is for an xgboost.Booster or a treelite.Model"
        )
    return source.with_missing(missing)


def _read_survival(source: SourceModel, model: Any, survival_output: str, times: Any) -> SourceModel:
    """Return the model read with a survival output; raise if it is no survival model with several outputs."""
    if source.with_survival is None:
        raise ValueError(
            f"survival_output={survival_output!r} and times={times!r} were passed, but a {type(model).__name__} "
            "predicts no curves over time. Leave them out; they are for models of scikit-survival"
        )
    return source.with_survival(survival_output, times)


def _check_leaf_values(source: SourceModel, model: Any) -> None:
    """Raise if a leaf value is infinite or missing, since sums of such values are not meaningful."""
    values = source.ensemble.value
    if not (finite := np.isfinite(values)).all():
        raise ValueError(
            f"the {type(model).__name__} has leaves with the value {values[~finite][0]}, but leaf values must be "
            "finite. Train the model without infinite or missing targets and weights, or with a smaller learning rate"
        )


def _name_features(Xt: Any, preprocess: Any, source: SourceModel) -> list[str]:
    """Return the feature names of the preprocessing, the columns or the model, else x0, x1, ..."""
    if preprocess is not None:
        try:
            names = preprocess.get_feature_names_out()
        except (AttributeError, ValueError):  # Some transformers do not name their output.
            names = None
        if names is not None:
            return [str(name) for name in names]
    if is_frame(Xt):
        return frame_names(Xt)
    if source.input.feature_names:
        return list(source.input.feature_names)
    return [f"x{i}" for i in range(source.input.n_features)]
