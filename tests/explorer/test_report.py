"""Check what is in the file of a report, and how a report shows itself."""

import json
import re
import zlib
from base64 import b64decode
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest, StackingClassifier, StackingRegressor, VotingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

import skglex
from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestClassifier
from skglex._utils import budgets
from skglex.export import load_components, save_components
from skglex.inspection import feature_importance, interaction_strength, response_components
from tests.explorer.engine import ask, send_rows
from tests.explorer.models import decomposed, people

TYPES = {"Uint8": "u1", "Uint16": "<u2", "Uint32": "<u4", "Float32": "<f4", "Float64": "<f8"}


def payload_of(report):
    """Return the JSON of a report's page."""
    return json.loads(re.search(r'id="payload">(.*?)</script>', report.html, re.DOTALL).group(1))


def arrays_of(payload):
    """Unpack the arrays of a payload."""
    data, start, arrays = zlib.decompress(b64decode(payload["arrays"]["data"])), 0, {}
    for name, kind, n in payload["arrays"]["layout"]:
        dtype = np.dtype(TYPES[kind])
        part = np.frombuffer(data, np.uint8, n * dtype.itemsize, start).reshape(dtype.itemsize, n)
        arrays[name] = np.ascontiguousarray(part.T).view(dtype).ravel()
        start += n * dtype.itemsize
    assert start == len(data)
    return arrays


