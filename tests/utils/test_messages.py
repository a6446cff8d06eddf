"""Warnings point at the user's code."""

import pytest

from skglex._utils import warn_user


@pytest.mark.parametrize("package", ["skglex._base", "sklearn.base", "joblib.memory", "functools"])
def test_packages_that_call_for_the_user_are_skipped(package):
    namespace = {"__name__": package, "warn_user": warn_user}
    exec("def call():\n    warn_user('few rows')", namespace)
    with pytest.warns(UserWarning, match="few rows") as warned:
        namespace["call"]()
    assert warned[0].filename == __file__
