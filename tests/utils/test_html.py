"""Display a decomposer in a notebook."""

import pickle
import re

import numpy as np
import pytest
import xgboost as xgb
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from skglex import GlexDecomposer
from skglex._utils import budgets

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
MODEL = xgb.XGBRegressor(n_estimators=10, max_depth=3).fit(X, X[:, 0] + X[:, 1] * X[:, 2])
CLASSES = xgb.XGBClassifier(n_estimators=3, max_depth=2).fit(X, RNG.integers(0, 3, size=200))
COMPUTED = ["component_importances_", "components_", "feature_importances_", "n_components_"]


def shown_components(html):
    table = html.partition("<table class='skglex-components'>")[2]
    return re.findall(r"<tr><td style='text-align:left'>(.*?)</td><td>(\d+)</td><td>(.*?)</td></tr>", table)


@pytest.mark.parametrize("model", [MODEL, CLASSES])
def test_diagram_and_largest_components(model):
    dec = GlexDecomposer(model).fit(X)
    html = dec._repr_html_()
    assert html == dec._repr_mimebundle_()["text/html"] or "sk-container-id" in html
    assert "sk-top-container" in html
    shown = shown_components(html)
    largest = dec.strongest_components(10)
    assert [(name, int(order)) for name, order, _ in shown] == [(c.name, c.order) for c in largest]
    total = [np.sum(c.importance) for c in largest]
    assert [float(value) for *_, value in shown] == pytest.approx(total, rel=1e-3)
    assert f"of {len(dec.components_)} components" in html
    assert ("summed over 3 outputs" in html) == (model is CLASSES)


def test_names_are_escaped():
    model = xgb.XGBRegressor(n_estimators=3, max_depth=1).fit(X, X[:, 0])
    model.get_booster().feature_names = ["a&b>", "b", "c", "d"]
    assert shown_components(GlexDecomposer(model.get_booster()).fit(X)._html_repr())[0][0] == "a&amp;b&gt;"


@pytest.mark.parametrize(
    "decomposer",
    [GlexDecomposer(MODEL), GlexDecomposer(MODEL, max_components=3).fit(X)],
    ids=["not fitted", "too many components"],
)
def test_the_diagram_alone(decomposer):
    html = decomposer._repr_html_()
    assert "sk-top-container" in html
    assert "skglex-components" not in html


def test_nothing_slow_is_computed(monkeypatch):
    dec = GlexDecomposer(MODEL).fit(X)
    monkeypatch.setattr(budgets, "html_look_ups", 10)
    for html in (dec._repr_html_(), estimator_html_repr(make_pipeline(StandardScaler(), dec))):
        assert "skglex-components" not in html
    assert not {"component_importances", "feature_importances"} & set(dec._cache)
    assert set(COMPUTED) <= set(dir(dec))
    assert not {"component_importances", "feature_importances"} & set(dec._cache)
    assert "_in_diagram" not in dec.__dict__
    dec.component_importances_  # noqa: B018
    assert "skglex-components" in dec._repr_html_()


def test_names_for_completion():
    assert not set(COMPUTED) & set(dir(GlexDecomposer(MODEL)))
    too_many = GlexDecomposer(MODEL, max_components=3).fit(X)
    assert set(COMPUTED) & set(dir(too_many)) == {"feature_importances_"}
    assert {"fit", "transform", "intercept_", "n_features_in_", "set_output"} <= set(dir(too_many))


def test_text_display():
    dec = GlexDecomposer(MODEL).fit(X)
    with config_context(display="text"):
        assert not hasattr(dec, "_repr_html_")
        assert list(dec._repr_mimebundle_()) == ["text/plain"]


def test_still_pickles():
    dec = GlexDecomposer(MODEL).fit(X)
    dec._repr_html_()
    assert shown_components(pickle.loads(pickle.dumps(dec))._repr_html_())
