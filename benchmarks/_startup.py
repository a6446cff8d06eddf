"""Time the first use in a fresh process: ``python -m benchmarks._startup SOFTWARE STEP FILE``.

FILE contains a model and rows. Loading it is not timed. Prints the seconds and the values as JSON.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks._types import Call, Contender, Data, Skipped

STEPS = ("total", "import", "fit", "first call", "second call", "every method")


class Seconds(float):
    """Hold a time that another process measured, and the values that it computed."""

    values: Any = None


def fresh(
    software: str, step: str = "total", *, label: str = "", cold: bool = False, whole: bool = False
) -> Contender:
    """Return a contender that runs in a process of its own.

    Parameters
    ----------
    software : str
        ``"skglex"``, a peer, ``"import NAME"`` or ``"numba"`` (import it and call an empty cached function).
    step : str
        One of ``STEPS``; steps other than the total are for skglex only.
    cold : bool
        Give every process an empty cache directory for numba; otherwise all processes share one.
    whole : bool
        Time the whole process, from its start to its end.
    """

    def prepare(data: Data) -> Call:
        module = software.removeprefix("import ")
        try:
            import_module(module)
        except ImportError as error:
            raise Skipped(f"not installed: {error}") from error
        shared = tempfile.TemporaryDirectory()
        file = Path(shared.name) / "model_and_rows.pickle"
        file.write_bytes(pickle.dumps((data.model, data.background, data.X[:1])))

        def call(n: int) -> Seconds:
            with tempfile.TemporaryDirectory() as empty:
                cache = empty if cold else str(Path(shared.name) / "cache")
                start = time.perf_counter()
                done = subprocess.run(
                    [
                        sys.executable,
                        "-W",
                        "ignore",
                        "-m",
                        "benchmarks._startup",
                        software,
                        step,
                        str(file),
                    ],
                    env=os.environ | {"NUMBA_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                )
                seconds = time.perf_counter() - start
            if done.returncode:
                raise Skipped(done.stderr.strip().splitlines()[-1])
            printed = json.loads(done.stdout.strip().splitlines()[-1])
            result = Seconds(seconds if whole else printed["seconds"])
            result.values = printed["values"]
            return result

        return call

    explains = step == "total" and not software.startswith(("import", "numba"))
    comparable = (lambda result: result.values) if explains else None
    return Contender(label or software, prepare, comparable, by_rows=False)


def skglex_steps(model: Any, background: Any, X: Any, step: str) -> tuple[float, Any]:
    """Return the seconds of one step, or of all steps up to the first call, and the SHAP values."""
    marks = [time.perf_counter()]
    from skglex import FeatureRemover, GlexDecomposer

    marks.append(time.perf_counter())
    dec = GlexDecomposer(model, weighting="path_dependent").fit(background)
    marks.append(time.perf_counter())
    values = dec.shap_values(X)
    marks.append(time.perf_counter())
    if step == "every method":
        dec.transform(X)
        dec.shap_interaction_values(X)
        dec.partial_dependence([0, 1], X)
        GlexDecomposer(model, max_interaction=2).fit(background).transform(X)
        FeatureRemover(model, [0]).fit(background).predict(X)
        return time.perf_counter() - marks[0], values
    dec.shap_values(X)
    marks.append(time.perf_counter())
    if step == "total":
        return marks[3] - marks[0], values
    position = STEPS.index(step)
    return marks[position] - marks[position - 1], values


def peer_values(software: str, model: Any, X: Any) -> Any:
    """Import a peer and return its SHAP values."""
    from benchmarks import _contenders

    if software == "xgboost":
        import xgboost

        booster = model.get_booster()
        return _contenders.without_bias(booster.predict(xgboost.DMatrix(X), pred_contribs=True))
    if software == "shap":
        import shap

        return shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(X)
    if software == "woodelf":
        from woodelf.explainer import WoodelfExplainer

        explainer = WoodelfExplainer(model, feature_perturbation="tree_path_dependent")
        return explainer.shap_values(_contenders.frame(X), verbose=False)
    import shapiq

    values = shapiq.TreeExplainer(model, index="SV", max_order=1, min_order=1).explain_X(X).values
    return _contenders.shapiq_values((values, len(X), X.shape[1]))


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of a call, and its result."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def empty_numba_function() -> None:
    """Import numba and call an empty cached function."""
    import numba

    @numba.njit(cache=True)
    def nothing() -> None:
        pass

    nothing()


def main() -> None:
    software, step, file = sys.argv[1:]
    if software.startswith("import "):
        seconds, values = timed(lambda: import_module(software.removeprefix("import ")))[0], None
    elif software == "numba":
        seconds, values = timed(empty_numba_function)
    else:
        # This imports the model's library, which a user with a fitted model has already imported.
        model, background, X = pickle.loads(Path(file).read_bytes())
        if software == "skglex":
            empty_numba_function()
            seconds, values = skglex_steps(model, background, X, step)
        else:
            seconds, values = timed(lambda: peer_values(software, model, X))
    print(json.dumps({"seconds": seconds, "values": None if values is None else values.tolist()}))


if __name__ == "__main__":
    main()
