"""Run the recipe for Spark in docs/big_and_deep/spark.rst on a local Spark of two processes."""

import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from xgboost import XGBRegressor

from skglex import FeatureRemover, GlexDecomposer

pytest.importorskip("pyspark", reason="needs pyspark: pip install pyspark")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, and there is none"),
    # Spark itself warns, for example of sockets that it leaves open.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
        session = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("ERROR")
        yield session
        session.stop()


def test_map_in_pandas(spark, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", "c"])
    model = XGBRegressor(n_estimators=5, max_depth=3).fit(X, X["a"] * X["b"] + X["c"])
    X.assign(id=np.arange(500)).to_parquet(tmp_path / "rows.parquet")
    rows = spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(4)

    background = rows.select("a", "b", "c").toPandas()
    dec = GlexDecomposer(model).fit(background)
    fair = FeatureRemover(model, ["b"]).fit(background)
    shared = spark.sparkContext.broadcast((dec, fair))

    def explain(batches):
        dec, fair = shared.value
        for batch in batches:
            X = batch[["a", "b", "c"]]
            out = pd.DataFrame(dec.transform(X), columns=dec.get_feature_names_out())
            yield out.assign(id=batch["id"].to_numpy(), fair=fair.predict(X))

    columns = [*dec.get_feature_names_out(), "fair"]
    schema = ", ".join(f"`{name}` double" for name in columns) + ", id long"
    rows.mapInPandas(explain, schema).write.parquet(str(tmp_path / "out"))

    out = pd.read_parquet(tmp_path / "out").sort_values("id")
    # The background has the same rows in another order; sums of ones are exact, so the results are equal to the bit.
    one = GlexDecomposer(model).fit(X)
    np.testing.assert_array_equal(out[list(dec.get_feature_names_out())].to_numpy(), one.transform(X))
    # The order in which leaves are summed depends on the number of rows.
    np.testing.assert_allclose(
        out["fair"], FeatureRemover(model, ["b"]).fit(X).predict(X), rtol=0, atol=1e-12
    )