@pytest.fixture(scope="module")
def rows():
    """Return rows of numbers with many digits, and a target."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=400) for name in "abc"})
    return X, pd.Series(X["a"] * X["b"] + X["c"], name="price")


@pytest.fixture(scope="module")
def model(rows):
    """Return a model of these rows."""
    return XGBRegressor(n_estimators=10, max_depth=3).fit(*rows)


def test_only_the_rows_that_one_asks_for(rows, model):
    X, y = rows
    report = skglex.report(model, X, y, max_rows=20, background_rows=30, path=None)
    payload = payload_of(report)
    arrays = arrays_of(payload)
    assert len(report.rows) == len(arrays["rowPosition"]) == 20
    assert len(report.background_rows) == len(arrays["backgroundWeight"]) == 30
    np.testing.assert_array_equal(arrays["rowNumbers0"], X["a"].to_numpy()[report.rows])
    np.testing.assert_array_equal(arrays["rowTarget"], y.to_numpy()[report.rows])
    assert payload["facts"]["notes"][0] == "The page holds 20 of 400 rows, drawn at random."
    numbers = set(X.to_numpy().ravel().tolist()) | set(y.tolist())
    asked = set(X.to_numpy()[report.rows].ravel().tolist()) | set(y.to_numpy()[report.rows].tolist())
    # Thresholds are float32, and the rows float64 with all their digits.
    assert numbers & numbers_in(payload["facts"], arrays) == asked
    none = skglex.report(model, X, y, max_rows=0, background_rows=0, path=None)
    facts, arrays = payload_of(none)["facts"], arrays_of(payload_of(none))
    assert not numbers & numbers_in(facts, arrays)
    assert not [name for name in arrays if name.startswith(("row", "background"))]
    assert (facts["rows"], facts["backgroundRows"], facts["nBackground"]) == (0, 0, 400)


def numbers_in(facts, arrays):
    """Return all numbers of a payload."""
    found = {value for values in arrays.values() for value in values.astype(float).tolist()}
    return found | {float(text) for text in re.findall(r"-?\d+\.?\d*(?:e[-+]?\d+)?", json.dumps(facts))}


def test_without_rows_the_page_says_what_needs_them(rows, model, open_report):
    X, _ = rows
    decomposer = GlexDecomposer(model).fit(X)
    page = open_report(lambda: skglex.report(decomposer, X, max_rows=0, background_rows=0, path=None))
    values = [0.1, -0.2, 0.3]
    found = page.evaluate(
        """(values) => {
            const bins = engine.bin(values);
            const failing = (f) => { try { f(); } catch (error) { return error.name; } };
            return [engine.margin(bins), engine.components(bins).terms.map((term) => term.value),
                failing(() => engine.shapValues(bins)), failing(() => engine.removed(bins, [0])), engine.rows];
        }""",
        values,
    )
    row = pd.DataFrame([values], columns=list("abc"))
    assert found[0] == pytest.approx(float(model.predict(row)[0]), rel=1e-6)
    np.testing.assert_allclose(found[1], np.asarray(decomposer.transform(row))[0, :6], atol=1e-9)
    assert found[2:] == ["NeedsRows", "NeedsRows", None]


def test_the_page_cannot_reach_a_network(rows, model, open_report):
    page = open_report(lambda: skglex.report(model, rows[0], path=None), watched=False)
    blocked = page.evaluate("""async () => {
        const seen = [];
        document.addEventListener("securitypolicyviolation", (event) => seen.push(event.violatedDirective));
        await fetch("data:text/plain,x").catch(() => 0);
        const image = document.createElement("img");
        image.src = "https://example.org/x.png";
        const script = document.createElement("script");
        script.textContent = "window.injected = true";
        document.body.append(image, script);
        await new Promise((resolve) => setTimeout(resolve, 50));
        return [seen.sort(), window.injected === undefined];
    }""")
    assert blocked == [["connect-src", "img-src", "script-src-elem"], True]


def test_facts(rows, model):
    X, y = rows
    report = skglex.report(
        model,
        X,
        y,
        groups=np.where(X["a"] > 0, "high", "low"),
        remove=["b"],
        title="<Prices> & more",
        units="euro",
        path=None,
    )
    facts = payload_of(report)["facts"]
    decomposer = GlexDecomposer(model).fit(X)
    assert "&lt;Prices&gt; &amp; more</title>" in report.html
    assert facts["margin"]["name"] == "price (euro)"
    assert facts["groups"] == {"name": "group", "labels": ["high", "low"]}
    assert facts["removal"]["features"] == [1]
    assert facts["scores"][0]["value"] == pytest.approx(model.score(X, y), abs=1e-6)
    assert sum(part["share"] for part in facts["variance"][0]) == pytest.approx(1)
    strongest = decomposer.strongest_components(3)
    assert [term["name"] for term in facts["importance"][:3]] == [component.name for component in strongest]
    np.testing.assert_allclose(
        [t["value"][0] for t in facts["importance"][:3]], [c.importance for c in strongest]
    )
    assert facts["compare"] is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_beside_the_rows(rows, model, library):
    """The page has them for its own rows only, and JSON has no NaN."""
    X, _ = rows
    number = np.where(np.arange(400) % 2, np.nan, np.arange(400))
    columns = {"id": np.arange(400), "code": [f"c{i}" for i in range(400)], "number": number}
    frame = pytest.importorskip(library).DataFrame(columns)
    made = skglex.report(model, X, keep=frame, max_rows=5, path=None)
    ids, codes, numbers = payload_of(made)["facts"]["kept"]
    assert ids == {"name": "id", "isNumber": True, "values": made.rows.tolist()}
    assert codes["values"] == [f"c{i}" for i in made.rows]
    assert numbers["values"] == [None if i % 2 else float(i) for i in made.rows]
    kept = payload_of(skglex.report(model, X, keep=frame["code"], max_rows=0, path=None))["facts"]["kept"]
    assert kept == [{"name": "code", "isNumber": False, "values": []}]


def test_classes_have_the_names_that_one_gives(rows):
    X, y = rows
    codes = np.digitize(y, [-0.5, 0.5])
    names = ["low", "middle", "high"]
    model = XGBClassifier(n_estimators=2, max_depth=2).fit(X, codes)
    booster = model.get_booster()
    for kind in (model, booster):
        facts = payload_of(skglex.report(kind, X, codes, class_names=names, path=None))["facts"]
        assert (facts["task"], facts["outputs"], facts["response"]["outputs"]) == (
            "classification",
            names,
            names,
        )
        assert facts["response"]["name"] == "probability of class low"
        assert facts["targetLabels"] == sorted(names)
        assert facts["scores"][0] == {"name": "accuracy", "value": model.score(X, codes)}
    of_names = skglex.report(booster, X, np.array(names)[codes], class_names=names, path=None)
    assert payload_of(of_names)["facts"]["scores"] == facts["scores"]
    with pytest.raises(
        ValueError, match=r"texts such as '.*Pass class_names=\['high', 'low', 'middle'\], in the order"
    ):
        skglex.report(booster, X, np.array(names)[codes], path=None)
    with pytest.raises(ValueError, match=r"for each of the classes \[0, 1, 2\]; got \['a', 'b'\]"):
        skglex.report(booster, X, class_names=["a", "b"], path=None)


def test_boosters_that_make_probabilities_are_classifiers(rows):
    """The target of a booster shows that it is a classifier; its link alone, that it predicts probabilities."""
    X, y = rows
    model = XGBClassifier(n_estimators=2, max_depth=2).fit(X, y > 0)
    booster = model.get_booster()
    own, bare, shares = (
        payload_of(skglex.report(*arguments, path=None))["facts"]
        for arguments in [(model, X, y > 0), (booster, X, y > 0), (booster, X, (y > 0) / 2)]
    )
    assert [facts["task"] for facts in (own, bare, shares)] == ["classification"] * 2 + ["regression"]
    assert bare["scores"] == own["scores"]
    assert [facts["response"]["kind"] for facts in (own, bare, shares)] == ["probability"] * 3
    assert [facts["response"]["name"] for facts in (own, bare, shares)] == ["probability of price"] * 3


def test_importances_and_shares_are_those_of_the_inspection(rows, model, monkeypatch):
    X, _ = rows
    decomposer = GlexDecomposer(model).fit(X)
    facts = payload_of(skglex.report(decomposer, X, path=None))["facts"]
    expected = feature_importance(decomposer, kind="absolute")
    names = [facts["features"][entry["feature"]]["name"] for entry in facts["featureImportance"]]
    assert names == expected["feature"].tolist()
    sums = [np.sum(entry["byOrder"]) for entry in facts["featureImportance"]]
    np.testing.assert_allclose(sums, expected["importance"], rtol=1e-12)
    shares = [part["share"] for part in facts["variance"][0]]
    np.testing.assert_allclose(shares, interaction_strength(decomposer)["share"], rtol=1e-9)
    monkeypatch.setattr("skglex._explorer._facts._ROWS_FOR_SHARES", 100)
    notes = payload_of(skglex.report(decomposer, X, path=None))["facts"]["notes"]
    assert "The shares of the variance are computed on 100 of 400 background rows." in notes


def test_comparisons(rows, model):
    X, y = rows
    other = XGBRegressor(n_estimators=10, max_depth=2).fit(X, y)
    payload = payload_of(skglex.report(model, X, y, compare=other, path=None))
    compare = payload["facts"]["compare"]
    assert (compare["kind"], len(payload["other"]["facts"]["features"])) == ("model", 3)
    change = other.predict(X).mean() - model.predict(X).mean()
    assert sum(line["difference"][0] for line in compare["lines"]) == pytest.approx(change, abs=1e-5)
    payload = payload_of(skglex.report(model, X, y, compare=X + 0.5, path=None))
    compare = payload["facts"]["compare"]
    change = model.predict(X + 0.5).mean() - model.predict(X).mean()
    assert (compare["kind"], payload["other"]) == ("rows", None)
    assert sum(line["difference"][0] for line in compare["lines"]) == pytest.approx(change, abs=1e-5)


def test_weights_are_counts_and_small():
    """A leaf costs few bytes: the counts of its small coalitions compress well."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    model = XGBRegressor(n_estimators=50, max_depth=6).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    report = skglex.report(model, X, max_rows=0, path=None)
    payload = payload_of(report)
    assert arrays_of(payload)["weight"].dtype.kind == "u"
    assert len(payload["arrays"]["data"]) < 70 * payload["facts"]["nLeaves"]
    weighted = skglex.report(model, X, sample_weight=rng.random(2000), max_rows=0, path=None)
    assert arrays_of(payload_of(weighted))["weight"].dtype.kind == "f"


