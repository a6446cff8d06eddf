"""Split work into fixed ranges, and run it in threads."""

import warnings

import numpy as np
import pytest

from skglex._utils import Execution, _execution, row_chunks, weight_chunks
from skglex.exceptions import SlowComputationWarning


def test_rows_in_eight_ranges_unless_these_get_short_or_long():
    assert row_chunks(0) == []
    assert row_chunks(1025) == [(0, 1024), (1024, 1025)]
    assert row_chunks(16_001) == [(i, min(i + 2001, 16_001)) for i in range(0, 16_001, 2001)]
    assert row_chunks(100_000)[:2] == [(0, 8192), (8192, 16_384)]


def test_costs_within_a_limit_or_of_one_item():
    assert weight_chunks(np.array([1, 1, 1, 5, 2, 2]), 3) == [(0, 3), (3, 4), (4, 5), (5, 6)]
    assert weight_chunks(np.array([]), 3) == []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_are_in_the_order_of_the_tasks(n_jobs, capsys, monkeypatch):
    monkeypatch.setattr(_execution, "_REDRAW", 0)
    tasks = [(i, 2) for i in range(3)]
    assert Execution(n_jobs, verbose=1).run(pow, tasks, label="squares") == [0, 1, 4]
    lines = capsys.readouterr().err.split("\r")[1:]
    assert [line.split("]")[2].split()[0] for line in lines] == ["33%", "67%", "100%"]
    assert lines[-1].count("#") == 30
    assert "\n" in lines[-1]


def test_progress_is_drawn_a_few_times_a_second(capsys, monkeypatch):
    execution, tasks = Execution(1, verbose=1), [(i, 2) for i in range(100)]
    execution.run(pow, tasks, label="quick")
    assert capsys.readouterr().err == ""
    clock = iter(np.arange(0, 100, 0.05))
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    execution.run(pow, tasks, label="squares")
    lines = capsys.readouterr().err.split("\r")[1:]
    assert len(lines) <= 26
    assert "100%" in lines[-1]
    assert lines[-1].endswith("\n")


def test_an_interrupt_in_a_kernel_stays_an_interrupt():
    """If an interrupt arrives in a kernel, numba raises a SystemError from it."""

    def interrupted():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    def broken():
        raise SystemError("another")

    with pytest.raises(KeyboardInterrupt):
        Execution().run(interrupted, [()])
    with pytest.raises(SystemError, match="another"):
        Execution().run(broken, [()])


def test_long_work_says_how_long(monkeypatch):
    clock = iter(range(0, 1000, 8))  # seconds; the first item takes 8
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    with pytest.warns(SlowComputationWarning, match="squares: this will take about 2 minutes in all"):
        Execution(1).run(pow, [(i, 2) for i in range(12)], label="squares")
    clock = iter(range(0, 1000, 6))
    with pytest.warns(SlowComputationWarning, match=r"about a minute in all. Fewer rows .* \(n_background\)"):
        Execution(1).run(pow, [(i, 2) for i in range(12)], label="SHAP values, deep leaves")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Execution(1).run(pow, [(i, 2) for i in range(6)], label="squares")  # 48 seconds
