"""Give the same results in threads and processes, start no more workers than asked for, and survive interrupts."""

import multiprocessing
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
import xgboost as xgb
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from skglex import FeatureRemover, GlexDecomposer, RandomPlantedForestRegressor
from skglex._utils import Execution
from skglex.exceptions import RemainderWarning
from skglex.export import load_components, save_components

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 5))
Y = X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3]
MODEL = xgb.XGBRegressor(n_estimators=20, max_depth=4, n_jobs=1).fit(X, Y)


def answers(decomposer):
    """Compute everything that is kept for later calls."""
    return [
        decomposer.transform(X),
        decomposer.shap_values(X),
        decomposer.partial_dependence([0, 1], X[:50]),
        decomposer.component_importances_,
        decomposer.feature_importances_,
        decomposer["x0:x1"].values,
    ]


def same(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_share_one_object(n_jobs):
    expected = answers(GlexDecomposer(MODEL).fit(X))
    shared = GlexDecomposer(MODEL, n_jobs=n_jobs).fit(X)  # Nothing is cached yet.
    with ThreadPoolExecutor(8) as pool:
        assert all(same(found, expected) for found in pool.map(answers, [shared] * 16))


def test_threads_share_one_remover(tmp_path):
    remover = FeatureRemover(MODEL, [0]).fit(X)
    decomposer = GlexDecomposer(MODEL, max_interaction=None).fit(X)
    save_components(decomposer, tmp_path / "file")
    stored = load_components(tmp_path / "file")
    predictions, components = FeatureRemover(MODEL, [0]).fit(X).predict(X), decomposer.transform(X)
    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(p, predictions) for p in pool.map(remover.predict, [X] * 16))
        assert all(np.array_equal(c, components) for c in pool.map(stored.evaluate, [X] * 16))


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(backend):
    shared = GlexDecomposer(MODEL).fit(X)
    calls = [joblib.delayed(shared.transform)(X), joblib.delayed(shared.shap_values)(X)]
    components, shap_values = joblib.Parallel(n_jobs=2, backend=backend)(calls)
    assert np.array_equal(components, shared.transform(X))
    assert np.array_equal(shap_values, shared.shap_values(X))


def in_process(decomposer, queue):
    queue.put((decomposer.transform(X[:100]), GlexDecomposer(MODEL).fit(X).shap_values(X[:100])))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(method):
    # Threads have run here before; the forked process does not have them and must not wait for them.
    decomposer = GlexDecomposer(xgb_free(), n_jobs=2).fit(X, Y)
    decomposer.transform(X)
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    target, args = (
        (in_process_forest, (decomposer, queue)) if method == "fork" else (in_process, (decomposer, queue))
    )
    process = context.Process(target=target, args=args)
    process.start()
    components, shap_values = queue.get(timeout=120)
    process.join(60)
    assert process.exitcode == 0
    assert np.array_equal(components, decomposer.transform(X[:100]))
    expected = decomposer if method == "fork" else GlexDecomposer(MODEL).fit(X)
    assert np.array_equal(shap_values, expected.shap_values(X[:100]))


def xgb_free():
    """Return a model whose library has no OpenMP threads, which cannot be forked."""
    return RandomPlantedForestRegressor(10, max_interaction=2, random_state=0)


def in_process_forest(decomposer, queue):
    again = GlexDecomposer(xgb_free(), n_jobs=2).fit(X, Y)
    queue.put((decomposer.transform(X[:100]), again.shap_values(X[:100])))


def test_nested_jobs_do_not_oversubscribe(monkeypatch):
    """In the threads of a search n_jobs=None means one thread, so never more than two kernels run."""
    running, most, lock = 0, 0, threading.Lock()

    def counted(function):
        def call(*task):
            nonlocal running, most
            with lock:
                running += 1
                most = max(most, running)
            try:
                return function(*task)
            finally:
                with lock:
                    running -= 1

        return call

    original = Execution.run

    def run(self, function, tasks, label=""):
        return original(self, counted(function), tasks, label)

    monkeypatch.setattr(Execution, "run", run)
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1)
    pipeline = make_pipeline(GlexDecomposer(model), Ridge())
    search = GridSearchCV(pipeline, {"glexdecomposer__max_interaction": [1, 2]}, n_jobs=2, cv=2)
    with joblib.parallel_config("threading"):
        search.fit(X, Y)
    assert 1 <= most <= 2


