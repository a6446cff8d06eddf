"""The code of the documentation runs, and prints what it says."""

import doctest
import re
from pathlib import Path

import pytest
import xgboost  # noqa: F401  its thread pool can only be limited once it is loaded
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@pytest.fixture(autouse=True)
def one_thread():
    """Small models train faster on one thread where several processes share the cores."""
    with threadpool_limits(1):
        yield


PAGES = sorted([*(ROOT / "docs").glob("*.rst"), *(ROOT / "docs" / "how_to").glob("*.rst")])


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_page(page):
    result = doctest.testfile(str(page), module_relative=False, optionflags=OPTIONS, encoding="utf-8")
    assert result.failed == 0
    assert result.attempted or page.stem != "user_guide"


def test_readme():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    prediction = names["model"].predict(names["X_test"])
    assert names["margin"].to_numpy() == pytest.approx(prediction, rel=1e-4, abs=1e-2)