def test_report_shows_itself(rows, model, tmp_path):
    report = skglex.report(model, rows[0], path=tmp_path / "page.html")
    assert report.path.read_text(encoding="utf-8") == report.html
    assert "page.html, " in repr(report)
    assert report._repr_html_().startswith("<iframe title=")
    assert report.save(tmp_path / "copy.html").read_text(encoding="utf-8") == report.html


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_rows": -1}, "max_rows must be an integer of at least 0; got -1"),
        ({"background_rows": 2.5}, "background_rows must be an integer"),
        ({"groups": "sex"}, "groups='sex' is no column of X"),
        ({"groups": ["a"]}, "inconsistent numbers of samples"),
        ({"remove": ["sex"]}, "remove contains the unknown feature 'sex'"),
        ({"y": [1, 2]}, "inconsistent numbers of samples"),
        ({"y": [1.0] * 399 + [np.nan]}, "y is missing in 1 of 400 rows"),
        ({"y": ["a"] * 400}, "y holds texts such as 'a', but the XGBRegressor predicts numbers"),
        ({"keep": np.arange(400)}, "keep must be a data frame, a Series or a dict of columns; got a ndarray"),
        ({"keep": {"id": [1, 2]}}, "inconsistent numbers of samples"),
        (
            {"class_names": ["a", "b"]},
            "the XGBRegressor does not decide between classes. Leave class_names out",
        ),
    ],
)
def test_arguments_that_do_not_fit(rows, model, arguments, message):
    with pytest.raises(ValueError, match=message):
        skglex.report(model, rows[0], path=None, **arguments)


