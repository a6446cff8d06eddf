"""First use, timed in a fresh process: ``python -m benchmarks._startup WAY STEP FILE``.

FILE holds a model and rows; what is timed is everything but loading it. Prints the seconds and the values as JSON.
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

from benchmarks._work import Call, Data, Skipped, Way

STEPS = ("total", "import", "fit", "first call", "second call", "every method")


class Seconds(float):
    """A time that was taken elsewhere, and the values that came with it."""

    values: Any = None


def fresh(way: str, step: str = "total", *, label: str = "", cold: bool = False, whole: bool = False) -> Way:
    """A way that runs in a process of its own.

    Parameters
    ----------
    way : str
        ``"skglex"``, a peer, ``"import NAME"`` or ``"numba"`` (import it and call an empty cached function).
    step : str
        One of ``STEPS``, of skglex.
    cold : bool
        Give every process an empty cache directory of numba; otherwise they share one.
    whole : bool
        Time the process, from its start to its end.
    """

    def prepare(data: Data) -> Call:
        module = way.removeprefix("import ")
        try:
            import_module(module)
        except ImportError as error:
            raise Skipped(f"not installed: {error}") from error
        shared = tempfile.TemporaryDirectory()
        given = Path(shared.name) / "given.pickle"
        given.write_bytes(pickle.dumps((data.model, data.background, data.X[:1])))

        def call(n: int) -> Seconds:
            with tempfile.TemporaryDirectory() as empty:
                cache = empty if cold else str(Path(shared.name) / "cache")
                start = time.perf_counter()
                done = subprocess.run(
                    [sys.executable, "-W", "ignore", "-m", "benchmarks._startup", way, step, str(given)],
                    env=os.environ | {"NUMBA_CACHE_DIR": cache},
                    capture_output=True,
                    text=True,
                )
                seconds = time.perf_counter() - start
            if done.returncode:
                raise Skipped(done.stderr.strip().splitlines()[-1])
            printed = json.loads(done.stdout.strip().splitlines()[-1])
            found = Seconds(seconds if whole else printed["seconds"])
            found.values = printed["values"]
            return found

        return call

    explains = step == "total" and not way.startswith(("import", "numba"))
    common = (lambda result: result.values) if explains else None
    return Way(label or way, prepare, common, by_rows=False)


def skglex_steps(model: Any, background: Any, X: Any, step: str) -> tuple[float, Any]:
    """Seconds of one step, or of all up to and including the first call."""
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


def peer_values(way: str, model: Any, X: Any) -> Any:
    from benchmarks import _ways

    if way == "xgboost":
        import xgboost

        booster = model.get_booster()
        return _ways.without_bias(booster.predict(xgboost.DMatrix(X), pred_contribs=True))
    if way == "shap":
        import shap

        return shap.TreeExplainer(model, feature_perturbation="tree_path_dependent").shap_values(X)
    if way == "woodelf":
        from woodelf.explainer import WoodelfExplainer

        explainer = WoodelfExplainer(model, feature_perturbation="tree_path_dependent")
        return explainer.shap_values(_ways.frame(X), verbose=False)
    import shapiq

    values = shapiq.TreeExplainer(model, index="SV", max_order=1, min_order=1).explain_X(X).values
    return _ways.shapiq_values((values, len(X), X.shape[1]))


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def empty_numba_function() -> None:
    import numba

    @numba.njit(cache=True)
    def nothing() -> None:
        pass

    nothing()


def main() -> None:
    way, step, file = sys.argv[1:]
    if way.startswith("import "):
        seconds, values = timed(lambda: import_module(way.removeprefix("import ")))[0], None
    elif way == "numba":
        seconds, values = timed(empty_numba_function)
    else:
        # a user who has a fitted model has imported these
        model, background, X = pickle.loads(Path(file).read_bytes())
        if way == "skglex":
            empty_numba_function()
            seconds, values = skglex_steps(model, background, X, step)
        else:
            seconds, values = timed(lambda: peer_values(way, model, X))
    print(json.dumps({"seconds": seconds, "values": None if values is None else values.tolist()}))


if __name__ == "__main__":
    main()
