"""Load a model from a file, of a kind that its content tells."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import xgboost as xgb

from skglex._command_line._tables import TABLE_ENDINGS, table_ending
from skglex._command_line._terminal import Mistake, one_line

# Types of models and of their parts that skops does not trust by itself. None of them runs code from the file.
_TRUSTED = frozenset(
    {
        "collections.OrderedDict",
        "functools.partial",  # skops examines the function and its arguments too.
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.tree._tree.Tree",
        "sklearn.utils.validation.check_array",
        "xgboost.core.Booster",
        *(f"xgboost.sklearn.XGB{kind}" for kind in ("Classifier", "Ranker", "Regressor")),
        *(f"xgboost.sklearn.XGBRF{kind}" for kind in ("Classifier", "Regressor")),
        "lightgbm.basic.Booster",
        *(f"lightgbm.sklearn.LGBM{kind}" for kind in ("Classifier", "Ranker", "Regressor")),
        *(f"catboost.core.CatBoost{kind}" for kind in ("", "Classifier", "Ranker", "Regressor")),
    }
)
_EXPECTED = (
    "expected a model of XGBoost (JSON or UBJSON, from save_model), LightGBM (text, from save_model) or CatBoost (cbm "
    "or JSON, from save_model), a skops file, or a pickle"
)
_XGBOOST_KINDS = {"classifier": xgb.XGBClassifier, "regressor": xgb.XGBRegressor, "ranker": xgb.XGBRanker}
_PICKLE_ENDINGS = (".pkl", ".pickle", ".joblib", ".p")
_COMPRESSIONS = (".gz", ".z", ".bz2", ".xz", ".lzma", ".lz4")


def load_model(path: Path, *, trust: bool = False, missing: float | None = None) -> Any:
    """Load a model.

    Parameters
    ----------
    path : Path
        A model file of XGBoost, LightGBM, CatBoost or skops, or a pickle.
    trust : bool, default=False
        Whether the file may run code: pickles, and types in a skops file that are not known to be harmless.
    missing : float, default=None
        The value that was missing in training, for an XGBoost model.

    Raises
    ------
    Mistake
        The file is not there, is no model, is not trusted, or its library is not installed.
    """
    load = _loader(path)
    if load is _load_pickle and not trust:
        raise Mistake(
            f"{path} is a pickle, and loading a pickle runs whatever code is in it. If you know who wrote the file and "
            "trust them, add --trust"
        )
    messages = io.StringIO()  # LightGBM prints what is wrong with a file.
    try:
        with redirect_stdout(messages):
            return load(path, trust, missing)
    except Mistake:
        raise
    except ImportError as error:
        raise Mistake(_library_message(path, error)) from error
    except Exception as error:
        # Errors of XGBoost end in a stack trace.
        text = one_line(str(error).partition("Stack trace")[0]) or type(error).__name__
        raise Mistake(
            f"cannot load {path}: {text}. The file may be damaged, or newer than the library"
        ) from error


def is_model_file(path: Path) -> bool:
    """Return whether a file that is there looks like a model, and not like a table."""
    try:
        _loader(path)
    except Mistake:
        return False
    return True


def _loader(path: Path) -> Callable[..., Any]:
    """Return the function that loads a file, by its content."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is not there"
        raise Mistake(f"the model file {path} {what}. Pass the path of a file that the model was saved to")
    try:
        with path.open("rb") as file:
            head = file.read(64)
    except OSError as error:
        raise Mistake(f"cannot read {path}: {error.strerror}") from error
    endings = [ending.lower() for ending in path.suffixes]
    if head.startswith(b"CBM1"):
        return _load_catboost
    if head.startswith((b"tree\n", b"tree\r\n")):
        return _load_lightgbm
    if head.startswith(b"PK\x03\x04"):
        return _zip_loader(path)
    if head[:1] == b"{" and head[1:2] in b"iIlLU" and head[1:2]:
        return _load_xgboost
    if head.lstrip()[:1] in (b"{", b"["):
        return _json_loader(path)
    compressed = len(endings) > 1 and endings[-1] in _COMPRESSIONS and endings[-2] in _PICKLE_ENDINGS
    if head[:1] == b"\x80" or (endings and endings[-1] in _PICKLE_ENDINGS) or compressed:
        return _load_pickle
    if head.startswith((b"binf", b"bs64")):
        raise Mistake(
            f"{path} is in XGBoost's old binary format, which XGBoost has dropped. Load it with the version that wrote "
            "it, and save it with save_model('model.json')"
        )
    if endings and endings[-1] == ".onnx":
        raise Mistake(f"{path} is an ONNX file, which does not hold the covers of the trees; {_EXPECTED}")
    if table_ending(path) in TABLE_ENDINGS:
        raise Mistake(
            f"{path} is no model that skglex can read: it is a table. The model comes first, as in skglex summary "
            "MODEL DATA"
        )
    raise Mistake(f"{path} is no model that skglex can read; {_EXPECTED}")