def test_what_has_no_report(rows, model, tmp_path):
    X, y = rows
    with pytest.raises(NotFittedError):
        skglex.report(XGBRegressor(), X, path=None)
    with pytest.raises(TypeError, match="cannot decompose a FeatureRemover"):
        skglex.report(FeatureRemover(model, ["a"]).fit(X), X, path=None)
    file = save_components(GlexDecomposer(model).fit(X), tmp_path / "components.npz")
    with pytest.raises(TypeError, match="has no leaves"):
        skglex.report(load_components(file or tmp_path / "components.npz"), X, path=None)
    with pytest.raises(ValueError, match="the classes of the model are"):
        skglex.report(DecisionTreeClassifier(max_depth=2).fit(X, y > 0), X, np.array(["x"] * 400), path=None)


def test_which_models_have_one_scale(rows):
    """Only where the response is the margin to the bit is there nothing to choose."""
    X, y = rows
    models = {
        DecisionTreeClassifier(max_depth=2): True,
        XGBClassifier(n_estimators=2): False,
        RandomPlantedForestClassifier(2, random_state=0): False,
        DecisionTreeRegressor(max_depth=2): False,
    }
    for model, one_scale in models.items():
        target = y > 0 if is_classifier(model) else y
        report = skglex.report(model.fit(X, target), X, path=None)
        assert payload_of(report)["facts"]["oneScale"] == one_scale


def test_importances_of_too_many_components(rows, monkeypatch):
    X, y = rows
    model = XGBRegressor(n_estimators=5).fit(X, y)
    expected = payload_of(skglex.report(model, X, path=None))
    monkeypatch.setattr(budgets, "held_components", 3)
    few = payload_of(skglex.report(GlexDecomposer(model, max_components=3).fit(X), X, path=None))
    for found, same in zip(few["facts"]["importance"], expected["facts"]["importance"], strict=True):
        assert found["features"] == same["features"]
        assert_allclose(found["value"], same["value"], rtol=1e-12)


