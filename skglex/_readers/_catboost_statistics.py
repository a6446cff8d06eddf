"""Read CatBoost's target statistics ("CTRs"): numbers that it computes from one categorical feature, or from several.

The statistic of a single categorical feature is a number for each of its categories, so a split on it divides the
categories in two sets. The statistic of a combination of features is a column that is derived from them.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import catboost as cb
import numpy as np
from numpy.typing import NDArray

# CatBoost's hash of a combination is MULTIPLIER * (hash before + MULTIPLIER * hash of the category), modulo 2 ** 64.
_MULTIPLIER = 0x4906BA494954CB65
_INVERSE = pow(_MULTIPLIER, -1, 2**64)
# The hash of empty places in CatBoost's tables.
_EMPTY = 2**64 - 1
# The trees that number the values of derived columns have at most this depth.
_DEPTH = 6


@dataclass(frozen=True)
class Statistic:
    """Hold a target statistic.

    Attributes
    ----------
    described : dict
        The statistic as CatBoost writes it.
    table : dict
        The numbers of the training data that it is computed from, by the hash of its features' values.
    first_split : int
        Number of its first border among the splits of the model.
    """

    described: dict[str, Any]
    table: dict[str, Any]
    first_split: int

    @property
    def categorical(self) -> list[int]:
        """Return the categorical features that it is computed from, by CatBoost's number."""
        return [
            part["cat_feature_index"] for part in self.described["elements"] if "cat_feature_index" in part
        ]

    @property
    def floats(self) -> list[int]:
        """Return the numeric features that it is computed from, by CatBoost's number."""
        parts = self.described["elements"]
        return [part["float_feature_index"] for part in parts if "float_feature_index" in part]

    @property
    def single(self) -> int | None:
        """Return the categorical feature whose value alone it is computed from; None if there are more."""
        parts = self.described["elements"]
        alone = len(parts) == 1 and parts[0]["combination_element"] == "cat_feature_value"
        return int(parts[0]["cat_feature_index"]) if alone else None

    def split(self, border: float) -> tuple[list[int], NDArray[np.bool_], bool]:
        """Return the hashes of all categories, whose numbers are above a border, and whether that of others is."""
        stride = int(self.table["hash_stride"])
        rows = np.array(self.table["hash_map"], dtype=object).reshape(-1, stride)
        rows = rows[[int(key) != _EMPTY for key in rows[:, 0]]]
        hashes = [_category_hash(int(key)) for key in rows[:, 0]]
        above = self._numbers(rows[:, 1:].astype(np.float64)) > np.float32(border)
        others = self._numbers(np.zeros((1, stride - 1))) > np.float32(border)
        return hashes, above, bool(others[0])

    def _numbers(self, counts: NDArray[np.float64]) -> NDArray[np.float32]:
        """Compute the statistic from the rows of its table, in float32 as CatBoost does; zeros are a value unseen."""
        kind, border = self.described["ctr_type"], int(self.described["target_border_idx"])
        if kind in ("Counter", "FeatureFreq"):
            good, total = counts[:, 0], np.full(len(counts), float(self.table["counter_denominator"]))
        elif kind in ("BinarizedTargetMeanValue", "FloatTargetMeanValue"):
            good, total = counts[:, 0], counts[:, 1]
        elif kind == "Buckets":
            good, total = counts[:, border], counts.sum(axis=1)
        else:
            good, total = counts[:, border + 1 :].sum(axis=1), counts.sum(axis=1)
        prior, weight, shift, scale = (
            np.float32(self.described[name])
            for name in ("prior_numerator", "prior_denomerator", "shift", "scale")
        )
        ratio = (good.astype(np.float32) + prior) / (total.astype(np.float32) + weight)
        return np.asarray((ratio + shift) * scale, dtype=np.float32)


