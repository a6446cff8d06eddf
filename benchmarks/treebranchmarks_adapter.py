"""Run skglex in TreeBranchMarks (github.com/ron-wettenstein/TreeBranchMarks), a public table of tree explainers.

`SkglexApproach` is the class that TreeBranchMarks asks for. Its maintainers can pass it to any of their tasks:

    from benchmarks.treebranchmarks_adapter import SkglexApproach
    Task(TaskType.BACKGROUND_SHAP, [SkglexApproach(), WoodelfApproach()])

``python -m benchmarks.treebranchmarks_adapter --out results`` compares skglex, shap and woodelf by depth on the data
sets of the group ``deep``. It writes ``results/skglex_deep.json`` in the form of TreeBranchMarks, and its HTML report.
Put a clone of TreeBranchMarks on the PYTHONPATH. Its version of April 2026 needs woodelf-explainer 0.3.0 to 0.3.8,
because later releases moved the modules that it imports. ``benchmarks/treebranchmarks/`` has results of a small run.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from treebranchmarks import (
    Approach,
    ApproachOutput,
    Dataset,
    EnsembleType,
    Experiment,
    Method,
    Mission,
    MissionConfig,
    ModelConfig,
    Task,
    TaskType,
)

from benchmarks._data import SOURCES

SKGLEX = Method("skglex", "skglex", "Exact decomposition of tree ensembles (skglex.GlexDecomposer).")

# Seconds in which all kernels are compiled, on a slow machine.
COMPILING = 300.0


class SkglexApproach(Approach):
    """Explain with `skglex.GlexDecomposer`.

    The time includes its fit, which reads the model and the background. What takes less than five minutes runs twice,
    and the shorter time counts: the first run may compile kernels. Interactions have the form that the approach of
    woodelf returns, a column per pair of features that the model has.
    """

    name = "skglex"
    method = SKGLEX
    description = "skglex.GlexDecomposer, fit included; interactions of the pairs that the model has"

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs

    def _explain(self, trained_model: Any, rows: Any, background: Any, pairs: bool) -> ApproachOutput:
        elapsed: list[float] = []
        try:
            while len(elapsed) < 2 and sum(elapsed) < COMPILING:
                start = time.perf_counter()
                self._call(trained_model.raw_model, rows, background, pairs)
                elapsed.append(time.perf_counter() - start)
        except MemoryError:
            return ApproachOutput(elapsed_s=0.0, memory_crash=True)
        return ApproachOutput(elapsed_s=min(elapsed))

    def _call(self, model: Any, rows: Any, background: Any, pairs: bool) -> Any:
        from skglex import GlexDecomposer
        from skglex.inspection import iter_shap_interactions

        # The fit with path-dependent weights uses its rows to check the additivity only.
        weighting = "path_dependent" if background is None else "empirical"
        decomposer = GlexDecomposer(model, weighting=weighting, n_jobs=self.n_jobs)
        decomposer.fit(rows[:100] if background is None else background)
        if pairs:
            return list(iter_shap_interactions(decomposer, rows))
        return decomposer.shap_values(rows)

    def path_dependent_shap(self, trained_model: Any, X_explain: Any, X_background: Any) -> ApproachOutput:
        return self._explain(trained_model, X_explain, None, False)

    def path_dependent_interactions(
        self, trained_model: Any, X_explain: Any, X_background: Any
    ) -> ApproachOutput:
        return self._explain(trained_model, X_explain, None, True)

    def background_shap(self, trained_model: Any, X_explain: Any, X_background: Any) -> ApproachOutput:
        return self._explain(trained_model, X_explain, X_background, False)

    def background_shap_interactions(
        self, trained_model: Any, X_explain: Any, X_background: Any
    ) -> ApproachOutput:
        return self._explain(trained_model, X_explain, X_background, True)


class DrawnDataset(Dataset):
    """Offer a data set of the benchmarks to TreeBranchMarks."""

    def __init__(self, source: str, rows: int, features: int, cache_root: Path) -> None:
        self.name = f"skglex_{source}"
        self.source, self.rows, self.features = source, rows, features
        self.use_cache = False
        self.cache_root = cache_root

    def download(self) -> None:
        pass

    def preprocess(self, raw_dir: Path) -> tuple[Any, Any]:
        X, y = SOURCES[self.source](self.rows, self.features, 0)
        columns = [f"x{j}" for j in range(X.shape[1])]
        return pd.DataFrame(X.astype(np.float64), columns=columns), pd.Series(y, name="target")

    def dump_details(self) -> dict[str, Any]:
        return {"name": self.name, "n_samples": self.rows, "n_features": self.features}


def missions(chosen: argparse.Namespace, cache: Path) -> list[Mission]:
    """Return one mission per kind of work, data set and number of rows; the depth is swept."""
    from treebranchmarks.methods.shap_method import SHAPApproach
    from treebranchmarks.methods.woodelf_explainer_method import WoodelfApproach
    from treebranchmarks.models.lightgbm_model import LightGBMWrapper

    approaches = [SkglexApproach(), SHAPApproach(), WoodelfApproach()]
    out = []
    for source, features in (
        ("mixed", 397),
        ("continuous", 28),
        ("counts", 121),
        ("bike", 13),
        ("adult", 14),
    ):
        if source not in chosen.data:
            continue
        dataset = DrawnDataset(source, chosen.train, features, cache)
        wrappers = {
            ModelConfig(
                EnsembleType.LIGHTGBM,
                {"n_estimators": chosen.trees, "max_depth": depth, "num_leaves": chosen.leaves, "n_jobs": 1},
            ): LightGBMWrapper("regression", use_cache=False)
            for depth in chosen.depths
        }
        for kind in TaskType:
            interactions = "interactions" in kind.value
            config = MissionConfig(
                dataset,
                wrappers,
                [Task(kind, approaches, cache_root=cache)],
                n_values=[max(1, chosen.rows // 10) if interactions else chosen.rows],
                m_values=[chosen.background if "background" in kind.value else 0],
                name=f"{source}: {kind.display_name} (sweep D)",
                cache_root=cache,
            )
            out.append(Mission(config))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--depths", type=int, nargs="+", default=[6, 9, 12, 15, 18, 21])
    parser.add_argument("--data", nargs="+", default=["mixed", "continuous", "counts", "bike", "adult"])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--leaves", type=int, default=2_024)
    parser.add_argument("--rows", type=int, default=5_000, help="rows to explain; interactions: a tenth")
    parser.add_argument("--background", type=int, default=50_000)
    parser.add_argument("--train", type=int, default=100_000)
    parser.add_argument("--out", type=Path, default=Path("results"))
    chosen = parser.parse_args()
    experiment = Experiment(
        "skglex_deep", missions(chosen, chosen.out / "cache"), results_dir=chosen.out, force_rerun=True
    )
    experiment.run()
    experiment.generate_html()


if __name__ == "__main__":
    main()
