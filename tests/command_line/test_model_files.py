"""Test which files are models, and what is said of those that are none."""

import json
import pickle
import sys
import zipfile

import pytest
import xgboost as xgb

from skglex import GlexDecomposer
from skglex._command_line._model_files import load_model
from skglex._command_line._terminal import Mistake
from tests.command_line.conftest import CATEGORIES, FEATURES


def error_of(path, **options):
    with pytest.raises(Mistake) as caught:
        load_model(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_xgboost_files_of_wrappers_stay_wrappers(files):
    """They count trees up to the best round; the value that was missing is not in the file."""
    wrapper = load_model(files.folder / "wrapper.json", missing=-999)
    assert isinstance(wrapper, xgb.XGBClassifier)
    assert wrapper.missing == -999
    assert isinstance(load_model(files.folder / "booster.ubj"), xgb.Booster)


def test_pickles_need_trust(files):
    assert "runs whatever code is in it" in error_of(files.folder / "boosting.pkl")
    assert "add --trust" in error_of(files.folder / "pipeline.joblib.gz")
    assert load_model(files.folder / "boosting.pkl", trust=True)


def test_a_pickle_does_not_run_before_it_is_trusted(tmp_path):
    class Harmful:
        def __reduce__(self):
            return (sys.exit, (3,))

    for name in ("model.pkl", "model.json", "model"):
        (tmp_path / name).write_bytes(pickle.dumps(Harmful()))
        assert "is a pickle" in error_of(tmp_path / name)


def test_skops_files_of_unknown_types_need_trust(tmp_path):
    sio = pytest.importorskip("skops.io")
    sio.dump(GlexDecomposer(None), tmp_path / "model.skops")
    text = error_of(tmp_path / "model.skops")
    assert "skglex._decomposer.GlexDecomposer" in text
    assert "--trust" in text
    assert load_model(tmp_path / "model.skops", trust=True).estimator is None


def test_fitted_decomposers_stand_for_their_models(files, run, tmp_path):
    X = files.frame[FEATURES].astype(dict.fromkeys(CATEGORIES, "category"))
    decomposer = GlexDecomposer(load_model(files.folder / "booster.ubj")).fit(X)
    (tmp_path / "d.pkl").write_bytes(pickle.dumps(decomposer))
    done = run("summary", tmp_path / "d.pkl", "--trust")
    assert done.code == 0
    assert "holds a GlexDecomposer" in done.err


CONTENTS = {
    "a dump of XGBoost": ("dump.json", json.dumps([{"nodeid": 0, "leaf": 1.0}]), "which XGBoost cannot load"),
    "a dump of LightGBM": (
        "dump.json",
        json.dumps({"name": "tree", "tree_info": []}),
        "which LightGBM cannot load",
    ),
    "other JSON": ("other.json", "{}", "is JSON, but no model"),
    "JSON that is cut off": ("cut.json", '{"learner": ', "is not valid JSON"),
    "a damaged model": ("bad.json", '{"learner": {}, "version": [3, 0, 0]}', "cannot load"),
    "an old booster": ("model.bin", "binf....", "old binary format"),
    "ONNX": ("model.onnx", "ONNX", "does not hold the covers"),
    "a table": ("rows.csv", "a,b\n1,2\n", "is no model that skglex can read"),
    "an empty file": ("model.json", "", "is no model that skglex can read"),
    "a damaged zip": ("model.skops", "PK\x03\x04", "damaged zip"),
}


@pytest.mark.parametrize("content", CONTENTS)
def test_other_files(content, tmp_path):
    name, text, said = CONTENTS[content]
    (tmp_path / name).write_bytes(text.encode())
    found = error_of(tmp_path / name)
    assert said in found
    assert name in found


def test_other_zip_files(tmp_path):
    for name, said in [("components.json", "holds stored components"), ("other", "not one of skops")]:
        with zipfile.ZipFile(tmp_path / "file.zip", "w") as file:
            file.writestr(name, "{}")
        assert said in error_of(tmp_path / "file.zip")


def test_paths_that_are_no_files(tmp_path):
    assert "is not there" in error_of(tmp_path / "none.json")
    assert "is a folder" in error_of(tmp_path)


@pytest.mark.parametrize(
    ("name", "library"), [("m.cbm", "catboost"), ("m.txt", "lightgbm"), ("m.skops", "skops")]
)
def test_libraries_that_are_not_installed(name, library, tmp_path, monkeypatch):
    (tmp_path / "m.cbm").write_bytes(b"CBM1")
    (tmp_path / "m.txt").write_bytes(b"tree\nversion=v4\n")
    with zipfile.ZipFile(tmp_path / "m.skops", "w") as file:
        file.writestr("schema.json", "{}")
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, "skops.io", raising=False)
    assert f"pip install {library}" in error_of(tmp_path / name)