def test_combined_models_are_explained_by_their_response(rows, open_report):
    """A stack and a calibrated model have no margin of their own, and the page computes their own prediction."""
    X, y = rows
    forest = payload_of(skglex.report(IsolationForest(n_estimators=5, random_state=0).fit(X), X, path=None))[
        "facts"
    ]
    assert forest["response"]["link"]["name"] == "isolation"
    trees = [(f"tree{depth}", DecisionTreeRegressor(max_depth=depth)) for depth in (2, 4)]
    members = [(f"tree{depth}", DecisionTreeClassifier(max_depth=depth)) for depth in (2, 4)]
    three = np.digitize(y, [-1, 1])
    few = CalibratedClassifierCV(DecisionTreeClassifier(max_depth=3, random_state=0), method="isotonic", cv=2)
    models = [
        StackingRegressor(trees, LinearRegression()).fit(X, y),
        StackingClassifier(members, LogisticRegression()).fit(X, three),
        VotingClassifier(members, voting="soft").fit(X, y > 0),
        few.fit(X, three),
        CalibratedClassifierCV(XGBClassifier(n_estimators=5, max_depth=2), cv=2).fit(X, y > 0),
    ]
    for model in models:
        decomposer = GlexDecomposer(model).fit(X[:40])
        page = open_report(lambda: skglex.report(decomposer, X, path=None))  # noqa: B023
        n = page.evaluate("engine.facts.outputs.length")
        send_rows(page, X[:50][page.evaluate("engine.facts.features.map((f) => f.name)")])
        p = model.predict_proba(X[:50]) if hasattr(model, "predict_proba") else model.predict(X[:50])[:, None]
        found = ask(page, "engine.facts.outputs.map((_, o) => engine.response(bins, o))")
        np.testing.assert_allclose(found, p[:, -found.shape[1] :], rtol=1e-6, atol=1e-6)
        assert n == found.shape[1]
        parts = response_components(decomposer, X[:20], max_interaction=2)
        name = page.evaluate("engine.facts.importance[0].name")
        labels = decomposer._explained.response_labels
        column = parts[name if labels is None else f"{labels[0]}__{name}"]
        found = ask(page, "engine.component(engine.facts.importance[0].features, bins)", n=20)
        np.testing.assert_allclose(found, column, atol=1e-9)


def test_top_level_names_of_the_scripts_differ():
    """All scripts become one, in which a second function of one name would take the place of the first."""
    folder = Path(skglex.__file__).parent / "_explorer" / "page"
    text = "\n".join(path.read_text(encoding="utf-8") for path in folder.rglob("*.js"))
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", text, re.MULTILINE)
    assert len(names) == len(set(names))


def test_unused_features_and_groups_of_columns(rows):
    X, _ = rows
    facts = payload_of(
        skglex.report(DecisionTreeRegressor(max_depth=1).fit(X, X["a"]), X, remove="b", path=None)
    )["facts"]
    assert [feature["name"] for feature in facts["features"]] == ["a"]
    assert facts["unusedFeatures"] == ["b", "c"]
    assert facts["notes"][-1] == "The model does not use b, so removing it changes nothing."
    with pytest.raises(ValueError, match="splits on no feature"):
        skglex.report(DecisionTreeRegressor().fit(X, np.ones(400)), X, path=None)
    rotated = make_pipeline(PCA(2), DecisionTreeRegressor(max_depth=3)).fit(X, X["a"])
    facts = payload_of(skglex.report(rotated, X, path=None))["facts"]
    assert [(feature["name"], feature["editable"]) for feature in facts["features"]] == [
        ("pca0", True),
        ("pca1", True),
    ]
    town = payload_of(skglex.report(decomposed("pipeline"), people(300, 0)[0], remove="town", path=None))[
        "facts"
    ]
    assert town["removal"]["features"] == [[f["name"] for f in town["features"]].index("town")]
