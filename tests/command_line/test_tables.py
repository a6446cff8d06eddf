"""Read and write tables, and find in them what a model takes."""

import lzma
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb

from skglex._command_line._columns import columns_of, to_categories
from skglex._command_line._tables import TABLE_ENDINGS, read_table, write_table
from tests.command_line.conftest import FEATURES


def read(path, **categories):
    return read_table(path, lambda names, text: {name: c for name, c in categories.items() if name in names})[
        0
    ]


@pytest.mark.parametrize("ending", TABLE_ENDINGS)
def test_round_trip(ending, files, tmp_path):
    path = tmp_path / f"rows{ending}"
    write_table(files.frame, path)
    pd.testing.assert_frame_equal(read(path, job=np.array(["NA"])), files.frame, check_dtype=False)


def test_csv_of_other_programs(files, tmp_path):
    frame = files.frame[["age", "sex"]]
    for name, options in [
        ("semicolon.csv", {"sep": ";"}),
        ("bar.csv", {"sep": "|"}),
        ("packed.csv.xz", {}),
        ("mark.csv", {"encoding": "utf-8-sig"}),
    ]:
        frame.to_csv(tmp_path / name, index=False, **options)
        assert list(read(tmp_path / name)) == ["age", "sex"]
    assert lzma.decompress((tmp_path / "packed.csv.xz").read_bytes()).startswith(b"age,sex")


def test_texts_that_mean_missing_may_be_categories(tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\nNA,NA\n01,1\n,2\n")
    frame = read(tmp_path / "rows.csv", a=np.array(["NA", "01"], dtype=object))
    assert frame["a"].tolist()[:2] == ["NA", "01"]
    assert frame["a"].isna().tolist() == [False, False, True]
    assert frame["b"].isna().tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a,a\n1,2\n", "several columns with the name 'a'"),
        (b"age,job,zone,sex\n", "has no rows"),
        (b"", "cannot read"),
        ("\u00e4,b\n1,2\n".encode("latin-1"), "not in UTF-8"),
        (b"age,job,zone,sex\n1,x,2,f,5,6\n1,2\n1,x,2,f,5,6,7\n", "cannot read"),
    ],
)
def test_broken_csv(content, said, run, tmp_path):
    (tmp_path / "rows.csv").write_bytes(content)
    done = run("shap", "booster.ubj", tmp_path / "rows.csv", "-q")
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_columns_that_are_missing_are_named(files, run, tmp_path):
    files.frame.rename(columns={"age": "Age", "sex": "gender"}).to_csv(tmp_path / "rows.csv", index=False)
    done = run("shap", "booster.ubj", tmp_path / "rows.csv", "-q")
    assert done.code == 2
    assert "lacks 'age', 'sex'" in done.err
    assert "Is 'Age' the model's 'age'?" in done.err


def test_columns_that_options_name_must_be_there(run):
    for options in (["--keep", "Id"], ["--weights", "weight"], ["--drop", "x"]):
        done = run("shap", "booster.ubj", "rows.csv", "-q", *options)
        assert done.code == 2
        assert f"{options[0]} names {options[1]!r}" in done.err
    done = run("debias", "booster.ubj", "rows.csv", "-q", "--remove", "Sex")
    assert "Did you mean 'sex'?" in done.err


def test_models_without_names_take_the_columns_in_order(files, run, tmp_path):
    X = files.frame[["zone", "age"]].to_numpy()
    model = xgb.XGBRegressor(n_estimators=3, max_depth=2).fit(X, files.frame["bought"])
    model.save_model(tmp_path / "m.json")
    files.frame[["id", "zone", "age"]].to_csv(tmp_path / "rows.csv", index=False)
    done = run("shap", tmp_path / "m.json", tmp_path / "rows.csv")
    assert done.code == 2
    assert "3 columns" in done.err
    assert "--drop" in done.err
    done = run("shap", tmp_path / "m.json", tmp_path / "rows.csv", "--drop", "id", "-o", tmp_path / "s.csv")
    assert done.code == 0, done.err
    margin = pd.read_csv(tmp_path / "s.csv")["margin"]
    np.testing.assert_allclose(margin, model.predict(X), rtol=0, atol=1e-6)


def test_categories_at_unknown_positions(files, run, tmp_path):
    """LightGBM stores the categories of the columns, but not which columns: text and splits tell, else the user."""
    lgb = pytest.importorskip("lightgbm")
    frame = files.frame[["age", "zone", "job"]].assign(zone=files.frame["zone"].astype("category"))
    X = frame.assign(job=frame["job"].astype("category"))
    # Without a split on the zone nothing tells that it is categorical.
    booster = lgb.train({"verbose": -1}, lgb.Dataset(X, files.frame["job"] == "NA"), 2)
    booster.save_model(tmp_path / "m.txt")
    done = run("shap", tmp_path / "m.txt", "rows.csv", "-o", tmp_path / "s.csv")
    assert done.code == 2
    assert "--categorical" in done.err
    assert "'job' holds text" in done.err
    options = ["--categorical", "zone,job", "-o", tmp_path / "s.csv"]
    assert run("shap", tmp_path / "m.txt", "rows.csv", *options).code == 0
    margin = pd.read_csv(tmp_path / "s.csv")["margin"]
    np.testing.assert_allclose(margin, booster.predict(X), rtol=0, atol=1e-12)


def test_values_become_the_models_categories(files):
    model = xgb.Booster(model_file=files.folder / "booster.ubj")
    columns = columns_of(model)
    stored = {FEATURES[i]: categories for i, categories in columns.categories.items()}
    if not stored:
        pytest.skip("XGBoost before 3.1 does not store categories")
    frame = pd.DataFrame({"age": [1.0, 2], "job": ["01", None], "zone": [7.0, np.nan], "sex": ["m", "x"]})
    found = to_categories(frame, stored, columns, Path("booster.ubj"))
    assert found["zone"].tolist()[0] == 7
    assert found["zone"].cat.categories.dtype.kind == "i"
    assert found["job"].isna().tolist() == [False, True]
    assert list(found["sex"].cat.categories) == ["f", "m", "x"]


def test_texts_where_the_model_takes_numbers(files, run, tmp_path):
    ages = [*files.frame["age"][:-1], "old"]  # The numbers before it are read as texts.
    files.frame.assign(age=ages).to_csv(tmp_path / "rows.csv", index=False)
    done = run("shap", "booster.ubj", tmp_path / "rows.csv", "-q")
    assert done.code == 2
    assert "'age' holds text ('old'), but the model takes numbers there" in done.err


def test_rows_of_other_types_than_a_pipeline_takes(files, run, tmp_path):
    files.frame.assign(zone="north").to_csv(tmp_path / "rows.csv", index=False)
    done = run("shap", "pipeline.joblib.gz", tmp_path / "rows.csv", "-q", "--trust")
    assert done.code == 2
    assert "the preprocessing of pipeline.joblib.gz does not take the rows" in done.err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere/s.csv", "there is no folder"),
        ("s.docx", "must end in one of .csv"),
        ("rows.csv", "would overwrite an input"),
    ],
)
def test_outputs_are_checked_before_the_work(path, said, run):
    done = run("shap", "booster.ubj", "rows.csv", "-o", path)
    assert done.code == 2
    assert said in done.err
    assert "reading" not in done.err
