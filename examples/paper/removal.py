"""Figure 5 and its table: predictions by sex of the full, the refitted and the decomposed model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from examples.paper.models import adult, planted_forest, xgboost
from examples.paper.report import Report, agrees, mean_sd
from skglex import FeatureRemover
from skglex.datasets import make_salary
from skglex.inspection import group_difference

FULL, REFITTED, BY_PATH, EMPIRICAL = WAYS = [
    "full",
    "refitted without sex",
    "sex removed, path-dependent",
    "sex removed, empirical",
]
# These numbers are from the paper: full, refitted, decomposed. It uses path-dependent weights for XGBoost,
# empirical ones for the forest.
PAPER = {
    "XGBoost, simulation": (29.79, 29.79, 10.57),
    "XGBoost, adult": (0.13, 0.07, 0.05),
    "planted forest, simulation": (29.90, 29.91, 9.84),
    "planted forest, adult": (0.18, 0.052, 0.047),
}
# These means over other seeds are from an earlier run with a brute-force average over the background.
EARLIER = {
    1: ["30.0 (0.1)", "30.0 (0.1)", "15.0 (3.5)", "12.7 (3.2)"],
    3: ["29.9 (0.3)", "29.7 (0.1)", "16.8 (0.4)", "10.2 (0.2)"],
    5: ["29.8 (0.4)", "25.0 (0.7)", "14.8 (0.3)", "9.7 (0.4)"],
    10: ["29.4 (1.0)", "13.5 (1.0)", "11.9 (0.9)", "9.6 (0.9)"],
}
# A perfect model without sex has these differences, by quadrature of the two normal densities.
PERFECT = {1: 30.0, 3: 29.8, 5: 25.2, 10: 14.9}

INTRODUCTION = r"""
Salaries: :math:`\text{hours} = 30 + 10\,\text{sex} + N(0, 1)`, :math:`\text{salary} = 20\,\text{sex} + \text{hours}
+ N(0, 1)`. The difference between the sexes is 30; without the direct effect of sex it is **10**. Adult: whether
the income is above 50,000 dollars. Two thirds of the rows are for training. Numbers are the median prediction for
men minus that for women, on the test rows.
"""

DIFFERENCES = """
* *Simulation, full and refitted*: as in the paper.
* *Simulation, sex removed*: not as in the paper, nor would any other number mean much, see the next table. Each
  tree that splits on sex at its root takes a tenth of what is left of the 30 away from the hours. Some 19 of our 50
  do, and about 6 is left; for the paper's 10.57 it would be about a dozen. Splits on sex and on hours gain the
  same, so roundings decide. XGBoost 1.6, of the year of the paper, gives the same 5.9 here as XGBoost 3; what
  tipped the balance on the authors' machine cannot be told. The planted forest tosses a coin in each family (which
  of the two is offered for the first split), in the paper's older program somewhat differently.
* *Adult*: the order full > refitted > decomposed reproduces on average, not all of the numbers do. The authors'
  scripts choose the columns by number from a copy of the data in an R package, whose order of columns we could not
  check; the fifth may be the hours or the native country. With the country, all three numbers of the planted forest
  are the paper's. For XGBoost, the paper's refitted and decomposed numbers lie between the two readings, and its
  0.13 is below either. Any other column in the fifth place does not give all three, nor does XGBoost 1.6. One split
  moves such a median, of a distribution with two humps, by 0.01.
* *The weightings* agree on adult, where the other features tell little about sex. In the simulation they agree
  since trees that split on sex never ask for hours in the gap.
"""

EDGE = """
In the simulation hours are 30 ± 1 or 40 ± 1, so a split at 35 hours and a split on sex are the *same* split, and
roundings and the library's rule for ties decide which feature gets the effect: ``exact`` takes the first column,
``hist`` (whose cuts hardly ever fall into the gap between the groups) sex. **Where the groups share no values no
method can tell the two effects apart.**
"""

EDGE_DIFFERENCES = """
The earlier numbers are means over other seeds, and in agreement with ours. With hours first nothing is removed,
as the model does not look at sex.
"""

OVERLAP = """
With more spread of the hours within a sex, the groups overlap, and the data know what an hour is worth. 300 trees
and ``colsample_bynode=0.5``, so that trees use both features; the planted forest with the paper's settings.
*Earlier* is a run of ours with a brute-force average over the background and other seeds; *perfect* the best
prediction without sex.
"""

OVERLAP_DIFFERENCES = """
* **Empirical weights recover the 10, path-dependent ones leave up to a third of the direct effect in.** Below a
  split on hours they average over sex by the shares *among those who work that long*, and the hours go on telling
  the sex.
* Refitting does not remove the direct effect: hours stand in for sex, as far as a perfect model without sex would
  take them. The 13.5 of the earlier run at an sd of 10 was a low draw: the population has 14.9.
* The earlier run's other means agree with ours. Our path-dependent numbers spread more, as here the columns that
  XGBoost draws change with the seed, too.
