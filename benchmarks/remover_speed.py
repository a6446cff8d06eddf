"""Debiased predictions against the booster's own, in one run: ``python benchmarks/remover_speed.py``.

500 trees of depth 6 on 10 standard-normal features, 100,000 rows, as many threads on both sides.
"""

import argparse
import time

import numpy as np
import xgboost as xgb

from skglex import FeatureRemover


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()

    rng = np.random.default_rng(0)
    background = rng.normal(size=(20_000, 10)).astype(np.float32)
    target = background[:, 0] * background[:, 1] + background[:, 2] + rng.normal(size=20_000)
    model = xgb.XGBRegressor(n_estimators=500, max_depth=6, learning_rate=0.1, n_jobs=options.threads)
    booster = model.fit(background, target).get_booster()
    booster.set_param({"nthread": options.threads})
    rows = rng.normal(size=(100_000, 10)).astype(np.float32)
    print(
        f"XGBoost {xgb.__version__}, {options.threads} threads, 100,000 rows; time over the booster's own predict"
    )

    for features in ([0], [0, 1, 2]):
        remover = FeatureRemover(booster, features, n_jobs=options.threads).fit(background)
        exported = remover.to_xgboost()
        exported.set_param({"nthread": options.threads})
        error = np.abs(
            exported.inplace_predict(rows[:5000], predict_type="margin") - remover.margin(rows[:5000])
        )
        ratios = {"predict": [], "exported booster": []}
        for _ in range(options.repeats):
            own = seconds(lambda: booster.inplace_predict(rows))
            ratios["predict"].append(seconds(lambda r=remover: r.predict(rows)) / own)
            ratios["exported booster"].append(seconds(lambda e=exported: e.inplace_predict(rows)) / own)
        print(
            f"{len(features)} of 10 features removed; the exported booster is off by at most {error.max():.1e}"
        )
        print(f"  {len(exported.get_dump())} trees instead of {len(booster.get_dump())}")
        for name, values in ratios.items():
            print(f"  {name:20s} {np.median(values):5.2f} ({min(values):.2f} .. {max(values):.2f})")


if __name__ == "__main__":
    main()
