"""Make all figures and tables of the paper: ``python -m examples.paper``.

Run it in the root of the repository. It writes ``docs/method/paper.rst`` and its figures, in about five minutes on two
cores. ``--quick`` uses fewer rows, seeds and sizes, to check that everything runs.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("agg")

from examples.paper import bike_sharing, importance, motivating, removal, run_time
from examples.paper.report import Report
from skglex.exceptions import StreamedComponentsWarning

INTRODUCTION = """
The figures and tables of the paper [1]_, main part and appendix, with `GlexDecomposer`, `FeatureRemover` and
`RandomPlantedForestRegressor`. One command makes this page and its figures anew::

    python -m examples.paper

Settings are those of the paper: XGBoost with a learning rate of 0.1, depth 4 (adult: 5) and 20 trees (salaries:
50); planted forests of 50 families with 30 splits (motivating example: 70 splits, order 2). The paper has XGBoost
with path-dependent weights; here are empirical ones, too. A planted forest has no path-dependent weights.

We repeat each experiment over several seeds, which draw the data or the split, and give mean and standard deviation.
The paper has a single run. We call it in agreement if it lies within two standard deviations of our mean.
"""

REFERENCES = """
.. [1] M. Hiabu, J. T. Meyer and M. N. Wright (2023). Unifying local and global model explanations by
   functional decomposition of low dimensional structures. AISTATS 2023, `PMLR 206:7040-7060
   <https://proceedings.mlr.press/v206/hiabu23a.html>`_.
"""


def main() -> None:
    # Some components of higher order have too fine grids for tables, which only makes them slower.
    warnings.simplefilter("ignore", StreamedComponentsWarning)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--output", type=Path, default=Path("docs"), help="folder of the documentation (default: docs)"
    )
    parser.add_argument("--quick", action="store_true", help="fewer rows, seeds and sizes")
    args = parser.parse_args()
    start = time.perf_counter()
    report = Report(args.output)
    report.title("The paper, reproduced")
    report.text(INTRODUCTION)
    for section in [motivating, bike_sharing, importance, removal, run_time]:
        section.write(report, quick=args.quick)
        print(f"{section.__name__}: done after {time.perf_counter() - start:.0f} s", flush=True)
    report.title("References", level=1)
    report.text(REFERENCES)
    print(f"Report: {report.save()}")


if __name__ == "__main__":
    main()
