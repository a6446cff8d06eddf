"""Provide the models of a test file, each fitted once."""

import warnings

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
    """Return a figure without a screen."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure = pyplot.figure()
    yield figure
    pyplot.close(figure)