* Without overlap (an sd of 1) the numbers of both runs spread by 2 to 4, and mean nothing.
* The planted forest, with the paper's settings, gets near to 10 as well once the groups overlap. At an sd of 3,
  where they hardly do, it removes a little too much: some of its families have given sex a part of what is the
  hours'.
"""


def write(report: Report, quick: bool) -> None:
    seeds = range(2 if quick else 10)
    n = 1_000 if quick else 10_000
    report.title("Feature removal (figure 5)", level=1)
    report.text(INTRODUCTION)
    results = _paper_settings(n, seeds, quick)
    report.figure(_draw(results), "removal", "Predictions by sex of full, refitted and decomposed models")
    report.title("The paper's table", level=2)
    _write_table(report, results)
    report.text(DIFFERENCES)

    report.title("A knife's edge", level=2)
    report.text(EDGE)
    rows = []
    for tree_method, columns, earlier in [
        ("exact", ["sex", "hours"], "6.8 (1.4)"),
        ("exact", ["hours", "sex"], "29.8 (0.1)"),
        ("hist", ["sex", "hours"], "4.6 (1.1)"),
        ("hist", ["hours", "sex"], "-"),
    ]:
        model = partial(_boosted, n_estimators=50, tree_method=tree_method)
        runs = _repeat(seeds, _salary(n, 1, columns), model)
        cells = [mean_sd(_differences(runs, way), 1) for way in (BY_PATH, EMPIRICAL)]
        at_root = mean_sd([run["trees with sex at the root"] for run in runs], 1)
        rows.append([f"``{tree_method}``, {columns[0]} first", at_root, *cells, earlier])
    report.table(["XGBoost", "trees with sex at the root", BY_PATH, EMPIRICAL, "earlier run, either"], rows)
    report.text(EDGE_DIFFERENCES)

    report.title("Groups that overlap", level=2)
    report.text(OVERLAP)
    model = partial(_boosted, n_estimators=300, colsample_bynode=0.5, tree_method="hist")
    by_sd = {sd: _repeat(seeds, _salary(n, sd), model) for sd in EARLIER}
    planted = {sd: _repeat(seeds, _salary(n, sd), _forest, _additive_forest) for sd in EARLIER}
    head = ["sd of hours", *WAYS, "planted forest, full", "refitted", "sex removed"]
    rows = []
    for sd, runs in by_sd.items():
        ours = [mean_sd(_differences(runs, way), 1) for way in WAYS]
        forest = [mean_sd(_differences(planted[sd], way), 1) for way in (FULL, REFITTED, EMPIRICAL)]
        rows.append([f"**{sd}**", *ours, *forest])
        rows.append(["earlier", *EARLIER[sd], "", "", ""])
        rows.append(["perfect", "30", f"{PERFECT[sd]:.1f}", "10", "10", "30", f"{PERFECT[sd]:.1f}", "10"])
    report.table(head, rows)
    report.figure(
        _draw_overlap(by_sd), "removal_overlap", "Differences between the sexes by spread of the hours"
    )
    report.text(OVERLAP_DIFFERENCES)


Run = dict[str, Any]  # Predictions by model, and the sex of the test rows.


def _run(X: pd.DataFrame, y: np.ndarray, seed: int, model: Any, refitted: Any) -> Run:
    train, test = train_test_split(np.arange(len(X)), train_size=2 / 3, random_state=seed)
    X_train, X_test = X.iloc[train], X.iloc[test]
    others = X.columns.drop("sex")
    model.fit(X_train, y[train])
    refitted.fit(X_train[others], y[train])
    run = {
        "sex": X_test["sex"].to_numpy(),
        FULL: model.predict(X_test),
        REFITTED: refitted.predict(X_test[others]),
        EMPIRICAL: FeatureRemover(model, "sex").fit(X_train).predict(X_test),
    }
    if isinstance(model, XGBRegressor):
        by_path = FeatureRemover(model, "sex", weighting="path_dependent").fit(X_train)
        trees = model.get_booster().trees_to_dataframe()
        run[BY_PATH] = by_path.predict(X_test)
        run["trees with sex at the root"] = (trees.loc[trees["Node"] == 0, "Feature"] == "sex").sum()
    return run


def _repeat(
    seeds: Sequence[int],
    load: Callable[[int], tuple[pd.DataFrame, np.ndarray]],
    model: Callable[[int], Any],
    refitted: Callable[[int], Any] | None = None,
) -> list[Run]:
    return Parallel(n_jobs=2, prefer="threads")(
        delayed(_run)(*load(seed), seed, model(seed), (refitted or model)(seed)) for seed in seeds
    )


def _differences(runs: list[Run], way: str) -> np.ndarray:
    return np.array([group_difference(run[way], run["sex"], reference=0) for run in runs])


def _salary(n: int, sd: float, columns: Sequence[str] = ("sex", "hours")) -> Callable[[int], Any]:
    def load(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
        X, y = make_salary(n, hours_sd=sd, random_state=seed)
        return pd.DataFrame(X, columns=["sex", "hours"])[list(columns)], y

    return load


def _as_it_is(data: tuple[pd.DataFrame, np.ndarray], seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    return data


def _forest(seed: int, max_interaction: int = 4) -> Any:
    return planted_forest(max_interaction, random_state=seed)


def _additive_forest(seed: int) -> Any:
    return _forest(seed, max_interaction=1)


def _boosted(seed: int, **params: Any) -> Any:
    return xgboost(random_state=seed, **params)


def _paper_settings(n: int, seeds: Sequence[int], quick: bool) -> dict[str, list[Run]]:
    """The rows of the paper's table; adult twice, for either reading of its columns."""
    out = {
        "XGBoost, simulation": _repeat(seeds, _salary(n, 1), partial(_boosted, n_estimators=50)),
        "planted forest, simulation": _repeat(seeds, _salary(n, 1), _forest, _additive_forest),
    }
    for fifth, name in [("hours-per-week", "adult"), ("native-country", "adult, country for hours")]:
        X, y = adult(fifth)
        if quick:
            X, y = X[:2000], y[:2000]
        load = partial(_as_it_is, (X, y))
        out[f"XGBoost, {name}"] = _repeat(seeds, load, partial(_boosted, max_depth=5))
        out[f"planted forest, {name}"] = _repeat(seeds, load, _forest)
    return out


