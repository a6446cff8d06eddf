"""Collect what a page shows and computes with: facts as JSON, and packed arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skglex._decomposition import Explained, Rows, explained
from skglex._explorer._arrays import pack
from skglex._explorer._classes import with_classes
from skglex._explorer._facts import importance_facts, model_facts, score_facts
from skglex._explorer._features import PageFeature, describe_feature, page_features
from skglex._explorer._leaf_arrays import coalition_arrays, leaf_arrays
from skglex._input import take_rows
from skglex._leaves import NoBackground, PathDependent
from skglex._utils import suggest


@dataclass(frozen=True)
class PageRows:
    """Hold the rows that a report is made of, and the choice of those that its page shows.

    Attributes
    ----------
    X : array, sparse matrix or data frame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), or None
    weight : ndarray of shape (n_samples,), or None
    groups : ndarray of shape (n_samples,), or None
        The group of each row.
    shown : ndarray, int64
        Positions of the rows that the page shows.
    n_background : int
        Number of background rows that the page may hold.
    class_names : list of str, or None
        Names for the classes.
    kept : dict of str to ndarray of shape (n_samples,)
        Columns that the page shows beside its rows.
    """

    X: Any
    y: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    groups: NDArray[Any] | None
    shown: NDArray[np.int64]
    n_background: int
    class_names: list[str] | None = None
    kept: dict[str, NDArray[Any]] = field(default_factory=dict)


@dataclass
class Page:
    """Build the payload of one model.

    Attributes
    ----------
    decomposer : GlexDecomposer
    rows : PageRows
    view : Explained
    features : list of PageFeature
    arrays : dict of str to ndarray
    notes : list of str
        What the page says about itself.
    """

    decomposer: Any
    rows: PageRows
    view: Explained = field(init=False)
    features: list[PageFeature] = field(init=False)
    arrays: dict[str, NDArray[Any]] = field(init=False)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.view = with_classes(explained(self.decomposer), self.rows.y, self.rows.class_names)
        self.features = page_features(self.decomposer, self.view)
        self.arrays = leaf_arrays(self.view)

    def payload(
        self, title: str | None, target: str | None, units: str | None, groups_name: str, removed: list[int]
    ) -> dict[str, Any]:
        """Return the payload."""
        view, everything = self.view, Rows(self.decomposer, self.rows.X)
        facts = model_facts(view, title, target, units)
        facts["maxOrder"], weights = coalition_arrays(view)
        if facts["maxOrder"] == 0 and view.decomposition.without_margin is None:
            self.notes.append(
                "The page computes no components, since the paths of the model have too many features."
            )
        self.arrays |= weights
        facts["backgroundRows"] = self._add_background()
        if facts["combined"] and facts["backgroundRows"] and facts["weighting"] == "empirical":
            facts["maxOrder"] = 2
        facts["rows"], facts["nRows"] = self._add_rows(), self.rows.X.shape[0]
        facts["kept"] = self._kept_columns()
        facts["features"] = self._describe_features(everything)
        used = {feature.player for feature in self.features}
        facts["unusedFeatures"] = [name for i, name in enumerate(view.groups.names) if i not in used]
        facts |= importance_facts(view, np.array([f.player for f in self.features]), self.notes)
        facts["groups"] = self._add_groups(groups_name)
        facts["scores"] = self._scores(everything)
        facts["removal"] = {"features": removed, "strength": 1.0} if removed else None
        facts["compare"] = None
        facts["notes"] = [*self._row_notes(facts), *self.notes]
        return {"format": 1, "facts": facts, "arrays": pack(self.arrays), "other": None}

    def position_of(self, name: Any) -> int | None:
        """Return the position of a feature of the page from its name; None if the model does not use it.

        The name is that of a feature, of a group, of a raw column, or of one of the model's columns.
        """
        groups, names = self.view.groups, self.view.feature_names
        players = {groups.names.index(name)} if name in groups.names else set()
        if name in names:
            players.add(int(groups.of_feature[names.index(name)]))
        if name in groups.raw:
            players |= {int(groups.of_feature[i]) for i in groups.raw[name]}
        for position, feature in enumerate(self.features):
            if feature.name == name or feature.player in players:
                return position
        known = [*groups.names, *(feature.name for feature in self.features)]
        if not players and name not in known:
            raise ValueError(
                f"remove contains the unknown feature {name!r}. {suggest(name, dict.fromkeys(known))}"
            )
        return None

    @property
    def background_positions(self) -> NDArray[np.int64]:
        """Return the positions of the background rows that the page holds."""
        background = self.view.background
        if isinstance(background, NoBackground):
            return np.empty(0, np.int64)
        return sample(background.n_rows, self.rows.n_background)

    # -- arrays -------------------------------------------------------------------------------

    def _add_background(self) -> int:
        """Add background rows in bins; return their number."""
        chosen = self.background_positions
        if not len(chosen):
            return 0
        rows = self.view.background.in_memory()
        bins = rows.bins[:, chosen]
        self.arrays["backgroundCells"] = np.array([f.cells_of(bins[f.columns]) for f in self.features])
        self.arrays["backgroundWeight"] = rows.weight[chosen]
        return len(chosen)

    def _add_rows(self) -> int:
        """Add the rows to browse, in cells and as numbers; return their number."""
        n = len(self.rows.shown)
        if not n:
            return 0
        rows = Rows(self.decomposer, take_rows(self.rows.X, self.rows.shown))
        cells = []
        for i, feature in enumerate(self.features):
            axis = feature.axis
            cells.append(
                feature.cells_of(rows.bins[feature.columns], None if axis is None else axis.find(rows))
            )
            if axis is not None and axis.labels is None and axis.numbers is not None:
                self.arrays[f"rowNumbers{i}"] = np.asarray(axis.numbers(rows), np.float64)
        self.arrays["rowCells"] = np.array(cells).reshape(len(self.features), n)
        self.arrays["rowPosition"] = self.rows.shown
        if self.rows.y is not None and self.rows.y.ndim == 1:
            y = self.rows.y[self.rows.shown]
            numeric = y.dtype.kind in "fiub" and not self.view.source.response.is_classifier
            if numeric:
                self.arrays["rowTarget"] = y.astype(np.float64)
            else:
                labels = y.astype(str) if self.view.class_names is None else self._names_of(y)
                self._target_labels, self.arrays["rowTarget"] = np.unique(labels, return_inverse=True)
        return n

    _target_labels: NDArray[Any] | None = None

    def _names_of(self, y: NDArray[Any]) -> NDArray[Any]:
        """Return the names of the classes of rows; a label that the model does not know is its own name."""
        labels = getattr(self.view.estimator, "classes_", self.view.source.response.classes).tolist()
        names = dict(zip(labels, self.view.classes))
        return np.array([str(names.get(label, label)) for label in y.tolist()])

    def _describe_features(self, everything: Rows) -> list[dict[str, Any]]:
        """Return the facts of all features, and add the bins of their cells."""
        facts = []
        for i, feature in enumerate(self.features):
            shares = self._combinations(feature) if feature.axis is None else np.empty(0)
            facts.append(describe_feature(feature, self.view, everything, shares))
            self.arrays[f"columns{i}"] = feature.columns
            self.arrays[f"cellBins{i}"] = feature.bins
        return facts

    def _combinations(self, feature: PageFeature) -> NDArray[np.float64]:
        """Return the shares of the combinations of bins of a feature without an axis; there is at least one."""
        if isinstance(self.view.background, NoBackground):
            if not feature.bins.shape[1]:
                feature.bins = np.zeros((len(feature.columns), 1), np.int64)
            return np.zeros(feature.bins.shape[1])
        rows = self.view.background.in_memory()
        bins = rows.bins[feature.columns]
        distinct, of_row = np.unique(bins, axis=1, return_inverse=True)
        share = np.bincount(of_row.ravel(), rows.weight) / rows.total
        if not feature.bins.shape[1]:
            feature.bins = distinct[:, [int(np.argmax(share))]].astype(np.int64)
        known = {column.tobytes(): s for column, s in zip(distinct.T.astype(np.int64).copy(), share)}
        return np.array([known.get(column.tobytes(), 0.0) for column in feature.bins.T.copy()])

    def _add_groups(self, name: str) -> dict[str, Any] | None:
        """Add the group of each row; return their labels and sizes."""
        groups = self.rows.groups
        if groups is None:
            return None
        labels, codes = np.unique(groups.astype(str), return_inverse=True)
        if len(self.rows.shown):
            self.arrays["rowGroup"] = codes[self.rows.shown]
        return {"name": name, "labels": labels.tolist()}

    def _scores(self, everything: Rows) -> list[dict[str, Any]] | None:
        if self.rows.y is None:
            return None
        margin = self.view.decomposition.margins(everything.bins, self.view.execution)
        return score_facts(self.view, margin, self.rows.y, self.rows.weight)

    def _kept_columns(self) -> list[dict[str, Any]]:
        """Return the columns beside the rows of the page; what is no finite number is a text, or missing."""
        columns = []
        for name, values in self.rows.kept.items():
            shown = values[self.rows.shown]
            written: list[Any]
            if shown.dtype.kind in "iuf":
                whole = shown.dtype.kind != "f"
                written = [(int(v) if whole else float(v)) if np.isfinite(v) else None for v in shown]
            else:
                written = [None if v is None or v != v else str(v) for v in shown.tolist()]
            columns.append({"name": name, "isNumber": shown.dtype.kind in "iuf", "values": written})
        return columns

    # -- words --------------------------------------------------------------------------------

    def _row_notes(self, facts: dict[str, Any]) -> list[str]:
        """Return what the page says of its rows."""
        n = self.rows.X.shape[0]
        if self._target_labels is not None:
            facts["targetLabels"] = self._target_labels.tolist()
        notes = [
            f"The page holds {facts['rows']:,} of {n:,} rows"
            + (", drawn at random." if 0 < facts["rows"] < n else ".")
        ]
        if facts["weighting"] == "path_dependent":
            notes.append("Features are averaged out with the covers of the trees (path-dependent weights).")
        else:
            notes.append(
                f"Components average over {facts['nBackground']:,} background rows. SHAP values, the response scale "
                f"and removal average over {facts['backgroundRows']:,} of them, which are in the page in bins."
            )
        if (
            isinstance(self.view.decomposition.weighting, PathDependent)
            and facts["response"]
            and not facts["oneScale"]
        ):
            notes.append("Explanations on the response scale need weighting='empirical'.")
        if self.view.source.response.without_margin is None and facts["response"] is None:
            link = self.view.source.response.link
            if link not in ("identity", "identity_multiclass"):
                notes.append(
                    f"The page shows no responses: the inverse link {link!r} has no formula in the page."
                )
        joint = [f.name for f in self.features if f.axis is None]
        if joint:
            notes.append(
                f"The model combines several columns in {', '.join(joint)}, which cannot be edited here."
            )
        return notes


def sample(n: int, size: int) -> NDArray[np.int64]:
    """Return up to ``size`` of n positions, drawn at random; always the same ones."""
    if size >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, size, replace=False))
