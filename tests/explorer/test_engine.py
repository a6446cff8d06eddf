"""Compare the numbers that the page computes with Python's, for rows that are drawn at random.

Both add up the same leaves in float64, in another order, so they agree to 1e-9. The library's own predictions are
rounded to float32 where the library does.
"""

import numpy as np
import pytest

import skglex
from skglex import FeatureRemover
from skglex.inspection import response_components
from tests.explorer.engine import ask, raw_values
from tests.explorer.models import KINDS, decomposed, people, rows_for

EXACT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.fixture(params=KINDS)
def kind(request):
    """Return each kind of model."""
    return request.param


@pytest.fixture
def opened(kind, open_report):
    """Return a decomposer, its open report, 1,000 rows, and their raw values for the page."""
    decomposer = decomposed(kind)
    rows = rows_for(kind, people(1000, 1, unseen=kind in ("lightgbm", "pipeline", "planted", "catboost"))[0])
    page = open_report(skglex.report(decomposer, rows_for(kind, people(300, 0)[0]), path=None))
    names = page.evaluate("engine.facts.features.map((feature) => feature.name)")
    return decomposer, page, rows, raw_values(rows[names])


def columns_of(decomposer, rows, names, output):
    """Return the components of rows in the order of the page's names: shape (n_rows, n_components)."""
    table = np.asarray(decomposer.transform(rows))
    labels = decomposer._explained.output_labels
    prefix = "" if labels is None else f"{labels[output]}__"
    at = {name: i for i, name in enumerate(decomposer.get_feature_names_out())}
    return table[:, [at[prefix + name] for name in names]]


def own_prediction(decomposer, rows, output):
    """Return what the model itself predicts: probabilities, or values."""
    model = decomposer.estimator_
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(rows)
        return p[:, 1] if p.shape[1] == 2 else p[:, output]
    return model.predict(rows).reshape(len(rows), -1)[:, output]


def test_numbers_agree_with_python(opened, kind):
    decomposer, page, rows, values = opened
    listed = page.evaluate("engine.facts.importance.map(({ features, name }) => ({ features, name }))")
    n_outputs = page.evaluate("engine.facts.outputs.length")
    assert len(listed) >= 3
    for output in range(n_outputs):
        of = {"output": output, "listed": listed}
        # The model itself, the float32 of XGBoost and CatBoost included.
        response = ask(page, values, "engine.response(bins, output)", **of)
        np.testing.assert_allclose(response, own_prediction(decomposer, rows, output), rtol=1e-6, atol=1e-6)
        # Components up to order 2, with the remainder.
        names = [term["name"] for term in listed]
        remainder = ["remainder"] if "remainder" in "".join(decomposer.get_feature_names_out()[-1:]) else []
        expected = columns_of(decomposer, rows, names + remainder, output)
        parts = ask(
            page,
            values,
            """((found) => {
              const at = new Map(found.terms.map((term) => [term.features.join(), term.value]));
              return [...listed.map((term) => at.get([...term.features].sort((a, b) => a - b).join())), found.remainder];
            })(engine.components(bins, output))""",
            **of,
        )
        np.testing.assert_allclose(parts[:, : len(names)], expected[:, : len(names)], **EXACT)
        if remainder:
            np.testing.assert_allclose(parts[:, -1], expected[:, -1], **EXACT)
        margin = ask(page, values, "engine.margin(bins, output)", **of)
        intercept = np.reshape(decomposer.intercept_, -1)[output]
        np.testing.assert_allclose(margin, intercept + expected.sum(axis=1), **EXACT)
        # SHAP values.
        shap = decomposer.shap_values(rows)
        shap = shap if n_outputs == 1 else shap[:, :, output]
        used = [decomposer.explained_features_.index(name) for name in players_of(page, decomposer)]
        found = ask(page, values, "Array.from(engine.shapValues(bins, output).values)", **of)
        np.testing.assert_allclose(found, shap[:, used], **EXACT)
        # One component at a time, and its table.
        for term in (listed[0], next(t for t in listed if len(t["features"]) == 2)):
            column = names.index(term["name"])
            single = ask(
                page, values, "engine.component(features, bins, output)", **of, features=term["features"]
            )
            np.testing.assert_allclose(single, expected[:, column], **EXACT)
            looked_up = ask(page, values, LOOK_UP, table=None, **of, features=term["features"])
            np.testing.assert_allclose(looked_up, expected[:, column], **EXACT)


LOOK_UP = """((t) => t.values[t.features.reduce((at, f, k) => at * t.shape[k] + t.axes[k].binOf[bins[f]], 0)])(
    (given.table ||= engine.table(features, output)))"""


