"""Components, SHAP values and all orders against XGBoost's own contributions, in one run.

500 trees of depth 6 on 10 standard-normal features, as many threads on both sides. Prints ratios, with the spread
over repeats, and the memory beyond input and output: ``python benchmarks/decomposer_speed.py [--threads 2]``.
"""

import argparse
import resource
import time

import numpy as np
import xgboost as xgb

from skglex import GlexDecomposer


def seconds(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    n_jobs = options.threads

    rng = np.random.default_rng(0)
    background = rng.normal(size=(20_000, 10)).astype(np.float32)
    target = background[:, 0] * background[:, 1] + background[:, 2] + rng.normal(size=20_000)
    model = xgb.XGBRegressor(n_estimators=500, max_depth=6, learning_rate=0.1, n_jobs=n_jobs)
    booster = model.fit(background, target).get_booster()
    rows = rng.normal(size=(options.rows, 10)).astype(np.float32)
    print(f"XGBoost {xgb.__version__}, {n_jobs} threads, {options.rows:,} rows")

    GlexDecomposer(booster, max_interaction=2).fit(background).shap_values(rows[:10])  # compile
    booster.predict(xgb.DMatrix(rows[:2]), pred_contribs=True)

    def components(weighting):
        dec = GlexDecomposer(booster, weighting=weighting, max_interaction=2, n_jobs=n_jobs)
        return dec.fit(background).transform(rows)

    def all_orders():
        dec = GlexDecomposer(booster, weighting="path_dependent", n_jobs=n_jobs)
        return dec.fit(background).transform(rows[:1000])

    shap = {
        weighting: GlexDecomposer(booster, weighting=weighting, max_interaction=1, n_jobs=n_jobs).fit(
            background
        )
        for weighting in ("path_dependent", "empirical")
    }
    before = peak_mb()
    ratios = {}
    for _ in range(options.repeats):
        # 2,000 rows are timed and scaled
        contributions = seconds(lambda: booster.predict(xgb.DMatrix(rows[:2000]), pred_contribs=True)) / 2000
        for weighting, dec in shap.items():
            for name, factor, function in (
                ("components to order 2, fit and transform", options.rows, lambda w=weighting: components(w)),
                ("shap_values", options.rows, lambda d=dec: d.shap_values(rows)),
            ):
                ratio = contributions * factor / seconds(function)
                ratios.setdefault(f"{name}, {weighting}", []).append(ratio)
        ratios.setdefault("all orders of 1,000 rows, against contributions of 10,000", []).append(
            contributions * 10_000 / seconds(all_orders)
        )
    for name, values in ratios.items():
        print(f"{name:62s} {np.median(values):7.1f} times faster ({min(values):.1f} .. {max(values):.1f})")
    output = 8 * 56 * options.rows / 2**20
    print(f"peak memory beyond input and output: {max(peak_mb() - before - output, 0):.0f} MB")


if __name__ == "__main__":
    main()