def read_statistics(content: dict[str, Any]) -> list[Statistic]:
    """Return the target statistics of a model in the order in which CatBoost numbers their borders as splits."""
    info = content["features_info"]
    # CatBoost numbers the borders of numeric features first, then the one-hot values, then those of statistics.
    first = sum(len(feature.get("borders") or []) for feature in info.get("float_features") or [])
    first += sum(len(feature.get("values") or []) for feature in info.get("categorical_features") or [])
    statistics = []
    for described in info.get("ctrs") or []:
        statistics.append(Statistic(described, content["ctr_data"][described["identifier"]], first))
        first += len(described["borders"])
    return statistics


def find_statistic(statistics: list[Statistic], split: int) -> tuple[int, int]:
    """Return the number of the statistic that a split compares, and the position of its border."""
    number = int(np.searchsorted([s.first_split for s in statistics], split, side="right")) - 1
    return number, split - statistics[number].first_split


def _category_hash(combined: int) -> int:
    """Return the hash of a category from its hash as the only member of a combination."""
    value = combined * _INVERSE * _INVERSE % 2**64
    return value - 2**64 if value >= 2**63 else value


class Combinations:
    """Collect the statistics of combinations that a model splits on, as derived columns.

    The value of a derived column is the number of its borders that the statistic is above.

    Parameters
    ----------
    members : dict of int to tuple of int
        The columns that each statistic is computed from.
    n_features : int
        Number of the model's columns; the derived columns come after them.
    """

    def __init__(self, members: dict[int, tuple[int, ...]], n_features: int) -> None:
        self._members = members
        self._n_features = n_features
        self._borders: dict[int, dict[int, dict[str, Any]]] = {}

    def add(self, number: int, position: int, described: dict[str, Any]) -> int:
        """Add a border of a statistic; return the derived column."""
        self._borders.setdefault(number, {})[position] = described
        return self._n_features + list(self._borders).index(number)

    @property
    def numbers(self) -> list[int]:
        """Return the numbers of the statistics that were added."""
        return list(self._borders)

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Return the columns that each derived column is computed from."""
        return tuple(self._members[number] for number in self._borders)

    def function(self, content: dict[str, Any]) -> Callable[[Any], NDArray[np.float64]] | None:
        """Return the function from rows to the derived columns; None if there are none."""
        if not self._borders:
            return None
        trees, column, position = [], [], []
        for i, borders in enumerate(self._borders.values()):
            ordered = sorted(borders)
            for start in range(0, len(ordered), _DEPTH):
                part = ordered[start : start + _DEPTH]
                leaves = [0.0] * 2 ** len(part)
                splits = [borders[p] for p in part]
                trees.append({"leaf_values": leaves, "leaf_weights": leaves, "splits": splits})
                column.append(i)
                position.append([*part, *[-1] * (_DEPTH - len(part))])
        kept = {key: content[key] for key in ("ctr_data", "features_info")}
        model = _load({**kept, "model_info": {}, "oblivious_trees": trees, "scale_and_bias": [1, [0]]})
        return partial(_derive, model, np.array(column), np.array(position), len(self._borders))


def _load(content: dict[str, Any]) -> cb.CatBoost:
    """Return a model from JSON, which CatBoost reads only from a file."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return cb.CatBoost().load_model(str(path), format="json")


def _derive(
    model: cb.CatBoost, column: NDArray[np.int64], position: NDArray[np.int64], n_columns: int, X: Any
) -> NDArray[np.float64]:
    """Return the derived columns of rows: shape (n_samples, n_columns).

    CatBoost itself computes the statistics: the leaf of a tree says above which borders they are. A statistic that is
    above the border at position p is above p + 1 borders at least.
    """
    leaf = np.asarray(model.calc_leaf_indexes(X)).reshape(-1, len(column))
    derived = np.zeros((len(leaf), n_columns))
    for tree, (i, at) in enumerate(zip(column, position)):
        for bit, p in enumerate(at):
            if p >= 0:
                derived[:, i] = np.where(
                    leaf[:, tree] >> bit & 1, np.maximum(derived[:, i], p + 1), derived[:, i]
                )
    return derived
