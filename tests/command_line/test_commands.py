"""Run the commands on files of each library, and compare what they write with the libraries and the estimators."""

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from numpy.testing import assert_allclose

from skglex import FeatureRemover, GlexDecomposer
from skglex._command_line._commands import _without_rounding_errors
from tests.command_line.conftest import CATEGORIES, FEATURES

MODELS = [
    "wrapper.json",
    "booster.ubj",
    "light.txt",
    "cat.cbm",
    "cat.json",
    "pipeline.joblib.gz",
    "pipeline.skops",
    "boosting.pkl",
]


@pytest.mark.parametrize("model", MODELS)
def test_components_add_up_to_the_librarys_margin(model, files, run, tmp_path):
    if model not in files.margins:
        pytest.skip(f"the library of {model} is not installed")
    trust = ["--trust"] * model.endswith((".gz", ".pkl"))
    done = run(
        "components", model, "rows.csv", "-o", tmp_path / "parts.parquet", "--keep", "id,bought", *trust
    )
    assert done.code == 0, done.err
    table = pd.read_parquet(tmp_path / "parts.parquet")
    assert table["id"].tolist() == files.frame["id"].tolist()
    parts = table.drop(columns=["id", "bought", "margin"])
    assert parts.columns[0] == "intercept"
    assert {"age", "job", "sex"} < set(parts)  # A pipeline's columns are grouped again.
    assert_allclose(parts.sum(axis=1), table["margin"], rtol=0, atol=1e-12)
    # XGBoost and CatBoost sum in float32.
    assert_allclose(table["margin"], files.margins[model], rtol=0, atol=2e-6)


def test_components_and_shap_values_are_those_of_the_decomposer(files, run, tmp_path):
    X = files.frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category"))
    model = xgb.XGBClassifier()
    model.load_model(files.folder / "wrapper.json")
    decomposer = GlexDecomposer(model, max_interaction=1).fit(X)
    assert (
        run("components", "wrapper.json", "rows.csv", "--max-interaction", 1, "-o", tmp_path / "c.csv").code
        == 0
    )
    found = pd.read_csv(tmp_path / "c.csv")
    assert list(found) == ["intercept", *decomposer.get_feature_names_out(), "margin"]
    assert_allclose(found.iloc[:, 1:-1], decomposer.transform(X), rtol=0, atol=1e-12)
    for scale, first, last in [("margin", "intercept", "margin"), ("response", "mean", "prediction")]:
        assert run("shap", "wrapper.json", "rows.csv", "--scale", scale, "-o", tmp_path / "s.csv").code == 0
        found = pd.read_csv(tmp_path / "s.csv")
        assert list(found) == [first, *FEATURES, last]
        assert_allclose(found[FEATURES], decomposer.shap_values(X, scale=scale), rtol=0, atol=1e-12)
    assert_allclose(found["prediction"], model.predict_proba(X)[:, 1], rtol=0, atol=1e-6)


def test_several_outputs_have_columns_of_their_own(files, run, tmp_path):
    X, y = files.frame[["age", "zone"]], files.frame["zone"].map({1: 0, 2: 1, 7: 2})
    model = xgb.XGBClassifier(n_estimators=3, max_depth=2).fit(X, y)
    model.save_model(tmp_path / "three.json")
    assert run("shap", tmp_path / "three.json", "rows.csv", "-o", tmp_path / "s.csv").code == 0
    found = pd.read_csv(tmp_path / "s.csv")
    names = ["intercept", "age", "zone", "margin"]
    assert list(found) == [f"{label}__{name}" for label in range(3) for name in names]
    shown = run("shap", tmp_path / "three.json", "rows.csv").out.split("\n\n")
    assert [table.split()[1] for table in shown] == [f"{label}__intercept" for label in range(3)]
    margin = found[[f"{label}__margin" for label in range(3)]]
    assert_allclose(margin, model.predict(X, output_margin=True), rtol=0, atol=1e-6)
    assert (
        run("debias", tmp_path / "three.json", "rows.csv", "--remove", "age", "-o", tmp_path / "d.csv").code
        == 0
    )
    found = pd.read_csv(tmp_path / "d.csv")
    before = found[[f"probability_{label}_before" for label in range(3)]]
    assert_allclose(before, model.predict_proba(X), rtol=0, atol=1e-6)


