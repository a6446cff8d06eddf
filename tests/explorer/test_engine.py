"""Compare the numbers that the page computes with Python's, for rows that are drawn at random.

Both add up the same leaves in float64, in another order, so they agree to 1e-9. The library's own predictions are
rounded to float32 where the library does.
"""

import numpy as np
import pytest

import skglex
from skglex import FeatureRemover
from skglex.inspection import response_components
from tests.explorer.engine import ask, look_up, send_rows
from tests.explorer.models import KINDS, decomposed, people, rows_for

EXACT = {"rtol": 1e-9, "atol": 1e-9}
# The number of rows on which what takes longer is compared.
FEW = 40
LISTED = "engine.facts.importance.map(({ features, name }) => ({ features, name }))"
PARTS = """((found) => {
    const at = new Map(found.terms.map((term) => [term.features.join(), term.value]));
    return [...listed.map((term) => at.get(term.features.join())), found.remainder, engine.margin(bins, output),
      engine.response(bins, output), ...engine.shapValues(bins, output).values];
})(engine.components(bins, output))"""
ON_RESPONSE = """((found) => [found.intercept, ...found.terms.map((term) => term.value), found.remainder,
    ...engine.shapValues(bins, output, "response").values])(engine.components(bins, output, "response"))"""


@pytest.fixture(params=KINDS)
def kind(request):
    """Return each kind of model."""
    return request.param


@pytest.fixture
def opened(kind, open_report):
    """Return a decomposer, its open report, and 1,000 rows that the page has in bins."""
    decomposer = decomposed(kind)
    rows = rows_for(kind, people(1000, 1, unseen=kind in ("lightgbm", "pipeline", "planted", "catboost"))[0])
    page = open_report(lambda: skglex.report(decomposer, rows_for(kind, people(300, 0)[0]), path=None), kind)
    send_rows(page, rows[features_of(page)])
    return decomposer, page, rows


def features_of(page):
    """Return the names of the page's features."""
    return page.evaluate("engine.facts.features.map((feature) => feature.name)")


def of_output(values, output, several):
    """Return the values of one output, the last axis."""
    return values[..., output] if several else values


def prediction(model, rows, output):
    """Return the probability of a class (the second of two), or one output of a prediction."""
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(rows)
        return p[:, 1] if p.shape[1] == 2 else p[:, output]
    return model.predict(rows).reshape(len(rows), -1)[:, output]


def test_numbers_agree_with_python(opened):
    decomposer, page, rows = opened
    listed = [{**term, "features": sorted(term["features"])} for term in page.evaluate(LISTED)]
    names = [term["name"] for term in listed]
    view = decomposer._explained
    columns, values = list(decomposer.get_feature_names_out()), np.asarray(decomposer.transform(rows))
    shap = decomposer.shap_values(rows)
    players = [
        dict(zip([tuple(t["features"]) for t in listed], names)).get((i,))
        for i in range(len(features_of(page)))
    ]
    assert len(names) >= 3
    for output in range(view.n_outputs):
        prefix = "" if view.output_labels is None else f"{view.output_labels[output]}__"
        expected = values[:, [columns.index(prefix + name) for name in names]]
        rest = values[:, columns.index(f"{prefix}remainder")] if f"{prefix}remainder" in columns else 0.0
        found = ask(page, PARTS, listed=listed, output=output)
        n = len(names)
        np.testing.assert_allclose(found[:, :n], expected, **EXACT)
        np.testing.assert_allclose(found[:, n], rest, **EXACT)
        margin = np.reshape(decomposer.intercept_, -1)[output] + expected.sum(axis=1) + rest
        np.testing.assert_allclose(found[:, n + 1], margin, **EXACT)
        np.testing.assert_allclose(
            found[:, n + 2], prediction(decomposer.estimator_, rows, output), rtol=1e-6, atol=1e-6
        )
        for i, player in enumerate(players):
            if player is not None:
                own = of_output(
                    shap[:, decomposer.explained_features_.index(player)], output, view.n_outputs > 1
                )
                np.testing.assert_allclose(found[:, n + 3 + i], own, **EXACT)
        # One component at a time, and its table.
        for term in (listed[0], next(term for term in listed if len(term["features"]) == 2)):
            column, given = names.index(term["name"]), {"features": term["features"], "output": output}
            single = ask(page, "engine.component(features, bins, output)", **given)
            np.testing.assert_allclose(single, expected[:, column], **EXACT)
            in_table = ask(page, look_up("engine.table(features, output)"), **given)
            np.testing.assert_allclose(in_table, expected[:, column], **EXACT)


