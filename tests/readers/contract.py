"""State what every reader must do, as tests that each library's file runs on its own models.

A file defines ``MODELS``, a dict from names to functions that return a fitted model, and a class that derives from
`ReaderContract` and says how the library itself computes:

    class TestContract(ReaderContract):
        X = X
        def margin(self, model, rows): ...
        def thresholds(self, model): ...
        def path_dependent_game(self, model, rows): ...

The other methods and attributes have defaults.
"""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.inspection import partial_dependence

from skglex import FeatureRemover, GlexDecomposer
from tests.support.comparisons import check_contrast, check_gap, check_shift
from tests.support.data import WEIGHTINGS
from tests.support.drawing import draw_everything, what_pictures_depend_on
from tests.support.oracles import (
    brute_force_game,
    check_components,
    check_game,
    check_single_components,
    game_components,
    shapley_interactions,
    shapley_values,
    total,
)


def beside(threshold):
    """Return a threshold, its float32 neighbours, the points halfway to them, and one float64 step to either side."""
    with np.errstate(over="ignore", under="ignore"):
        single = np.float32(threshold)
        below, above = (float(np.nextafter(single, np.float32(side))) for side in (-np.inf, np.inf))
        single = float(single)
        # A cast to float32 rounds the halfway points to even.
        halfway = [single / 2 + below / 2, single / 2 + above / 2]
        values = np.array([threshold, single, below, above, *halfway], dtype=np.float64)
    return np.concatenate([values, np.nextafter(values, -np.inf), np.nextafter(values, np.inf)])