def test_background_rows_and_weights(files, run, tmp_path):
    X = files.frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category"))
    files.frame[:50].to_csv(tmp_path / "train.csv", index=False)
    run(
        "shap",
        "booster.ubj",
        "rows.csv",
        "--background",
        tmp_path / "train.csv",
        "-o",
        tmp_path / "s.csv",
        "-q",
    )
    model = xgb.Booster(model_file=files.folder / "booster.ubj")
    expected = GlexDecomposer(model).fit(X[:50]).shap_values(X)
    assert_allclose(pd.read_csv(tmp_path / "s.csv")[FEATURES], expected, rtol=0, atol=1e-12)
    run("shap", "booster.ubj", "rows.csv", "--weights", "bought", "-o", tmp_path / "s.csv", "-q")
    expected = GlexDecomposer(model).fit(X, sample_weight=files.frame["bought"]).shap_values(X)
    assert_allclose(pd.read_csv(tmp_path / "s.csv")[FEATURES], expected, rtol=0, atol=1e-12)
    drawn = ["--sample", 20, "-o", tmp_path / "s.csv"]
    assert run("shap", "booster.ubj", "rows.csv", *drawn).code == 0
    first = pd.read_csv(tmp_path / "s.csv")
    assert len(first) == len(X)
    run("shap", "booster.ubj", "rows.csv", *drawn, "--seed", 1)
    assert not np.allclose(pd.read_csv(tmp_path / "s.csv")["sex"], first["sex"])


class TestDebias:
    def expected(self, files, strength=1.0):
        X = files.frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category"))
        model = xgb.XGBClassifier()
        model.load_model(files.folder / "wrapper.json")
        return FeatureRemover(model, ["sex", "zone"], strength=strength).fit(X), X

    def test_predictions(self, files, run, tmp_path):
        assert (
            run("debias", "wrapper.json", "rows.csv", "--remove", "sex,zone", "-o", tmp_path / "p.arrow").code
            == 0
        )
        found = pd.read_feather(tmp_path / "p.arrow")
        remover, X = self.expected(files)
        assert_allclose(found["probability"], remover.predict_proba(X)[:, 1], rtol=0, atol=1e-12)
        assert (found["label"] == remover.predict(X)).all()
        remover.strength = 0.0
        assert_allclose(found["probability_before"], remover.predict_proba(X)[:, 1], rtol=0, atol=1e-12)

    def test_rows_may_lack_what_is_removed(self, files, run, tmp_path):
        files.frame.drop(columns=["sex", "zone"]).to_csv(tmp_path / "new.csv", index=False)
        options = [
            "--background",
            "rows.csv",
            "--remove",
            "sex",
            "--remove",
            "zone",
            "-o",
            tmp_path / "p.csv",
        ]
        done = run("debias", "wrapper.json", tmp_path / "new.csv", *options)
        assert done.code == 0, done.err
        remover, X = self.expected(files)
        found = pd.read_csv(tmp_path / "p.csv")
        assert list(found) == ["label", "probability"]
        assert_allclose(found["probability"], remover.predict_proba(X)[:, 1], rtol=0, atol=1e-12)

    def test_booster(self, files, run, tmp_path):
        assert (
            run("debias", "wrapper.json", "rows.csv", "--remove", "sex,zone", "-o", tmp_path / "m.json").code
            == 0
        )
        remover, X = self.expected(files)
        booster = xgb.Booster(model_file=tmp_path / "m.json")
        found = booster.predict(xgb.DMatrix(X, enable_categorical=True))
        assert_allclose(found, remover.predict_proba(X)[:, 1], rtol=0, atol=1e-6)

    def test_onnx(self, files, run, run_onnx, tmp_path):
        import onnx

        done = run(
            "debias",
            "pipeline.joblib.gz",
            "rows.csv",
            "--remove",
            "sex",
            "-o",
            tmp_path / "m.onnx",
            "--trust",
        )
        assert done.code == 0, done.err
        model = onnx.load(tmp_path / "m.onnx")
        assert "margin" in run_onnx(model, np.zeros((1, 9)))

    def test_only_xgboost_becomes_a_booster(self, files, run, tmp_path):
        done = run(
            "debias", "boosting.pkl", "rows.csv", "--remove", "sex", "-o", tmp_path / "m.json", "--trust"
        )
        assert done.code == 2
        assert "this is a model of sklearn. Write it as ONNX" in done.err