def players_of(page, decomposer):
    """Return the names of the players behind the page's features."""
    listed = page.evaluate("engine.facts.importance.map(({ features, name }) => ({ features, name }))")
    names = {tuple(term["features"]): term["name"] for term in listed}
    shown = page.evaluate("engine.facts.features.map((feature) => feature.name)")
    return [names.get((i,), name) for i, name in enumerate(shown)]


def test_rows_of_the_page_have_their_own_values(opened):
    _, page, _, _ = opened
    both = page.evaluate("""Array.from({ length: engine.rows.n }, (_, i) =>
        [engine.margin(engine.rows.binsOf(i)), engine.margin(engine.bin(engine.rows.raw(i)))])""")
    assert len(both) == 300
    np.testing.assert_array_equal(*np.array(both).T)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "pipeline"])
def test_response_scale(opened, kind):
    decomposer, page, rows, values = opened
    labels = decomposer._explained.response_labels
    parts = response_components(decomposer, rows.iloc[:40], max_interaction=2)
    names = decomposer._explained.groups.names
    n, n_outputs = len(names), page.evaluate("engine.facts.outputs.length")
    pairs = [f"{names[i]}:{names[j]}" for i in range(n) for j in range(i + 1, n)]
    for output in range(n_outputs):
        prefix = "" if labels is None else f"{labels[output]}__"
        expected = np.column_stack(
            [parts[prefix + name] for name in ["intercept", *names, *pairs, "remainder"]]
        )
        found = ask(
            page,
            values[:40],
            "((c) => [c.intercept, ...c.terms.map((t) => t.value), c.remainder])(engine.components(bins, output, scale))",
            output=output,
            scale="response",
        )
        np.testing.assert_allclose(found, expected, **EXACT)
        shap = decomposer.shap_values(rows.iloc[:40], scale="response")
        shap = shap if n_outputs == 1 else shap[:, :, output]
        code = "Array.from(engine.shapValues(bins, output, 'response').values)"
        np.testing.assert_allclose(ask(page, values[:40], code, output=output), shap, **EXACT)
        curve = decomposer.partial_dependence(["income"], rows, scale="response")
        curve = curve if n_outputs == 1 else curve[:, output]
        code = LOOK_UP.replace("engine.table(features, output)", "engine.responseCurve(features, output)")
        found = ask(page, values, code, table=None, output=output, features=[names.index("income")])
        np.testing.assert_allclose(found, curve, **EXACT)


@pytest.mark.parametrize("kind", ["xgboost", "covers", "lightgbm", "pipeline"])
def test_removal(opened, kind):
    decomposer, page, rows, values = opened
    model, weighting = decomposer.estimator_, decomposer.weighting
    background = rows_for(kind, people(300, 0)[0])[:150]
    features = [
        page.evaluate("engine.facts.features.map((f) => f.name)").index(name) for name in ("town", "rooms")
    ]
    for scale in ("margin", "response"):
        if (scale, weighting) == ("response", "path_dependent"):
            continue
        how = {"weighting": weighting, "scale": scale, "strength": 0.7}
        remover = FeatureRemover(model, ["town", "rooms"], **how).fit(background)
        code = "engine.removed(bins, features, 0.7, output, scale)"
        if kind != "lightgbm":
            # The response of the margin that is left, or the mean response.
            code = code if scale == "response" else f"engine.respond([{code}], output)"
        for output in range(page.evaluate("engine.facts.outputs.length")):
            found = ask(page, values, code, output=output, features=features, scale=scale)
            if kind == "lightgbm" and scale == "margin":
                expected = remover.decision_function(rows)[:, output]
            else:
                expected = own_prediction_of(remover, rows, output)
            np.testing.assert_allclose(found, expected, **EXACT)


def own_prediction_of(remover, rows, output):
    """Return probabilities, or predictions."""
    if hasattr(remover, "predict_proba"):
        p = remover.predict_proba(rows)
        return p[:, 1] if p.shape[1] == 2 else p[:, output]
    return remover.predict(rows)


def test_one_feature_at_all_its_values(open_report):
    decomposer = decomposed("xgboost")
    page = open_report(skglex.report(decomposer, people(300, 0)[0], path=None))
    agree = page.evaluate("""engine.facts.features.every((feature, f) => {
        const bins = engine.rows.binsOf(3), along = engine.responsesAlong(bins, f);
        return along.every((response, cell) => {
          const changed = bins.slice();
          changed[f] = cell;
          return Math.abs(response - engine.response(changed)) < 1e-12;
        });
    })""")
    assert agree