class ReaderContract:
    """Hold a library's reader to its contract."""

    # The training rows of the models; they are the background too.
    X = None
    # Values that rows may have anywhere; `takes` excludes those that a model refuses.
    special = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e39, -1e39, 1e300, 5e-46)
    # The features that the remover removes.
    removed = (1, 3)
    # Names of models: without node covers, without an oracle for paths, without outputs that a remover could give,
    # without ONNX export, and without outputs whose mean has a meaning.
    without_cover = ()
    without_walk = ()
    without_output = ()
    without_onnx = ()
    without_response = ()
    # Names of models whose SHAP values the library computes.
    explained = ()
    # Names of models that are saved and loaded, and of those whose partial dependence scikit-learn computes.
    saved = ()
    dependence = ()
    # Whether skops can write models of the library.
    with_skops = True
    # Whether the library computes its output in float32.
    float32 = False

    # -- how the library computes ------------------------------------------------------------------

    def margin(self, model, rows):
        """Return the library's own raw score, of shape (n_samples, n_outputs)."""
        raise NotImplementedError

    def thresholds(self, model):
        """Return the pairs (feature, threshold) of all numeric splits."""
        raise NotImplementedError

    def tolerance(self, name, model, decomposer):
        """Return the bound on the rounding of a margin; the default is for float64 sums in another order."""
        return 1e-12 * max(1.0, np.abs(self.margin(model, self.X)).max())

    def takes(self, model, value):
        """Return whether the model takes rows with a value."""
        return True

    def path_dependent_game(self, model, rows):
        """Return the path-dependent game, up to a constant."""
        raise NotImplementedError

    def shap_values(self, name, model, rows):
        """Return the library's path-dependent SHAP values (n, d, k), their base (k,) and interactions (or None)."""
        raise NotImplementedError

    def reloaded(self, model, folder):
        """Yield models that were saved in the library's own formats and loaded."""
        return ()

    def output(self, estimator, rows):
        """Return the output of a model, or of a remover of its features: probabilities, else the prediction."""
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "predict"
        return np.asarray(getattr(estimator, method)(rows), dtype=float).reshape(np.shape(rows)[0], -1)

    def response(self, estimator, rows):
        """Return what is averaged on the response scale."""
        return self.output(estimator, rows)

    def coded(self, model, rows):
        """Return rows as an exported ONNX model takes them."""
        return rows

    # -- rows --------------------------------------------------------------------------------------

    def rows(self, model, seed=0):
        """Return training rows, rows on and beside thresholds, and rows with special values."""
        rng = np.random.default_rng(seed)
        X, (n, d) = self.X, self.X.shape
        rows = [X[rng.choice(n, 40, replace=False)]]
        found, largest = list(self.thresholds(model)), np.inf if self.takes(model, 1e39) else 1e38
        for i in rng.permutation(len(found))[:40]:
            feature, threshold = found[i]
            values = beside(threshold)
            values = values[np.abs(values) < largest]
            part = X[rng.integers(n, size=len(values))].copy()
            part[:, feature] = values
            rows.append(part)
        for value in self.special:
            if self.takes(model, value):
                part = X[rng.integers(n, size=2 * d)].copy()
                part[np.arange(2 * d), np.arange(2 * d) % d] = value
                rows += [part, np.full((1, d), value)]
        return np.concatenate(rows)

    def some_rows(self, model, n, seed):
        rows = self.rows(model, seed)
        return rows[np.random.default_rng(seed).choice(len(rows), min(n, len(rows)), replace=False)]

    def explainable_rows(self, model):
        """Return rows that the library explains, and rightly so."""
        return self.some_rows(model, 60, 4)

    # -- the contract ------------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc):
        """Parametrize ``name`` and ``weighting`` of the tests below."""
        models = metafunc.module.MODELS
        names = {
            "test_path_dependent_weights_follow_the_covers": [
                name for name in models if name not in (*self.without_cover, *self.without_walk)
            ],
            "test_path_dependent_shap_values_equal_the_librarys": self.explained,
            "test_saved_models_read_the_same": self.saved,
            "test_partial_dependence_equals_scikit_learns": self.dependence,
            "test_removed_features_have_no_effect": [
                name for name in models if name not in self.without_output
            ],
            "test_response_scale_averages_the_output": [
                name for name in models if name not in (*self.without_output, *self.without_response)
            ][::3],  # One mixes many rows, and readers only differ in the margin.
            "test_onnx_computes_the_same": [name for name in models if name not in self.without_onnx],
        }.get(metafunc.definition.name, list(models))
        if "name" in metafunc.fixturenames:
            metafunc.parametrize("name", names)
        if "weighting" in metafunc.fixturenames:
            metafunc.parametrize("weighting", WEIGHTINGS)

    def test_columns_add_up_to_the_margin(self, name, weighting, model_of):
        model = model_of(name)
        decomposer = GlexDecomposer(model, weighting=weighting, max_interaction=None)
        if weighting == "path_dependent" and name in self.without_cover:
            with pytest.raises(ValueError, match="needs node covers"):
                decomposer.fit(self.X)
            return
        rows = self.rows(model)
        decomposer.fit(self.X)
        bound = self.tolerance(name, model, decomposer)
        assert_allclose(total(decomposer, rows), self.margin(model, rows), rtol=0, atol=bound)

    def test_values_that_the_model_refuses_are_refused(self, name, model_of):
        model = model_of(name)
        decomposer, numeric = GlexDecomposer(model).fit(self.X), {f for f, _ in self.thresholds(model)}
        for value in filter(lambda x: not np.isfinite(x), self.special if numeric else ()):
            row = self.X[:1].copy()
            row[0, min(numeric)] = value
            try:
                self.margin(model, row)
            except ValueError:
                for method in (decomposer.transform, decomposer.shap_values):
                    with pytest.raises(ValueError, match=r"NaN|infinity"):
                        method(row)

    def test_empirical_weights_are_averages_over_the_background(self, name, model_of):
        model = model_of(name)
        rows, background = self.some_rows(model, 20, 1), self.some_rows(model, 30, 2)
        decomposer = GlexDecomposer(model, max_interaction=None).fit(background)
        game = brute_force_game(lambda Z: self.margin(model, Z), rows, background)
        # A component is a signed sum of up to 2^|S| means of margins.
        bound = 16 * self.tolerance(name, model, decomposer)
        check_game(decomposer, rows, game, bound)
        limited = GlexDecomposer(model, max_interaction=1).fit(background)
        check_single_components(limited, decomposer, rows, bound)

    def test_comparisons_of_rows_are_exact(self, name, model_of):
        model = model_of(name)
        rows, others = self.some_rows(model, 12, 6), self.some_rows(model, 12, 7)
        background = self.some_rows(model, 10, 8)
        decomposer = GlexDecomposer(model).fit(background)
        # Sums over the components of all sets of features, each a signed sum of means of margins.
        bound = 64 * self.tolerance(name, model, decomposer)
        check_shift(decomposer, rows, others, lambda Z: self.margin(model, Z), bound)
        check_contrast(decomposer, rows[:1], others[:1], lambda Z: self.margin(model, Z), bound)
        check_gap(decomposer, rows, background, lambda Z: self.margin(model, Z), bound)

    def test_path_dependent_weights_follow_the_covers(self, name, model_of):
        model = model_of(name)
        rows = self.some_rows(model, 60, 3)
        decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(self.X)
        components = game_components(self.path_dependent_game(model, rows))
        scale = max(1.0, *(np.abs(component).max() for component in components.values()))
        # The constant also holds base scores, which trees do not have.
        check_components(decomposer, rows, components, 1e-11 * scale, intercept=False)
        limited = GlexDecomposer(model, weighting="path_dependent", max_interaction=1).fit(self.X)
        check_single_components(limited, decomposer, rows, 1e-11 * scale)

    def test_path_dependent_shap_values_equal_the_librarys(self, name, model_of):
        model = model_of(name)
        rows = self.explainable_rows(model)
        phi, base, pairs = self.shap_values(name, model, rows)
        decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(self.X)
        bound = 10 * self.tolerance(name, model, decomposer)
        assert_allclose(decomposer.shap_values(rows).reshape(phi.shape), phi, rtol=0, atol=bound)
        if base is not None:
            assert_allclose(np.atleast_1d(decomposer.intercept_), base, rtol=0, atol=bound)
        if pairs is not None:
            found = decomposer.shap_interaction_values(rows).reshape(pairs.shape)
            assert_allclose(found, pairs, rtol=0, atol=10 * bound)

    def test_every_picture_is_drawn(self, name, model_of, drawing):
        decomposer = GlexDecomposer(model_of(name), max_interaction=2).fit(self.X)
        # Pictures of models that differ in numbers only take the same way, and drawing takes long.
        if (seen := what_pictures_depend_on(decomposer)) not in drawing.seen:
            drawing.seen.add(seen)
            draw_everything(decomposer, self.some_rows(model_of(name), 60, 5), drawing.figure)

    def test_saved_models_read_the_same(self, name, model_of, tmp_path):
        model = model_of(name)
        decomposer = GlexDecomposer(model, prefit=True).fit(self.X)
        expected = decomposer.transform(self.X)
        copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), *self.reloaded(model, tmp_path)]
        for loaded in copies:
            assert_array_equal(GlexDecomposer(loaded, prefit=True).fit(self.X).transform(self.X), expected)
        assert_array_equal(pickle.loads(pickle.dumps(decomposer)).transform(self.X), expected)
        if not self.with_skops:
            return
        io = pytest.importorskip("skops.io")
        written = io.dumps(decomposer)
        loaded = io.loads(written, trusted=io.get_untrusted_types(data=written))
        assert_array_equal(loaded.transform(self.X), expected)

    @pytest.mark.parametrize("features", [[0], [0, 3]])
    def test_partial_dependence_equals_scikit_learns(self, name, features, model_of):
        model, background = model_of(name), np.nan_to_num(self.X[:100])
        brute = partial_dependence(
            model, background, features, method="brute", kind="average", grid_resolution=6
        )
        grid = np.stack(np.meshgrid(*brute["grid_values"], indexing="ij"), axis=-1).reshape(-1, len(features))
        rows = np.zeros((len(grid), background.shape[1]))
        rows[:, features] = grid
        decomposer = GlexDecomposer(model, max_interaction=None).fit(background)
        found = decomposer.partial_dependence(features, rows).reshape(len(grid), -1)
        expected = brute["average"].reshape(found.shape[1], -1).T
        assert_allclose(found, expected, rtol=0, atol=self.tolerance(name, model, decomposer))

    def test_removed_features_have_no_effect(self, name, model_of):
        model, removed, d = model_of(name), list(self.removed), self.X.shape[1]
        rows, background = self.rows(model)[::5], self.X[:60]
        bound = self.tolerance(name, model, GlexDecomposer(model, max_interaction=None).fit(background))
        float32 = self.float32 or bound > 1e-7
        # Almost no removal goes through the leaves and the inverse link, no removal asks the library.
        from_leaves = {"rtol": 2e-5, "atol": 1e-5} if float32 else {"rtol": 1e-9, "atol": 1e-12}
        as_it_is = {"rtol": 2e-7, "atol": 1e-7} if float32 else {"rtol": 1e-15, "atol": 1e-15}
        for strength, bounds in ((1e-300, from_leaves), (0.0, as_it_is)):
            remover = FeatureRemover(model, removed, strength=strength).fit(background)
            assert_allclose(self.output(remover, rows), self.output(model, rows), **bounds)
            if is_classifier(remover):
                # Rounding may decide between classes that are equally probable.
                sure = np.full(len(rows), strength == 0)
                if not sure.all():
                    probabilities = np.sort(np.atleast_2d(model.predict_proba(rows)), axis=1)
                    sure = probabilities[:, -1] > probabilities[:, -2:-1].sum(axis=1) + 1e-5
                labels = np.squeeze(model.predict(rows))
                assert_array_equal(remover.predict(rows)[sure], labels[sure])
        remover = FeatureRemover(model, removed).fit(background)
        kept = tuple(j for j in range(d) if j not in removed)
        few = rows[:: max(1, len(rows) // 20)]
        mixed = np.repeat(background[None], len(few), axis=0)
        mixed[:, :, kept] = few[:, None, kept]
        expected = (
            self.margin(model, mixed.reshape(-1, d)).reshape(len(few), len(background), -1).mean(axis=1)
        )
        margin = remover.margin(few)
        assert_allclose(margin.reshape(expected.shape), expected, rtol=0, atol=bound)
        for value in (7.0, np.nan, np.inf, 1e300):
            changed = few.copy()
            changed[:, removed] = value
            assert_array_equal(remover.margin(changed), margin)

    def test_response_scale_averages_the_output(self, name, model_of):
        model, d = model_of(name), self.X.shape[1]
        rows, background = self.some_rows(model, 3, 6), self.some_rows(model, 8, 7)
        weight = np.arange(1.0, len(background) + 1)
        decomposer = GlexDecomposer(model, max_interaction=1).fit(background, sample_weight=weight)
        game = brute_force_game(lambda Z: self.response(model, Z), rows, background, weight)
        float32 = self.float32 or self.tolerance(name, model, decomposer) > 1e-7
        bound = (1e-5 if float32 else 1e-12) * max(1.0, *(np.abs(values).max() for values in game.values()))

        def check(found, expected, factor):
            found = np.reshape(found, (*expected.shape[:-1], -1))
            # A binary classifier has two probabilities, but one response.
            assert_allclose(found, expected[..., -found.shape[-1] :], rtol=0, atol=factor * bound)

        components = game_components(game)
        response = {"scale": "response"}
        check(decomposer.shap_values(rows, **response), shapley_values(components, d), 2)
        check(decomposer.shap_interaction_values(rows, **response), shapley_interactions(components, d), 4)
        every = tuple(range(d))
        for features in ((), (0,), every[1:], every[:2], every):
            check(decomposer.partial_dependence(list(features), rows, **response), game[features], 1)
        kept = tuple(j for j in range(d) if j not in self.removed)
        for strength in (1.0, 0.25):
            remover = FeatureRemover(model, list(self.removed), strength=strength, **response)
            remover.fit(background, sample_weight=weight)
            mixed = strength * game[kept] + (1 - strength) * game[every]
            check(self.response(remover, rows), mixed, 1)

    def test_onnx_computes_the_same(self, name, model_of, run_onnx):
        model = model_of(name)
        remover = FeatureRemover(model, list(self.removed)).fit(self.X[:60])
        rows = self.rows(model)[::3]
        found = run_onnx(remover.to_onnx(), self.coded(model, rows))
        margin = remover.margin(rows).reshape(len(rows), -1)
        # The operator for trees returns float32.
        scale = max(1.0, np.abs(margin).max())
        assert_allclose(found["margin"], margin, rtol=1e-6, atol=1e-6 * scale)
        close = {"rtol": 2e-5 * scale, "atol": 1e-5}
        if "probabilities" in found:
            probabilities = remover.predict_proba(rows)
            assert_allclose(found["probabilities"], probabilities, **close)
            sure = np.diff(np.sort(probabilities, axis=1)[:, -2:], axis=1).ravel() > 1e-5
            assert_array_equal(np.asarray(found["label"])[sure], remover.predict(rows)[sure])
        elif "scores" in found:
            scores = remover.decision_function(rows)
            assert_allclose(found["scores"].ravel(), scores, **close)
            sure = np.abs(scores) > 1e-6
            assert_array_equal(found["label"].ravel()[sure], remover.predict(rows)[sure])
        else:
            assert_allclose(found["variable"], remover.predict(rows).reshape(len(rows), -1), **close)
