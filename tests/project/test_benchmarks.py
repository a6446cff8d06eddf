"""Test the logic of the benchmark suite, at tiny sizes."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as _main
from benchmarks import _run
from benchmarks._cases import CASES, by_name, select
from benchmarks._data import SOURCES, prepare
from benchmarks._profile import profile
from benchmarks._report import draw, table, verdicts
from benchmarks._run import Measured, Options, difference, measure
from benchmarks._types import Case, Contender, Recorded, Size, Skipped, times_faster

ROOT = Path(__file__).parents[2]
TINY = Size(rows=120, trees=5, depth=3, features=4, background=50, train=200)
ONCE = Options(repeats=1, budget=0.2, memory=False)
PEERS = ("skglex", "XGBoost", "shap", "np.empty", "the model", "brute")


@pytest.fixture(scope="module")
def data():
    return prepare(TINY, 1)


@pytest.mark.parametrize(
    "name",
    [
        "shap-path",
        "shap-empirical",
        "interactions-path",
        "order-2-remainder",
        "all-orders-R",
        "debiased",
        "paper-depth",
    ],
)
def test_results_agree(name, data):
    case = by_name(name)
    contenders = tuple(
        contender
        for contender in case.contenders
        if contender.label.startswith(PEERS) and contender.label != "shapiq"
    )
    found = measure(
        replace(case, contenders=contenders), replace(data, background=data.background[:40]), ONCE
    )
    assert [(out.label, out.reason or out.differs) for out in found if not out.seconds] == []


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("deep-mixed-values-path-dependent", "lightgbm"),
        ("deep-mixed-interactions-empirical", "lightgbm"),
        ("deep-xgboost-12-interactions-path-dependent", "xgboost"),
        ("deep-lightgbm-63-pairs", "lightgbm"),
        ("deep-forest-words-components", "random forest"),
    ],
)
def test_deep_results_agree(name, model):
    """The peers that are always installed agree with skglex, or say why they cannot do the work."""
    case = by_name(name)
    small = next(case.sizes()).capped(**_main.QUICK | case.quick | {"trees": 3, "rows": 20})
    assert small.model == model
    found = measure(case, prepare(small, 1), ONCE)
    lacking = [out for out in found if not out.seconds]
    assert not [out.differs for out in lacking if out.differs]
    assert all(out.reason.startswith("skipped: ") for out in lacking)
    assert [out.label for out in found if out.seconds][:1] == [case.contenders[0].label]


@pytest.mark.parametrize("source", sorted(SOURCES))
def test_data_are_drawn_from_a_seed(source):
    """Rows of one seed are always the same, and those of another seed have the same columns."""
    features = {"bike": 13, "adult": 14}.get(source, 25)
    X, y = SOURCES[source](200, features, 3)
    again, other = SOURCES[source](200, features, 3), SOURCES[source](200, features, 4)[0]
    assert X.shape == (200, features)
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert not np.array_equal(X, other, equal_nan=True)
    assert np.isnan(X).any() == (source == "mixed")
    assert np.isfinite(y).all()
    assert np.std(y) > 0


def test_the_contender_that_ends_the_process_is_named(tmp_path):
    """The others are measured in a new process, and what is too slow is told from what crashes."""
    note, calls = tmp_path / "note", []

    def measured(without):
        calls.append(dict(without))
        for label, age in (("crashes", 0), ("endless", 100)):
            if label not in without:
                note.write_text(label)
                os.utime(note, (time.time() - age,) * 2)
                raise BrokenProcessPool
        return [Measured(label, reason=reason) for label, reason in without.items()]

    found = _run.despite_crashes(measured, note, 50.0)
    assert len(calls) == 3
    assert [(out.label, out.reason) for out in found] == [
        ("crashes", "ends the process (memory or a fault)"),
        ("endless", "not ready within 50 s"),
    ]


def test_compiled_code_that_does_not_return_is_ended(tmp_path):
    """No signal reaches compiled code, so the process ends itself."""
    code = (
        "import ctypes, pathlib; from benchmarks._run import watched\n"
        f"with watched(pathlib.Path({str(tmp_path / 'note')!r}), 'endless', 0.2):\n"
        "    ctypes.PyDLL(None).sleep(60)\n"  # This holds the interpreter's lock, as a kernel does.
    )
    done = subprocess.run([sys.executable, "-c", code], timeout=50, cwd=ROOT)
    assert done.returncode == 1
    assert (tmp_path / "note").read_text() == "endless"


def test_target_of_every_size():
    """A sweep is judged at each of its depths against the peers that finish, and at no other size."""
    case = by_name("deep-bike-values-empirical")
    slow = [
        Measured(contender.label, rows=1, seconds=[1.0 if contender.label.startswith("skglex") else 2.0])
        for contender in case.contenders
    ]
    crashed = [replace(out, seconds=[]) if out.label == "woodelf" else out for out in slow]
    fast = [replace(out, seconds=[0.5]) if out.label == "woodelf" else out for out in slow]
    alone = [out if out.label.startswith("skglex") else replace(out, seconds=[]) for out in slow]
    for size in case.sizes():
        judged = [verdicts(case, size, results)[0][0] for results in (slow, crashed, fast, alone)]
        assert judged == [True, True, False, True]
    assert verdicts(case, replace(case.size, rows=7), slow) == []


def fake(label, result, **parameters):
    return Contender(label, lambda data: lambda n: result, by_rows=False, **parameters)


def missing(data):
    raise Skipped("not installed")


def broken(data):
    raise KeyError("x4")


def test_what_differs_is_not_timed(data):
    right = np.linspace(0, 1, 5)
    contenders = (
        fake("skglex", right, precision=np.float64),
        fake("rounded", right.astype(np.float32)),
        fake("wrong", right + 1e-3),
        fake("other shape", right[:4]),
        fake("not a number", right * np.nan),
        fake("unit", None, comparable=None),
        Contender("missing", missing),
        Contender("broken", broken),
    )
    case = Case(
        "fake", "fake", "Fake", TINY, contenders, (times_faster(1e9, "rounded"), times_faster(1, "wrong"))
    )
    found = measure(case, data, ONCE)
    assert [out.label for out in found if out.seconds] == ["skglex", "rounded", "unit"]
    text = table(case, TINY, found)
    assert "| wrong | differs: off by 0.001, values to 1 |" in text
    assert "| missing | skipped: not installed |" in text
    assert "| broken | fails: KeyError: 'x4' |" in text
    assert [met for met, _ in verdicts(case, TINY, found)] == [False, None]
    assert verdicts(case, replace(TINY, rows=1), found) == []


def test_no_result_to_compare_with(data):
    case = Case("fake", "fake", "Fake", TINY, (Contender("skglex", missing), fake("peer", np.ones(2))))
    assert not any(out.seconds for out in measure(case, data, ONCE))


def test_columns_that_are_missing_are_zero():
    assert difference({(0,): np.array([1.0]), (1,): np.array([2e-3])}, {(0,): np.array([1.0])}) == (2e-3, 1.0)


def test_extrapolation_keeps_the_fixed_cost(data, monkeypatch):
    """With 3 s and 1 ms per row, 100,000 rows exceed a budget of 2 s; their extrapolated time is 103 s."""
    monkeypatch.setattr(_run, "time_call", lambda call, n: (3 + n / 1000, 3 + n / 1000))
    contenders = tuple(Contender(label, lambda data: lambda n: np.zeros(n)) for label in ("skglex", "peer"))
    size = replace(TINY, rows=100_000)
    case = Case("fake", "fake", "Fake", size, contenders)
    found = measure(case, replace(data, size=size), replace(ONCE, budget=2.0))
    assert found[1].rows == 6400
    assert found[1].seconds == pytest.approx([103.0])
    assert "103 s, extrapolated from 6,400 rows" in table(case, size, found)


def test_limit(data):
    def endless(data):
        while True:
            pass

    case = Case("fake", "fake", "Fake", TINY, (fake("skglex", np.ones(2)), Contender("peer", endless)))
    for cpu in (False, True):
        out = measure(case, data, replace(ONCE, limit=0.3, cpu=cpu))[1]
        assert out.reason == "not ready within 0.3 s"


def test_peak_memory(data):
    def call(n):
        # So much is never taken from memory that the process has freed but still holds.
        return np.ones(200 * 2**20 // 8)

    case = Case("fake", "fake", "Fake", TINY, (Contender("allocates 200 MB", lambda data: call),))
    assert _run.peak_memory(case, data, "allocates 200 MB", 120) == pytest.approx(200, abs=20)


def test_recorded_times_are_marked():
    case = Case("fake", "fake", "Fake", TINY, (fake("a", 1),), recorded=(Recorded("R", 10.0, "a"),))
    text = table(case, TINY, [Measured("a", rows=120, seconds=[2.0], cpu=[4.0])])
    assert "| R | 10 CPU seconds of another machine | 2.5 times the CPU seconds of a |" in text


def test_picture(tmp_path):
    case = by_name("shap-rows")
    points = [
        (
            size,
            [Measured(contender.label, rows=10, seconds=[size.rows * 0.1]) for contender in case.contenders],
        )
        for size in case.sizes()
    ]
    lacking = [Measured(contender.label, reason="too slow") for contender in case.contenders]
    points[-1] = (points[-1][0], lacking)
    figure = draw([(case, points)] * 4, tmp_path / "sizes.png")
    assert (tmp_path / "sizes.png").stat().st_size > 10_000
    for axes in figure.axes:
        labels = axes.get_xticklabels()
        assert [label.get_text() for label in labels] == ["1", "10", "100", "1k", "10k", "100k"]
        boxes = [label.get_window_extent() for label in labels]
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_files(tmp_path, monkeypatch, capsys):
    def run(case, size, options):
        return [
            Measured(contender.label, rows=size.rows, seconds=[0.1], error=0.0)
            for contender in case.contenders
        ]

    monkeypatch.setattr(_main, "run", run)
    monkeypatch.setattr(
        "sys.argv", ["benchmarks", "shap", "paper-rows", "--rows", "7", "--out", str(tmp_path)]
    )
    _main.main()
    text = (tmp_path / "results.md").read_text()
    assert text.count("### ") == len(select(["shap"])) + 1
    assert "`shap-path`: rows 7, trees 500" in text
    assert "](paper.png)" in text
    assert (tmp_path / "paper.png").exists()
    assert len(json.loads((tmp_path / "results.json").read_text())["results"]) == len(select(["shap"])) + 5
    assert "written to" in capsys.readouterr().out


def test_profile(data):
    text = profile(by_name("shap-path"), replace(data))
    assert "| accumulate |" in text
    assert "| outside the kernels |" in text


def test_selection():
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert [case.name for case in select(["startup"])] == ["import", "first-use-warm", "first-use-cold"]
    with pytest.raises(SystemExit, match="no case matches 'sharp'"):
        select(["sharp"])
