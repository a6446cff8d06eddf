"""Read treelite models as they are."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import treelite
import xgboost as xgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

from skglex import FeatureRemover, GlexDecomposer
from tests.readers.contract import ReaderContract
from tests.support.oracles import total

# Category codes of 1e12 look like missing values.
pytestmark = pytest.mark.filterwarnings("ignore::skglex.exceptions.MissingValueWarning")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2]
CLASSES = np.digitize(SIGNAL, [-0.5, 0.5])
OPERATORS = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
# GTIL sums a few dozen terms of size 1 in this type.
TOLERANCE = {"float32": {"rtol": 1e-5, "atol": 1e-5}, "float64": {"rtol": 1e-12, "atol": 1e-12}}


def gtil(model, rows, margin=True):
    with np.errstate(over="ignore"):
        out = treelite.gtil.predict(model, rows, pred_margin=margin)
    return out.reshape(rows.shape[0], -1).astype(np.float64)


def random_model(
    rng,
    kind="float32",
    operators=("<",),
    n_trees=4,
    depth=3,
    shape=(1, 1),
    n_classes=1,
    per_class=False,
    average=False,
    categorical=(),
    cover="sum_hess",
    link="identity",
    **link_params,
):
    """Build a model with random thresholds (many of them equal), directions, operators and leaves."""
    n_targets = shape[0]
    one = -1 if n_classes > 1 else 0
    annotation = [t % n_classes if per_class else one for t in range(n_trees)]
    builder = ModelBuilder(
        threshold_type=kind,
        leaf_output_type=kind,
        metadata=Metadata(
            num_feature=3,
            task_type="kMultiClf" if n_classes > 1 else "kRegressor",
            average_tree_output=average,
            num_target=n_targets,
            num_class=[n_classes] * n_targets,
            leaf_vector_shape=shape,
        ),
        tree_annotation=TreeAnnotation(
            num_tree=n_trees,
            target_id=[-1 if n_targets > 1 else 0] * n_trees,
            class_id=annotation,
        ),
        postprocessor=PostProcessorFunc(link, **link_params),
        base_scores=rng.normal(size=n_targets * n_classes).tolist(),
    )
    for _ in range(n_trees):
        builder.start_tree()
        stack, n_nodes = [(0, 0, 64)], 1
        while stack:
            node, level, rows = stack.pop()
            builder.start_node(node)
            if level == depth or (level and rng.random() < 0.2):
                value = rng.normal(size=shape)
                builder.leaf(value.ravel().tolist() if value.size > 1 else value.item())
            else:
                feature = int(rng.integers(3))
                common = {
                    "default_left": bool(rng.random() < 0.5),
                    "left_child_key": n_nodes,
                    "right_child_key": n_nodes + 1,
                }
                if feature in categorical:
                    builder.categorical_test(
                        feature,
                        category_list=np.flatnonzero(rng.random(6) < 0.4).tolist(),
                        category_list_right_child=bool(rng.random() < 0.5),
                        **common,
                    )
                else:
                    builder.numerical_test(
                        feature,
                        float(rng.choice([-0.5, 0.0, 0.1, 1.0])),
                        opname=str(rng.choice(operators)),
                        **common,
                    )
                at_left = int(rng.integers(1, max(rows, 2)))
                stack += [(n_nodes, level + 1, at_left), (n_nodes + 1, level + 1, rows - at_left)]
                n_nodes += 2
            if cover is not None:
                getattr(builder, cover)(max(rows, 1))
            builder.end_node()
        builder.end_tree()
    return builder.commit()


def awkward_rows(n=300, seed=1, categorical=()):
    """Draw values on thresholds, one step beside them in either type, missing, infinite and huge ones."""
    rng = np.random.default_rng(seed)
    at = np.concatenate([np.float32([-0.5, 0, 0.1, 1]).astype(float), [0.1]])
    single = at.astype(np.float32)
    beside = [np.nextafter(single, np.float32(to)).astype(float) for to in (-np.inf, np.inf)]
    close = [np.nextafter(at, to) for to in (-np.inf, np.inf)]
    values = np.concatenate([at, *beside, *close, [np.nan, np.inf, -np.inf, 1e39, -1e39, -0.0, 2, -2]])
    rows = rng.choice(values, size=(n, 3))
    for feature in categorical:
        rows[:, feature] = rng.choice(
            [0, 1, 2, 3, 4, 5, 2.7, -1, -0.5, 17, 1e9, 1e12, np.nan, np.inf], size=n
        )
    return rows


BUILT = {
    "single": {},
    "double": {"kind": "float64"},
    "less or equal": {"operators": ["<="]},
    "greater": {"operators": [">"], "kind": "float64"},
    "greater or equal": {"operators": [">="]},
    "all operators": {"operators": list(OPERATORS), "n_trees": 8},
    "all operators, double": {"operators": list(OPERATORS), "n_trees": 8, "kind": "float64"},
    "average": {"average": True, "n_trees": 7},
    "classes by tree": {"n_classes": 3, "per_class": True, "n_trees": 9, "link": "softmax"},
    "classes by leaf": {"n_classes": 3, "shape": (1, 3), "link": "softmax"},
    "average of classes by tree": {"n_classes": 3, "per_class": True, "average": True, "n_trees": 9},
    "targets": {"shape": (2, 1), "kind": "float64"},
    "targets by classes": {"shape": (2, 3), "n_classes": 3},
    "targets, classes by tree": {"shape": (2, 1), "n_classes": 3, "per_class": True, "n_trees": 8},
    "categories": {"categorical": (0, 2), "n_trees": 10},
    "data_count": {"cover": "data_count", "average": True},
    "one leaf": {"depth": 0},
}


def drawn(rng):
    """Draw the parameters of a model."""
    by_tree, n_classes = bool(rng.integers(2)), int(rng.choice([1, 3]))
    return {
        "kind": str(rng.choice(["float32", "float64"])),
        "operators": rng.choice(list(OPERATORS), 3).tolist(),
        "depth": int(rng.integers(1, 6)),
        "categorical": ((), (1,), (0, 2))[rng.integers(3)],
        "average": bool(rng.integers(2)),
        "n_classes": n_classes,
        "per_class": n_classes > 1 and by_tree,
        "shape": (int(rng.integers(1, 3)), 1 if by_tree else n_classes),
        "n_trees": int(rng.integers(3, 9)),
    }


BUILT |= {f"drawn {seed}": drawn(np.random.default_rng(seed)) for seed in range(12)}


LINKS = {
    "identity": {},
    "signed_square": {},
    "hinge": {},
    "sigmoid": {"sigmoid_alpha": 0.4},
    "exponential": {},
    "exponential_standard_ratio": {"ratio_c": 3.0},
    "logarithm_one_plus_exp": {},
    "identity_multiclass": {},
    "softmax": {},
    "multiclass_ova": {"sigmoid_alpha": 2.0},
}
BUILT |= {
    link: {"kind": "float64", "link": link, **params}
    | (
        {"n_classes": 3, "shape": (1, 3)}
        if link in ("identity_multiclass", "softmax", "multiclass_ova")
        else {}
    )
    for link, params in LINKS.items()
}
MODELS = {name: partial(random_model, np.random.default_rng(7), **params) for name, params in BUILT.items()}


class TestContract(ReaderContract):
    X = awkward_rows(60, 2, (0,))
    special = (np.nan, np.inf, -np.inf, -0.0, 1e39, -1e39, *range(6), 2.7, -1.0, -0.5, 17.0, 1e9, 1e12)
    removed = (1,)
    # treelite has no walk of its own; `test_cover_is_sum_hess_or_else_data_count` compares with XGBoost and shap.
    without_walk = tuple(BUILT)
    without_onnx = ("one leaf",)
    saved = ("single", "less or equal", "categories", "targets by classes")
    with_skops = False
    float32 = True

    def margin(self, model, rows):
        return gtil(model, rows)

    def thresholds(self, model):
        return [(j, t) for j in range(3) for t in (-0.5, 0.0, 0.1, 1.0)]

    def tolerance(self, name, model, decomposer):
        bound = TOLERANCE[BUILT[name].get("kind", "float32")]["atol"]
        return bound * max(1.0, np.abs(gtil(model, self.X)).max())

    def output(self, estimator, rows):
        if isinstance(estimator, treelite.Model):
            return gtil(estimator, rows, margin=False)
        return super().output(estimator, rows)


def test_cover_is_sum_hess_or_else_data_count():
    booster = xgb.XGBRegressor(n_estimators=10, max_depth=3).fit(X, SIGNAL).get_booster()
    model = treelite.frontend.from_xgboost(booster)
    own = booster.predict(xgb.DMatrix(X), pred_contribs=True)
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)
    assert_allclose(decomposer.shap_values(X), own[:, :3], **TOLERANCE["float32"])
    forest = RandomForestRegressor(10, max_depth=4, random_state=0).fit(
        X, SIGNAL
    )  # sum_hess counts the bootstrap sample.
    shap = pytest.importorskip("shap")
    own = shap.TreeExplainer(forest, feature_perturbation="tree_path_dependent").shap_values(X)
    model = treelite.sklearn.import_model(forest)
    decomposer = GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)
    assert_allclose(decomposer.shap_values(X), own, rtol=1e-9, atol=1e-9)
    # Without sum_hess the cover is data_count.
    counted = random_model(np.random.default_rng(3), cover="data_count")
    summed = random_model(np.random.default_rng(3), cover="sum_hess")
    ours = [
        GlexDecomposer(m, weighting="path_dependent", max_interaction=None).fit(X).shap_values(X)
        for m in (counted, summed)
    ]
    assert_array_equal(*ours)


def test_without_cover_only_empirical_weights():
    model = random_model(np.random.default_rng(0), cover=None)
    GlexDecomposer(model, max_interaction=None).fit(X)
    with pytest.raises(ValueError, match="needs node covers"):
        GlexDecomposer(model, weighting="path_dependent", max_interaction=None).fit(X)


def test_imported_models():
    models = {
        "extra trees": ExtraTreesClassifier(10, max_depth=4, random_state=0).fit(X, CLASSES),
        "boosting": GradientBoostingClassifier(n_estimators=10).fit(X, SIGNAL > 0),
        "histogram": HistGradientBoostingRegressor(max_iter=10).fit(X, SIGNAL),
        "isolation forest": IsolationForest(n_estimators=10, random_state=0).fit(X),
        "targets": RandomForestRegressor(10, max_depth=4).fit(X, np.column_stack([SIGNAL, X[:, 0]])),
    }
    for name, estimator in models.items():
        model = treelite.sklearn.import_model(estimator)
        decomposer = GlexDecomposer(model, max_interaction=None).fit(X)
        assert_allclose(total(decomposer, X), gtil(model, X), rtol=1e-9, atol=1e-12, err_msg=name)
        remover = FeatureRemover(model, ["x1"], strength=0).fit(X)
        assert_array_equal(remover.predict(X).reshape(len(X), -1), gtil(model, X, margin=False))


def test_data_frames_and_sparse_matrices():
    model = random_model(np.random.default_rng(0), categorical=(2,), n_trees=10)
    rows = np.column_stack([X[:, :2], RNG.integers(0, 6, len(X))])
    reference = GlexDecomposer(model, max_interaction=None).fit(rows)
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    decomposer = GlexDecomposer(model, max_interaction=None).fit(frame)
    assert_array_equal(decomposer.transform(frame), reference.transform(rows))
    assert decomposer.get_feature_names_out()[0] == "a"
    # A categorical column counts by its codes.
    frame["c"] = pd.Categorical.from_codes(rows[:, 2].astype(int), list("uvwxyz"))
    assert_array_equal(
        GlexDecomposer(model, max_interaction=None).fit(frame).transform(frame), reference.transform(rows)
    )
    assert FeatureRemover(model, ["b"], strength=0).fit(frame).predict(frame) == pytest.approx(
        gtil(model, rows)[:, 0]
    )
    rows[rows < 0.5] = 0  # Entries that a sparse matrix does not store are missing for GTIL.
    for kind in (sp.csr_matrix, sp.csc_matrix, sp.csr_array):
        decomposer = GlexDecomposer(model, max_interaction=None).fit(kind(rows))
        assert_allclose(
            total(decomposer, kind(rows)), gtil(model, sp.csr_matrix(rows)), **TOLERANCE["float32"]
        )


def test_decomposers_of_models_can_be_cloned():
    decomposer = GlexDecomposer(random_model(np.random.default_rng(0)), max_interaction=None).fit(X)
    assert_array_equal(clone(decomposer).fit(X).transform(X), decomposer.transform(X))


def test_refusals():
    with pytest.raises(ValueError, match="several targets and the postprocessor 'softmax'"):
        GlexDecomposer(
            random_model(np.random.default_rng(0), shape=(2, 3), n_classes=3, link="softmax"),
            max_interaction=None,
        ).fit(X)
    with pytest.raises(ValueError, match="operators"):
        GlexDecomposer(random_model(np.random.default_rng(0), operators=["=="]), max_interaction=None).fit(X)
    with pytest.raises(ValueError, match="prefit=False, but a Model cannot be fitted again"):
        GlexDecomposer(random_model(np.random.default_rng(0)), prefit=False, max_interaction=None).fit(X)
    with pytest.raises(ValueError, match="X has 2 features, but the model was trained on 3"):
        GlexDecomposer(random_model(np.random.default_rng(0)), max_interaction=None).fit(X[:, :2])
