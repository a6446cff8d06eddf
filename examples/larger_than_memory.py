"""
Larger than memory
==================

This script reads a Parquet file and writes a Parquet file of components. Neither is ever in memory as a whole: Dask
reads, explains and writes one part at a time. The background is the whole input, not a sample.

The script prints the size of the data, and by how much the memory of the process grew. ``--rows`` sets the size. Ten
million rows of ten features in float64 are 0.8 GB, and the 56 columns of output in float32 are 2.2 GB. With parts of
50,000 rows, the process grows by a fraction of that, also for a hundred million rows.
"""

# sphinx_gallery_thumbnail_path = "_static/larger_than_memory.svg"

import argparse
import resource
import sys
import tempfile
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from xgboost import XGBRegressor

from skglex import GlexDecomposer

FEATURES = [f"x{i}" for i in range(10)]
PART = 50_000


def make_rows(n_rows: int, seed: int) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n_rows, len(FEATURES))), columns=FEATURES)


def write_input(path: Path, n_rows: int) -> None:
    """Write one Parquet file in parts."""
    schema = pa.Schema.from_pandas(make_rows(1, 0))
    with pq.ParquetWriter(path, schema) as writer:
        for i, start in enumerate(range(0, n_rows, PART)):
            part = make_rows(min(PART, n_rows - start), i)
            writer.write_table(pa.Table.from_pandas(part, schema), row_group_size=PART)


def peak_memory() -> float:
    """Return the peak memory of this process in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=10_000_000)
    n_rows = parser.parse_args().rows

    train = make_rows(20_000, seed=12345)
    y = train["x0"] * train["x1"] + np.sin(2 * train["x2"]) + train["x3"]
    model = XGBRegressor(n_estimators=50, max_depth=4).fit(train, y)

    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="synchronous"):
        source, target = Path(folder) / "rows.parquet", Path(folder) / "components"
        write_input(source, n_rows)

        dec = GlexDecomposer(model, dtype=np.float32).set_output(transform="pandas")
        # Load all code and process one part, so that only the growth beyond this is measured.
        dec.fit(train[:1000]).transform(train)
        before = peak_memory()

        # Read one part of the file at a time. Without a cluster, nothing is kept between passes over the file.
        rows = dd.read_parquet(source, split_row_groups=1)
        dec.fit(rows)
        dec.transform(rows).to_parquet(target)
        grown = peak_memory() - before

        size_in, size_out = 8e-6 * n_rows * len(FEATURES), 4e-6 * n_rows * dec.n_components_
        print(
            f"{n_rows:,} rows: {size_in:,.0f} MB in, {size_out:,.0f} MB out; the process grew by {grown:,.0f} MB"
        )

        # The components in the file add up to the model's own prediction.
        parts = sorted(target.glob("*.parquet"))
        first = pd.read_parquet(parts[0])
        prediction = model.predict(make_rows(len(first), 0))
        assert np.allclose(first.sum(axis=1) + dec.intercept_, prediction, atol=1e-4)
        assert sum(pq.ParquetFile(part).metadata.num_rows for part in parts) == n_rows


if __name__ == "__main__":
    main()
