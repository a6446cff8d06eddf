"""Provide the models of a test file, each fitted once."""

import warnings
from types import SimpleNamespace

import pytest


@pytest.fixture(scope="module")
def model_of(request):
    """Return a function that fits a model of the file's ``MODELS``, or returns it if it was fitted before."""
    made = {}

    def get(name):
        if name not in made:
            with warnings.catch_warnings():
                # Libraries warn of deprecated parameters.
                warnings.simplefilter("ignore")
                made[name] = request.module.MODELS[name]()
        return made[name]

    return get


@pytest.fixture(scope="module")
def drawing():
    """Provide a figure without a screen, and a set of what has been drawn in this file."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure = pyplot.figure()
    yield SimpleNamespace(figure=figure, seen=set())
    pyplot.close(figure)