def test_results_without_a_file_fit_the_terminal(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    done = run("components", "wrapper.json", "rows.csv", "--keep", "id")
    lines = done.out.splitlines()
    assert len(lines) == 11
    assert max(map(len, lines)) <= 60
    assert lines[0].split()[:2] == ["id", "intercept"]
    assert "others)" in lines[0]
    assert lines[0].split()[-1] == "margin"
    numbers = np.array([line.split() for line in lines[1:]], dtype=float)
    assert_allclose(numbers[:, 1:-1].sum(axis=1), numbers[:, -1], rtol=0, atol=2e-3)  # Four digits are shown.


def test_rounding_errors_are_zeros_in_the_terminal():
    shown = _without_rounding_errors(
        {"name": ["a", "b"], "x": np.array([1.0, 1e-16]), "y": np.array([-1e-16, 0.0]), "n": np.array([1, 2])}
    )
    assert shown["name"] == ["a", "b"]
    assert shown["x"].tolist() == [1.0, 1e-16]
    assert shown["y"].tolist() == [0.0, 0.0]


def test_summary(run):
    done = run("summary", "wrapper.json")
    assert "XGBClassifier of xgboost" in done.out
    assert "age, job, zone, sex" in done.out
    done = run("summary", "pipeline.joblib.gz", "rows.csv", "--trust", "--top", 3)
    assert "ColumnTransformer" in done.out
    order, features, components = done.out.split("\n\n")[1:]
    assert order.splitlines()[0] == "Share of the variance of the margin"
    shares = [float(line.split("%")[0].split()[-1]) for line in order.splitlines()[1:]]
    assert sum(shares) == pytest.approx(100, abs=0.3)
    assert [len(part.strip().splitlines()) for part in (features, components)] == [4, 4]
    assert "probability" in features


def test_report(run, tmp_path):
    path = tmp_path / "report.html"
    options = [
        "--target",
        "bought",
        "--groups",
        "sex",
        "--remove",
        "sex",
        "--title",
        "A shop",
        "--sample",
        150,
    ]
    done = run(
        "report", "wrapper.json", "rows.csv", "-o", path, *options, "--max-rows", 20, "--keep", "id,sex"
    )
    assert done.code == 0, done.err
    assert '"kept":[{"name":"id","isNumber":true,"values":[1' in path.read_text(encoding="utf-8")
    assert done.err.splitlines()[-1].startswith(f"skglex: wrote {path} (")
    assert "<title>A shop" in path.read_text(encoding="utf-8")
    done = run("report", "pipeline.joblib.gz", "rows.csv", "-o", path, "--trust", "--compare", "rows.csv")
    assert done.code == 0, done.err


def test_report_compares_models_of_two_libraries(files, run, tmp_path):
    if "light.txt" not in files.margins:
        pytest.skip("LightGBM is not installed")
    X, y = files.frame[["age", "zone"]], files.frame["bought"]
    import lightgbm as lgb

    xgb.XGBClassifier(n_estimators=2).fit(X, y).save_model(tmp_path / "a.json")
    booster = lgb.train({"objective": "binary", "verbose": -1}, lgb.Dataset(X, y), 2)
    booster.save_model(tmp_path / "b.txt")
    for first, second in [("a.json", "b.txt"), ("b.txt", "a.json")]:
        options = ["-o", tmp_path / "report.html", "--compare", tmp_path / second]
        done = run("report", tmp_path / first, "rows.csv", *options)
        assert done.code == 0, done.err


def test_texts_of_classes_become_numbers(files, run, tmp_path):
    files.frame.assign(bought=files.frame["bought"].map({0: "no", 1: "yes"})).to_csv(
        tmp_path / "r.csv", index=False
    )
    page = tmp_path / "report.html"
    done = run("report", "wrapper.json", tmp_path / "r.csv", "-o", page, "--target", "bought")
    assert done.code == 0, done.err
    assert "bought takes 'no' as 0, 'yes' as 1" in done.err
    content = page.read_text(encoding="utf-8")
    assert '"outputs":["yes"]' in content
    assert '"targetLabels":["no","yes"]' in content
    # A model of numbers has no classes to name, but its score needs numbers too.
    done = run("report", "boosting.pkl", tmp_path / "r.csv", "-o", page, "--target", "bought", "--trust")
    assert done.code == 0, done.err
    assert '"task":"regression"' in page.read_text(encoding="utf-8")