def _zip_loader(path: Path) -> Callable[..., Any]:
    try:
        names = zipfile.ZipFile(path).namelist()
    except zipfile.BadZipFile as error:
        raise Mistake(f"{path} is a damaged zip file; {_EXPECTED}") from error
    if "components.json" in names:
        raise Mistake(
            f"{path} holds stored components, without the model they come from. Pass the file of the model; "
            "skglex.export.load_components reads this one"
        )
    if "schema.json" not in names:
        raise Mistake(f"{path} is a zip file, but not one of skops; {_EXPECTED}")
    return _load_skops


def _json_loader(path: Path) -> Callable[..., Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Mistake(f"{path} is not valid JSON ({error}): the file may be cut off; {_EXPECTED}") from error
    keys = set(content) if isinstance(content, dict) else set()
    if "learner" in keys:
        return _load_xgboost
    if "features_info" in keys:
        return _load_catboost
    if "tree_info" in keys:
        raise Mistake(
            f"{path} is a dump of a LightGBM model, which LightGBM cannot load. Save the model with "
            "save_model('model.txt')"
        )
    if isinstance(content, list) and content and "nodeid" in str(content[0])[:500]:
        raise Mistake(
            f"{path} is a dump of an XGBoost model, which XGBoost cannot load. Save the model with "
            "save_model('model.json')"
        )
    raise Mistake(f"{path} is JSON, but no model; {_EXPECTED}")


def _load_xgboost(path: Path, trust: bool, missing: float | None) -> Any:
    """Load a booster, or the scikit-learn wrapper that wrote it: only that uses the trees up to the best round."""
    booster = xgb.Booster(model_file=path)
    written = json.loads(booster.attr("scikit_learn") or "{}")
    kind = _XGBOOST_KINDS.get(written.get("_estimator_type"))
    if kind is None:
        return booster
    model = kind() if missing is None else kind(missing=missing)
    model.load_model(path)
    return model


def _load_lightgbm(path: Path, *_: Any) -> Any:
    import lightgbm as lgb

    return lgb.Booster(model_file=str(path))


def _load_catboost(path: Path, *_: Any) -> Any:
    import catboost as cb

    with path.open("rb") as file:
        kind = "cbm" if file.read(4) == b"CBM1" else "json"
    return cb.CatBoost().load_model(str(path), format=kind)


def _load_skops(path: Path, trust: bool, *_: Any) -> Any:
    import skops.io as sio

    types = set(sio.get_untrusted_types(file=path))
    if (unknown := sorted(types - _TRUSTED)) and not trust:
        raise Mistake(
            f"{path} contains types that may run code: {', '.join(unknown)}. If you know who wrote the file and trust "
            "them, add --trust"
        )
    return sio.load(path, trusted=sorted(types))


def _load_pickle(path: Path, *_: Any) -> Any:
    import joblib

    return joblib.load(path)


def _library_message(path: Path, error: ImportError) -> str:
    library = (error.name or "").partition(".")[0]
    if not library or library == "skglex":
        return f"cannot load {path}: {one_line(error)}"
    package = {"sklearn": "scikit-learn", "sksurv": "scikit-survival", "imblearn": "imbalanced-learn"}.get(
        library, library
    )
    return f"{path} needs the library {library}, which is not installed. Install it: pip install {package}"
