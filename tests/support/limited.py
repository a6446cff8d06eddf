"""Run one method under a hard limit of memory; started by tests/utils/test_memory.py.

Arguments: the method, rows, MiB of working memory, MiB that may be allocated beyond the result (0: print the peak).
"""

import resource
import sys
import warnings
from pathlib import Path

import numpy as np
import sklearn
from xgboost import XGBRegressor

from skglex import FeatureRemover, GlexDecomposer

method, n_rows, working_memory, allowed = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n_rows, 10))
small = X[:2000]
model = XGBRegressor(n_estimators=200, max_depth=6, n_jobs=1).fit(
    small, small[:, 0] * small[:, 1] + small[:, 2]
)
weighting = "path_dependent" if "path" in sys.argv[1] else "empirical"
warnings.simplefilter("ignore")  # Components without a table warn.


def work(X):
    with sklearn.config_context(working_memory=working_memory):
        if method.startswith("remove"):
            return FeatureRemover(model, [0]).fit(X).predict(X)
        decomposer = GlexDecomposer(model, max_interaction=2, weighting=weighting)
        if method == "fit":
            return decomposer.fit(X).component_importances_
        return getattr(decomposer.fit(X[:500]), method.removesuffix("_path"))(X)


def size():
    """Return the address space, and the peak of resident memory, in bytes."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmSize"].split()[0]) << 10, int(status["VmHWM"].split()[0]) << 10


for rows in (small[:1], small):  # Compile the kernels, and start all threads.
    work(rows)
before, resident = size()
width = {"transform": 46 + 10, "shap": 10}.get(method.split("_")[0], 1)
width = 2 * 100 if "interaction" in method else width
if allowed:
    limit = before + 8 * width * n_rows + (allowed << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
out = work(X)
assert np.isfinite(out).all()
print(out.nbytes >> 20, (size()[1] - resident) >> 20)