def test_rows_of_the_page_have_their_own_values(opened):
    _, page, _ = opened
    both = page.evaluate("""Array.from({ length: engine.rows.n }, (_, i) =>
        [engine.margin(engine.rows.binsOf(i)), engine.margin(engine.bin(engine.rows.raw(i)))])""")
    assert len(both) == 300
    np.testing.assert_array_equal(*np.array(both).T)


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
def test_response_scale(opened):
    decomposer, page, rows = opened
    view, names = decomposer._explained, decomposer.explained_features_
    pairs = [f"{a}:{b}" for i, a in enumerate(names) for b in names[i + 1 :]]
    parts = response_components(decomposer, rows.iloc[:FEW], max_interaction=2)
    shap = decomposer.shap_values(rows.iloc[:FEW], scale="response")
    curve = decomposer.partial_dependence(["income"], rows, scale="response")
    for output in range(view.n_outputs):
        prefix = "" if view.response_labels is None else f"{view.response_labels[output]}__"
        columns = [parts[prefix + name] for name in ["intercept", *names, *pairs, "remainder"]]
        several = view.n_outputs > 1
        expected = np.column_stack([*columns, of_output(shap, output, several)])
        np.testing.assert_allclose(ask(page, ON_RESPONSE, n=FEW, output=output), expected, **EXACT)
        found = ask(page, look_up("engine.responseCurve(0, output)"), output=output)
        np.testing.assert_allclose(found, of_output(curve, output, several), **EXACT)


@pytest.mark.parametrize("kind", ["xgboost", "covers", "lightgbm", "pipeline"])
def test_removal(opened, kind):
    """The margin that is left has the response that a remover predicts; on the response scale, so has its mean."""
    decomposer, page, rows = opened
    background = rows_for(kind, people(300, 0)[0])[:150]
    given = {"features": [features_of(page).index(name) for name in ("town", "rooms")]}
    for scale in ("margin", "response"):
        if kind == "covers" and scale == "response":
            continue
        how = {"weighting": decomposer.weighting, "scale": scale, "strength": 0.7}
        remover = FeatureRemover(decomposer.estimator_, ["town", "rooms"], **how).fit(background)
        code = f"[0, 1, 2].map((output) => engine.removed(bins, features, 0.7, output, '{scale}'))"
        found = ask(page, code if scale == "response" else f"Array.from(engine.link({code}))", **given)
        for output in range(decomposer._explained.n_outputs):
            np.testing.assert_allclose(found[:, output], prediction(remover, rows, output), **EXACT)


@pytest.mark.parametrize("kind", ["xgboost"])
def test_one_feature_at_all_its_values(opened):
    _, page, _ = opened
    assert page.evaluate("""engine.facts.features.every((feature, f) => {
        const bins = engine.rows.binsOf(3);
        return engine.responsesAlong(bins, f).every((response, cell) => {
          const changed = bins.slice();
          changed[f] = cell;
          return Math.abs(response - engine.response(changed)) < 1e-12;
        });
    })""")


@pytest.mark.parametrize("kind", ["xgboost"])
def test_values_that_the_model_refuses(opened):
    _, page, _ = opened
    assert "does not know the value" in page.evaluate("""(() => {
        try { engine.bin([1, 20, "Rom", 2]); } catch (error) { return error.message; }
    })()""")
