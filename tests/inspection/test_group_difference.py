"""Compare statistics of groups."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from xgboost import XGBRegressor

from skglex import FeatureRemover
from skglex.datasets import make_salary
from skglex.inspection import group_difference, group_statistics

VALUES = np.array([1.0, 2.0, 6.0, 4.0, 5.0])
GROUPS = np.array(["a", "a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("statistic", "expected"),
    [("median", {"a": 2.0, "b": 4.5}), ("mean", {"a": 3.0, "b": 4.5}), (np.max, {"a": 6.0, "b": 5.0})],
)
def test_statistics(statistic, expected):
    assert group_statistics(VALUES, GROUPS, statistic=statistic) == expected
    assert group_difference(VALUES, GROUPS, statistic=statistic) == expected["b"] - expected["a"]


@pytest.mark.parametrize("reference", ["a", "b"])
def test_reference_is_subtracted(reference):
    sign = 1 if reference == "a" else -1
    assert group_difference(VALUES, GROUPS, reference=reference) == sign * 2.5


@pytest.mark.parametrize("statistic", ["median", "mean"])
def test_weight_is_the_row_several_times(statistic):
    rng = np.random.default_rng(0)
    for n in range(2, 30):
        values, groups = rng.normal(size=n).round(1), np.arange(n) % 2
        weights = rng.integers(0, 4, size=n)
        weights[:2] += 1
        repeated = group_statistics(values.repeat(weights), groups.repeat(weights), statistic=statistic)
        weighted = group_statistics(values, groups, statistic=statistic, sample_weight=weights)
        assert weighted == pytest.approx(repeated)


def test_callable_gets_the_weights():
    def total(values, sample_weight):
        return values @ sample_weight

    assert group_statistics(VALUES, GROUPS, statistic=total, sample_weight=[0, 1, 1, 1, 0]) == {
        "a": 8,
        "b": 4,
    }


@pytest.mark.parametrize(
    "groups",
    [
        list(GROUPS),
        pd.Series(GROUPS, index=[4, 3, 2, 1, 0]),
        pd.Series(GROUPS, dtype="category").cat.add_categories(["empty"]),
        GROUPS.astype(object),
        GROUPS == "b",
        pl.Series(GROUPS),
    ],
    ids=["list", "series", "categorical", "object", "bool", "polars"],
)
@pytest.mark.parametrize("values", [VALUES, list(VALUES), pd.Series(VALUES), VALUES.astype(np.float32)])
def test_containers(values, groups):
    assert group_difference(values, groups) == 2.5


def test_groups_are_plain_sorted_labels():
    assert list(group_statistics(VALUES, [3, 1, 2, 1, 2])) == [1, 2, 3]
    assert (
        str(group_statistics(VALUES > 1, GROUPS == "a", statistic="mean"))
        == "{False: 1.0, True: 0.6666666666666666}"
    )


def test_one_output_may_be_a_column():
    assert group_difference(VALUES[:, None], GROUPS) == 2.5


def test_removed_feature():
    X, y = make_salary(2000, hours_sd=5, random_state=0)
    frame = pd.DataFrame(X, columns=["sex", "hours"])
    model = XGBRegressor(n_estimators=100, max_depth=3, colsample_bynode=0.5).fit(frame, y)
    remover = FeatureRemover(model, "sex").fit(frame)
    assert group_difference(model.predict(frame), frame["sex"]) == pytest.approx(30, abs=2)
    assert group_difference(remover.predict(frame), frame["sex"]) == pytest.approx(10, abs=2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"groups": list("aaaaa")}, "needs exactly two groups; got 1: 'a'. Use group_statistics"),
        ({"groups": list("abcab")}, "needs exactly two groups; got 3: 'a', 'b', 'c'"),
        ({"reference": "c"}, "reference must be one of the groups 'a', 'b'; got 'c'"),
        ({"statistic": "mode"}, r"statistic must be one of \['mean', 'median'\] or a callable; got 'mode'"),
        ({"groups": GROUPS[:3]}, "inconsistent numbers of samples"),
        ({"groups": [0.0, 1.0, 0.0, 1.0, np.nan]}, "groups has missing values"),
        ({"groups": np.array(["a", "a", "a", "b", None])}, "groups has missing values"),
        ({"groups": pd.Series(["a", "a", "a", "b", None], dtype="category")}, "groups has missing values"),
        ({"groups": pd.Series(["a", "a", "a", "b", None], dtype="string")}, "groups has missing values"),
        ({"groups": pd.Series([0, 0, 0, 1, None], dtype="Int64")}, "groups has missing values"),
        (
            {"groups": np.array(["a", "a", "a", "b", 1], dtype=object)},
            "groups mixes strings with other labels",
        ),
        ({"groups": np.ones((5, 2))}, r"groups has the shape \(5, 2\), but must have one dimension"),
        ({"y_pred": [], "groups": []}, "minimum of 1 is required"),
        ({"y_pred": np.ones((5, 2))}, r"y_pred has the shape \(5, 2\), but must have one dimension"),
        ({"y_pred": list("xxxyy")}, "y_pred must be numbers"),
        ({"y_pred": [1, 2, 3, 4, np.nan]}, "y_pred contains NaN"),
        ({"sample_weight": [1, 1, 1, 0, 0]}, "sample_weight is zero on all rows of the group 'b'"),
        ({"sample_weight": [1, 1]}, "inconsistent numbers of samples"),
        ({"sample_weight": [1, 1, 1, 1, -1]}, "Negative values"),
    ],
)
def test_bad_input(arguments, message):
    y_pred, groups = arguments.pop("y_pred", VALUES), arguments.pop("groups", GROUPS)
    with pytest.raises(ValueError, match=message):
        group_difference(y_pred, groups, **arguments)


def test_equal_weights_of_any_size_change_no_median():
    for n in range(2, 30):
        values = np.arange(n, dtype=float)
        found = group_statistics(values, np.zeros(n, int), sample_weight=np.full(n, 0.1))
        assert found == {0: np.median(values)}


def test_dates_are_groups():
    dates = np.array(["2020-01-01", "2020-01-02"] * 3, dtype="datetime64[ns]")
    assert group_statistics(np.arange(6.0), dates) == {dates[0]: 2, dates[1]: 3}
    assert group_difference(np.arange(6.0), dates, reference=dates[1]) == -1
