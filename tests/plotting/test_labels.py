"""Say on the axes what the margin is, and of which target."""

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.ensemble import IsolationForest, RandomForestClassifier, RandomForestRegressor
from xgboost import XGBClassifier, XGBRegressor

from skglex import GlexDecomposer
from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("plt")

X = np.random.default_rng(0).normal(size=(300, 3))
SCORE = X[:, 0] + X[:, 1] * X[:, 2]
NAMES = np.array(["no", "yes"])[(SCORE > 0).astype(int)]
LEVELS = np.array(["low", "mid", "top"])[np.digitize(SCORE, [-0.5, 0.5])]
SMALL = {"n_estimators": 5, "max_depth": 3, "random_state": 0}

# The model, the output, the word without and with a target.
CASES = {
    "regressor": (lambda: XGBRegressor(**SMALL).fit(X, SCORE), None, "prediction", "rides"),
    "counts": (
        lambda: LGBMRegressor(**SMALL, objective="poisson", verbose=-1).fit(X, np.exp(SCORE)),
        None,
        "log of the prediction",
        "log of rides",
    ),
    "boosted classifier": (
        lambda: XGBClassifier(**SMALL).fit(X, SCORE > 0),
        None,
        "log-odds",
        "log-odds of rides",
    ),
    "forest": (
        lambda: RandomForestClassifier(**SMALL).fit(X, NAMES),
        None,
        "probability of class yes",
        "probability of rides",
    ),
    "forest of classes": (
        lambda: RandomForestClassifier(**SMALL).fit(X, LEVELS),
        "mid",
        "probability of class mid",
        "probability of rides, class mid",
    ),
    "boosted classes": (
        lambda: XGBClassifier(**SMALL).fit(X, np.digitize(SCORE, [-0.5, 0.5])),
        1,
        "score of class 1",
        "score of rides, class 1",
    ),
    "targets": (
        lambda: RandomForestRegressor(**SMALL).fit(X, np.column_stack([SCORE, -SCORE])),
        1,
        "prediction of output 1",
        "rides, output 1",
    ),
    "isolation": (
        lambda: IsolationForest(n_estimators=5).fit(X),
        None,
        "mean path length",
        "mean path length of rides",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_words_for_the_margin(case):
    train, output, word, of_target = CASES[case]
    decomposer = GlexDecomposer(train(), max_interaction=None).fit(X)
    for target, units, expected in [
        (None, None, word),
        ("rides", None, of_target),
        ("rides", "per hour", f"{of_target} (per hour)"),
    ]:
        options = {"output": output, "target": target, "units": units}
        component = ComponentDisplay.from_decomposer(decomposer, "x0", **options)
        assert component.ax_.get_ylabel().replace("\n", " ") == f"effect on {expected}"
        shap = ShapDisplay.from_decomposer(decomposer, "x0", X, **options)
        assert shap.ax_.get_ylabel().replace("\n", " ") == f"SHAP value, {expected}"
        importance = ImportanceDisplay.from_decomposer(decomposer, **options)
        assert importance.ax_.get_xlabel().replace("\n", " ") == f"mean absolute effect on {expected}"
        waterfall = WaterfallDisplay.from_decomposer(decomposer, X[:1], **options)
        assert waterfall.ax_.get_xlabel().replace("\n", " ") == expected
        total = waterfall.ax_.get_yticklabels()[-1].get_text().replace("\n", " ")
        assert total.startswith(f"{expected}: ")


def test_waterfall_says_the_probability():
    model = XGBClassifier(**SMALL).fit(X, SCORE > 0)
    last = WaterfallDisplay.from_decomposer(GlexDecomposer(model).fit(X), X[:1]).ax_.get_yticklabels()[-1]
    assert last.get_text().split("\n")[1] == f"probability: {model.predict_proba(X[:1])[0, 1]:.4g}"
    classes = XGBClassifier(**SMALL).fit(X, np.digitize(SCORE, [-0.5, 0.5]))
    decomposer = GlexDecomposer(classes).fit(X)
    for output in range(3):
        last = WaterfallDisplay.from_decomposer(decomposer, X[:1], output=output).ax_.get_yticklabels()[-1]
        expected = classes.predict_proba(X[:1])[0, output]
        assert float(last.get_text().split("probability: ")[1]) == pytest.approx(expected, rel=1e-3)
    counts = LGBMRegressor(**SMALL, objective="poisson", verbose=-1).fit(X, np.exp(SCORE))
    display = WaterfallDisplay.from_decomposer(
        GlexDecomposer(counts).fit(X), X[:1], target="rides", units="per hour"
    )
    assert display.response == f"rides per hour: {counts.predict(X[:1])[0]:.4g}"
    forest = RandomForestClassifier(**SMALL).fit(X, NAMES)
    assert WaterfallDisplay.from_decomposer(GlexDecomposer(forest).fit(X), X[:1]).response == ""


@pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning")
def test_waterfall_says_which_row(bike, bike_X):
    rows = bike_X[0]
    assert (
        WaterfallDisplay.from_decomposer(bike, rows, row=8).ax_.get_title(loc="left")
        == f"row {rows.index[8]}"
    )
    series = WaterfallDisplay.from_decomposer(bike, rows.iloc[8])
    assert series.ax_.get_title(loc="left") == f"row {rows.index[8]}"
    array = WaterfallDisplay.from_decomposer(bike, rows.to_numpy()[8])
    for display in (series, array):
        np.testing.assert_array_equal(
            display.values, WaterfallDisplay.from_decomposer(bike, rows, row=8).values
        )
    named = rows.set_axis([f"hour {i}" for i in range(len(rows))])
    assert WaterfallDisplay.from_decomposer(bike, named, row=3).ax_.get_title(loc="left") == "row hour 3"


def test_without_names_the_strongest_are_drawn(bike):
    display = ComponentDisplay.from_decomposer(bike)
    titles = list(dict.fromkeys(panel.title for panel in display.panels))
    assert titles == [" × ".join(c.features) for c in bike.strongest_components(6)]
    assert len(ComponentDisplay.from_decomposer(bike, k=2).panels) >= 2
