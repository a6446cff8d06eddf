"""Define ComponentModel, which predicts from the components of a tree ensemble that one keeps."""

from __future__ import annotations

import os
import warnings
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from skglex._base import BaseMarginPredictor
from skglex._decomposer import GlexDecomposer
from skglex._decomposition import Explained, explained
from skglex._kept import KeptComponents, keep, listed_or_pairs, resolve_terms, strongest
from skglex._utils import Execution, restore_on_failure
from skglex.exceptions import RemainderWarning

if TYPE_CHECKING:
    import xgboost

    from skglex.export import StoredComponents

# What the model takes over from its fitted decomposer, where the decomposer has it.
_TAKEN_OVER = (
    "estimator_",
    "classes_",
    "background_",
    "feature_groups_",
    "n_features_in_",
    "feature_names_in_",
)


class ComponentModel(BaseMarginPredictor):
    """Predict from the components of a tree ensemble that one keeps."""

    _kept: KeptComponents

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseMarginPredictor._parameter_constraints,
        "max_interaction": [Interval(Integral, 1, None, closed="left"), None],
        "terms": "no_validation",
        "drop": "no_validation",
        "n_terms": [Interval(Integral, 1, None, closed="left"), None],
        "selection": [StrOptions({"importance", "lasso"})],
        "refit": [StrOptions({"ridge", "lasso"}), None],
        "remainder": ["boolean"],
        "edits": "no_validation",
    }

    def __init__(
        self,
        estimator: Any,
        *,
        max_interaction: int | None = 2,
        terms: Any = None,
        drop: Any = None,
        n_terms: int | None = None,
        selection: str = "importance",
        refit: str | None = None,
        remainder: bool = False,
        edits: Any = (),
        weighting: str = "empirical",
        feature_groups: dict[str, Any] | str | None = None,
        prefit: str | bool = "auto",
        missing: float = np.nan,
        n_background: int | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.max_interaction = max_interaction
        self.terms = terms
        self.drop = drop
        self.n_terms = n_terms
        self.selection = selection
        self.refit = refit
        self.remainder = remainder
        self.edits = edits
        self.weighting = weighting
        self.feature_groups = feature_groups
        self.prefit = prefit
        self.missing = missing
        self.n_background = n_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @restore_on_failure
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, **fit_params: Any) -> ComponentModel:
        """Use the estimator as it is or fit it, and keep the chosen components."""
        view = self._decompose(X, y, sample_weight, fit_params)
        self._kept = self._keep(view)
        return self

    def _decompose(self, X: Any, y: Any, sample_weight: Any, fit_params: dict[str, Any]) -> Explained:
        """Fit the decomposer, and take over what it knows of the model and of the rows."""
        with warnings.catch_warnings():
            if self.remainder:
                warnings.simplefilter("ignore", RemainderWarning)
            decomposer = GlexDecomposer(
                self.estimator,
                weighting=self.weighting,
                max_interaction=self.max_interaction,
                feature_groups=self.feature_groups,
                prefit=self.prefit,
                missing=self.missing,
                n_background=self.n_background,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                verbose=self.verbose,
            ).fit(X, y, sample_weight, **fit_params)
        self.decomposer_ = decomposer
        for name in _TAKEN_OVER:
            self.__dict__.pop(name, None)
            if name in vars(decomposer):
                setattr(self, name, getattr(decomposer, name))
        view = explained(decomposer)
        self._fitted = view.fitted
        return view

    def _keep(self, view: Explained) -> KeptComponents:
        """Choose the components, and take their tables."""
        everything = self.max_interaction is None and self.terms is None and self.n_terms is None
        candidates = listed_or_pairs(view, rest=self.remainder or everything).sets
        dropped = [] if self.drop is None else resolve_terms(self.drop, view, "drop")
        if self.terms is not None:
            candidates = resolve_terms(self.terms, view, "terms")
        kept = [members for members in candidates if members not in set(dropped)]
        if self.n_terms is not None:
            kept = strongest(view, kept, self.n_terms)
        kept.sort(key=lambda members: (len(members), members))
        return keep(view, kept, dropped, everything=everything, remainder=self.remainder)

    def _margin_of_bins(self, bins: NDArray[Any], execution: Execution) -> NDArray[np.float64]:
        return self._kept.margins(bins, execution)

    # -- exports and reason codes -------------------------------------------------------------

    def to_xgboost(self) -> xgboost.Booster:
        """Write the model as an ordinary XGBoost booster, with a small tree per component and output.

        Returns
        -------
        xgboost.Booster
            Its margin is that of the model, rounded to float32; see `skglex.export.to_xgboost`. The remainder is written
            as the trees of the estimator.

        Raises
        ------
        ValueError
            XGBoost has no objective with the link of the estimator, or does not read its input as the estimator does.
        """
        from skglex.export import to_xgboost

        return to_xgboost(self)

    def to_onnx(self, *, input_dtype: Any = np.float64) -> Any:
        """Write the model as an ONNX model, with a small tree per component.

        Parameters
        ----------
        input_dtype : {numpy.float64, numpy.float32}, default=numpy.float64
            Type of the input ``X``. float32 is allowed only for estimators that cast to float32 anyway.

        Returns
        -------
        onnx.ModelProto
            The model, with the inputs and outputs of `skglex.export.to_onnx`. The remainder is written as the trees of
            the estimator.

        Raises
        ------
        ImportError
            onnx is not installed.
        ValueError
            The model cannot be written as ONNX, or would be rounded by ``input_dtype``.
        """
        from skglex.export import to_onnx

        return to_onnx(self, input_dtype=input_dtype)

    def to_sql(
        self,
        *,
        dialect: str,
        table: str = "data",
        columns: dict[str, str] | None = None,
        keep: list[str] | None = None,
    ) -> str:
        """Write the model as one SQL statement with look-up tables.

        Parameters
        ----------
        dialect : {"bigquery", "duckdb", "postgres", "snowflake", "sqlite", "tsql"}
            The dialect.
        table : str, default="data"
            Name of the table with the rows.
        columns : dict of str to str, default=None
            Names of columns of the table by the names of the model's features, where they differ.
        keep : list of str, default=None
            Columns of the table that the result contains. None: all.

        Returns
        -------
        str
            A ``SELECT`` statement that returns the rows with their predictions; see `skglex.export.to_sql`.

        Raises
        ------
        ImportError
            sqlglot is not installed.
        ValueError
            There is a remainder, the tables are too large, or the model has categories that SQL cannot compare.
        """
        from skglex.export import to_sql

        return to_sql(self, dialect=dialect, table=table, columns=columns, keep=keep)

    def to_tables(self, *, scale: str = "points") -> dict[str, Any]:
        """Return the tables of the components as data frames: points, or relativities behind a logarithm.

        Parameters
        ----------
        scale : {"points", "relativities"}, default="points"
            Values to add on the margin scale, or factors to multiply.

        Returns
        -------
        dict of str to pandas.DataFrame
            ``"(intercept)"``, and a table for each component by its name; see `skglex.export.to_tables`.

        Raises
        ------
        ImportError
            pandas is not installed.
        ValueError
            There is a remainder, or relativities are asked for a model with another link.
        """
        from skglex.export import to_tables

        return to_tables(self, scale=scale)

    def save_excel(self, path: str | os.PathLike[str], *, scale: str = "points") -> None:
        """Save the tables of the components as a workbook of Excel: a price list, or a scorecard.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.xlsx``. It replaces an existing file.
        scale : {"points", "relativities"}, default="points"
            Values to add on the margin scale, or factors to multiply.

        Raises
        ------
        ImportError
            openpyxl is not installed.
        ValueError
            There is a remainder, the tables are too large for Excel, or relativities are asked for a model with another
            link.
        """
        from skglex.export import save_excel

        save_excel(self, path, scale=scale)

    def to_ebm(self) -> Any:
        """Write the model as an explainable boosting machine (EBM) of InterpretML.

        Returns
        -------
        ExplainableBoostingRegressor or ExplainableBoostingClassifier
            It predicts the same; see `skglex.export.to_ebm`.

        Raises
        ------
        ImportError
            interpret-core is not installed.
        ValueError
            There is a remainder, a component of order 3 or more, or InterpretML has no counterpart of the model.
        """
        from skglex.export import to_ebm

        return to_ebm(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the components in an open format, without the estimator; the remainder is not saved.

        Parameters
        ----------
        path : str or path
            The file to write, with the suffix ``.zip``, ``.npz`` or none; see `skglex.export.save_components`.

        Raises
        ------
        ValueError
            The suffix is that of another format, or the model has categories that cannot be stored.
        """
        from skglex.export import save_components

        save_components(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> StoredComponents:
        """Load components that `save` wrote. Nothing in the file is run.

        Parameters
        ----------
        path : str or path
            The file to read.

        Returns
        -------
        StoredComponents
            The components, which predict, and are drawn, inspected and exported without the estimator.

        Raises
        ------
        ValueError
            The file is not a file of components, is damaged, or has the format of another version of skglex.
        """
        from skglex.export import load_components

        return load_components(path)

    def reason_codes(
        self,
        X: Any,
        *,
        k: int = 4,
        reference: Any = "mean",
        groups: dict[str, list[Any]] | None = None,
        direction: str = "lower",
        output: Any = None,
    ) -> Any:
        """Name the features that moved the margin of each row most against a reference.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows with the same columns as in `fit`.
        k : int, default=4
            Largest number of reasons of a row.
        reference : {"mean", "best"} or array-like of one row, default="mean"
            What the points of each feature are compared with: their mean over the background, their highest value over
            the background (points lost, as on a scorecard), or those of a row.
        groups : dict of str to list of str, default=None
            ``{"name": [features]}``: features that are one reason.
        direction : {"lower", "higher", "both"}, default="lower"
            Whether reasons lower the margin, raise it, or both.
        output : label, default=None
            The output to explain, by its label or position. Needed only if there are several.

        Returns
        -------
        pandas.DataFrame, or dict of ndarray if pandas is not installed
            Columns ``row``, ``rank``, ``feature``, ``value`` and ``points``; see `skglex.inspection.reason_codes`.

        Raises
        ------
        ValueError
            An argument is invalid, or the reference needs background rows that are not known.
        """
        from skglex.inspection import reason_codes

        options = {"k": k, "reference": reference, "groups": groups, "direction": direction, "output": output}
        return reason_codes(self, X, **options)
