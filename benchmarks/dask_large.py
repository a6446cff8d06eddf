"""Explain ten million rows through Dask, from Parquet to Parquet, with all of them as the background.

    python benchmarks/dask_large.py [--rows 10000000] [--workers 1 2]

Each worker has one thread and a memory limit of 2 GB. The CPU seconds of the workers show how evenly the work is
divided, even on a busy machine.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster
from xgboost import XGBRegressor

from skglex import FeatureRemover, GlexDecomposer

FEATURES = [f"x{i}" for i in range(10)]
PARTITION = 200_000


def make(n: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 10)).astype(np.float32), columns=FEATURES)


def peak() -> float:
    """Return the peak memory of the process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # ru_maxrss is in kB.


def run(source: Path, target: Path, model: XGBRegressor, n_workers: int) -> float:
    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GB",
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        rows = dd.read_parquet(source)
        warm = make(1000, 0)
        GlexDecomposer(model, max_interaction=2).fit(
            dd.from_pandas(warm, npartitions=n_workers)
        )  # This loads numba in the workers.
        before = client.run(time.process_time)
        times = [time.perf_counter()]
        dec = (
            GlexDecomposer(model, max_interaction=2, dtype=np.float32)
            .set_output(transform="pandas")
            .fit(rows)
        )
        times.append(time.perf_counter())
        dec.transform(rows).to_parquet(target / f"components-{n_workers}")
        times.append(time.perf_counter())
        dec.shap_values(rows).mean(axis=0).compute()
        times.append(time.perf_counter())
        FeatureRemover(model, ["x1"]).fit(rows).predict(rows).mean().compute()
        times.append(time.perf_counter())
        names = ["fit", "transform", "SHAP values", "FeatureRemover"]
        for name, seconds in zip(names, np.diff(times)):
            print(f"{n_workers} worker(s), {name:<16} {seconds:7.1f} s", flush=True)
        print(f"{n_workers} worker(s), all {times[-1] - times[0]:.1f} s", flush=True)
        busy = ", ".join(f"{after - before[k]:.0f}" for k, after in client.run(time.process_time).items())
        print(f"{n_workers} worker(s), seconds of CPU per worker: {busy}", flush=True)
        peaks = ", ".join(f"{gb:.2f}" for gb in client.run(peak).values())
        print(f"{n_workers} worker(s), peak memory per worker: {peaks} GB", flush=True)
        return times[-1] - times[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    args = parser.parse_args()
    train = make(20_000, 0)
    y = train["x0"] * train["x1"] + np.sin(2 * train["x2"]) + train["x3"] * train["x4"]
    model = XGBRegressor(n_estimators=args.trees, max_depth=6, n_jobs=1).fit(train, y)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "rows"
        source.mkdir()
        for i, start in enumerate(range(0, args.rows, PARTITION)):
            make(min(PARTITION, args.rows - start), i + 1).to_parquet(source / f"part-{i:04d}.parquet")
        times = {n: run(source, Path(folder), model, n) for n in args.workers}
    if {1, 2} <= set(times):
        print(f"two workers are {times[1] / times[2]:.2f} times as fast as one")


if __name__ == "__main__":
    main()