def test_search_in_processes():
    model = xgb.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1)
    found = []
    for outer, inner in [(1, None), (2, 2)]:
        pipeline = make_pipeline(GlexDecomposer(model, n_jobs=inner), Ridge())
        search = GridSearchCV(pipeline, {"glexdecomposer__max_interaction": [1, 2]}, n_jobs=outer, cv=2)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", RemainderWarning)
            found.append(search.fit(X, Y).cv_results_["mean_test_score"])
    # Ridge uses all BLAS threads of the process.
    np.testing.assert_allclose(*found, rtol=1e-12)


# -- failures and interrupts ----------------------------------------------------------------------


def snapshot(estimator):
    return dict(vars(estimator))


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, MemoryError])
@pytest.mark.parametrize("kind", ["decomposer", "remover", "forest"])
def test_failed_fits_leave_the_object_as_it_was(kind, error, monkeypatch):
    if kind == "decomposer":
        estimator, module, name = (
            GlexDecomposer(MODEL),
            "skglex._decomposition._decomposition",
            "index_components",
        )
    elif kind == "remover":
        estimator, module, name = FeatureRemover(MODEL, [0]), "skglex._remover", "average_out"
    else:
        estimator, module, name = (
            RandomPlantedForestRegressor(3, random_state=0),
            "skglex._utils.Execution",
            "run",
        )

    def fail(*args, **params):
        raise error

    target = Y if kind == "forest" else None
    method = "transform" if kind == "decomposer" else "predict"
    unfitted = snapshot(estimator)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{name}", fail)
        with pytest.raises(error):
            estimator.fit(X, target)
    assert snapshot(estimator) == unfitted
    expected = getattr(estimator.fit(X, target), method)(X)
    fitted = snapshot(estimator)
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.{name}", fail)
        with pytest.raises(error):
            estimator.fit(X[:100], None if target is None else target[:100])
    assert all(snapshot(estimator)[key] is value for key, value in fitted.items())
    assert np.array_equal(getattr(estimator, method)(X), expected)


def test_warnings_point_at_the_call():
    """Warnings name the line that calls fit."""
    with pytest.warns(UserWarning, match="is cloned and fitted again") as caught:
        GlexDecomposer(MODEL).fit(X, Y)
    with pytest.warns(UserWarning, match="all features") as more:
        FeatureRemover(MODEL, list(range(5))).fit(X)
    with pytest.warns(UserWarning, match="has no effect") as others:
        GlexDecomposer(MODEL).fit(X, verbose=True)
    assert {record.filename for record in [*caught, *more, *others]} == {__file__}


INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from skglex import RandomPlantedForestRegressor
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
forest = RandomPlantedForestRegressor(2, random_state=0, n_jobs={n_jobs}).fit(X, X[:, 0])
expected = forest.predict(X)
before = set(vars(forest))
forest.set_params(n_estimators=100_000)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    forest.fit(X, X[:, 0])
except KeyboardInterrupt:
    same = np.array_equal(forest.predict(X), expected) and set(vars(forest)) == before
    forest.set_params(n_estimators=2).fit(X, X[:, 0])  # and it goes on working
    sys.exit(0 if same and np.array_equal(forest.predict(X), expected) else 3)
sys.exit(4)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(n_jobs):
    code = INTERRUPTED.format(n_jobs=n_jobs)
    # Background jobs of a shell, and their children, ignore SIGINT.
    run = subprocess.run(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n" + code,
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert run.returncode == 0, (run.returncode, run.stderr)
