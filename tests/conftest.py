"""Add the options of the test suite, and provide the fixtures that several files use."""

import os

# Small models train faster on one thread, above all where several processes share the cores. OpenMP reads this once.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest

# The core: what depends on the versions of other libraries, and one test of each part. It takes a minute or two.
CORE = (
    "TestContract::test_columns_add_up_to_the_margin",
    "TestContract::test_saved_models_read_the_same",
    "tests/export/test_store.py",
    "tests/input/",
    "tests/planted/test_base.py",
    "tests/plotting/",
    "tests/readers/test_catboost_categories.py",
    "tests/readers/test_lightgbm_containers.py",
    "tests/readers/test_xgboost_frames.py",
    "tests/test_decomposer",
    "tests/test_remover.py",
)


def pytest_addoption(parser):
    parser.addoption(
        "--fuzz-cases",
        type=int,
        default=None,
        help="number of random models that each test of tests/test_fuzz.py looks at, drawn anew (default: few, fixed)",
    )


def pytest_collection_modifyitems(items):
    for item in items:
        if any(part in item.nodeid for part in CORE):
            item.add_marker("core")


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
