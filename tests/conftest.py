"""Add the options of the test suite, and provide the fixtures that several files use."""

import pytest


def pytest_addoption(parser):
    parser.addoption(
        "--fuzz-cases",
        type=int,
        default=None,
        help="number of random models that each test of tests/test_fuzz.py looks at, drawn anew (default: few, fixed)",
    )


@pytest.fixture
def run_onnx():
    """Return a function that computes the outputs of an ONNX model, by name."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")

    def run(model, rows):
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return dict(zip([out.name for out in session.get_outputs()], session.run(None, {"X": rows})))

    return run


@pytest.fixture
def plt():
    """Provide pyplot without a screen; close all figures afterwards."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")


# tests/utils/test_memory.py starts this script with arguments.
collect_ignore = ["support/limited.py"]