def _write_table(report: Report, results: dict[str, list[Run]]) -> None:
    rows = []
    for name, runs in sorted(results.items(), key=lambda item: "planted" in item[0]):
        digits = 2 if "simulation" in name else 3
        paper = PAPER[name.removesuffix(", country for hours")]
        for way, number in zip([FULL, REFITTED, BY_PATH, EMPIRICAL], [*paper, paper[2]]):
            if way not in runs[0]:
                continue
            ours = _differences(runs, way)
            theirs = way != EMPIRICAL or BY_PATH not in runs[0]
            rows.append(
                [
                    f"{name}: {way}",
                    f"{number:g}" if theirs else "-",
                    mean_sd(ours, digits),
                    agrees(number, ours, 2) if theirs else "",
                ]
            )
    report.table(["", "the paper, one run", "ours, mean (sd)", "in agreement"], rows)


def _draw(results: dict[str, list[Run]]) -> plt.Figure:
    """Box plots as in the paper, of the first seed."""
    names = ["XGBoost, simulation", "planted forest, simulation", "XGBoost, adult", "planted forest, adult"]
    figure, axes = plt.subplots(2, 2, figsize=(11, 7.5), layout="constrained")
    colours = {0: "#D55E00", 1: "#0072B2"}
    for ax, name in zip(axes.flat, names):
        run = results[name][0]
        ways = [way for way in WAYS if way in run]
        for sex, colour in colours.items():
            boxes = ax.boxplot(
                [run[way][run["sex"] == sex] for way in ways],
                positions=np.arange(len(ways)) + 0.4 * sex - 0.2,
                widths=0.32,
                showfliers=False,
                patch_artist=True,
                medianprops={"color": "black", "linewidth": 2},
            )
            for box in boxes["boxes"]:
                box.set(facecolor=colour, alpha=0.7)
        for i, way in enumerate(ways):
            difference = group_difference(run[way], run["sex"], reference=0)
            ax.annotate(
                f"{difference:.3g}",
                (i, 1.0),
                xycoords=("data", "axes fraction"),
                ha="center",
                va="bottom",
                weight="bold",
            )
        labels = ["full", "refitted", "removed,\nby path", "removed,\nempirical"]
        ax.set_xticks(range(len(ways)), [labels[WAYS.index(way)] for way in ways])
        ax.set_title(name, loc="left", pad=22)
        ax.set_ylabel("predicted salary" if "simulation" in name else "predicted probability")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colour, alpha=0.7) for colour in colours.values()]
    title = "bold: difference of the medians"
    figure.legend(handles, ["women", "men"], loc="outside lower center", ncols=2, frameon=False, title=title)
    return figure


def _draw_overlap(by_sd: dict[int, list[Run]]) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    ax.axhline(10, color="grey", ls="--", lw=1)
    ax.annotate("the indirect effect", (7.5, 9.6), ha="center", va="top", color="dimgrey")
    styles = [("#000000", "s"), ("#CC79A7", "^"), ("#E69F00", "D"), ("#0072B2", "o")]
    for shift, way, (colour, marker) in zip([-0.09, 0.09, -0.03, 0.03], WAYS, styles):
        draws = [_differences(runs, way) for runs in by_sd.values()]
        at = np.array(list(by_sd)) + shift
        mean, spread = [d.mean() for d in draws], [d.std(ddof=1) for d in draws]
        ax.errorbar(at, mean, spread, color=colour, marker=marker, capsize=3, lw=2, label=way)
    ax.set(xlabel="sd of hours within a sex", xticks=list(by_sd), ylim=(0, 33), yticks=range(0, 31, 10))
    ax.set_ylabel("median difference of predicted\nsalaries, male minus female")
    ax.legend(frameon=False, loc="lower left", ncols=2)
    return figure
