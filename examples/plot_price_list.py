"""
A price list from a boosted model
=================================

Insurers price with tables: a base price, times a factor for the age of the driver, times a factor for the power of the
car. We train a boosted model on made claims with exposure, keep a dozen components, smooth and round them, and write
them as *relativities* to a workbook of Excel. The table is the model: it predicts the same.
"""

# %%
# Made claims
# -----------
# 60,000 policies, each in force for a part of a year. Young drivers of powerful cars have more claims than the product
# of both effects, so the true frequency has an interaction.

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from openpyxl import load_workbook
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from skglex import ComponentModel

REGIONS = ["city", "coast", "country", "mountains"]
rng = np.random.default_rng(0)
n = 60_000
X = pd.DataFrame(
    {
        "driver_age": rng.integers(18, 91, n).astype(float),
        "power": rng.gamma(8, 12, n).round(),
        "car_age": rng.integers(0, 21, n).astype(float),
        "bonus": rng.integers(0, 11, n).astype(float),
        "region": pd.Categorical(rng.choice(REGIONS, n, p=[0.4, 0.2, 0.3, 0.1])),
    }
)
exposure = rng.uniform(0.1, 1.0, n)
young, strong = np.exp(-(X["driver_age"] - 18) / 8), np.clip((X["power"] - 90) / 100, 0, 1)
log_frequency = (
    -2.3 + 0.9 * young + 0.4 * strong + 1.2 * young * strong + 0.2 * np.cos(X["driver_age"] / 14)
    - 0.09 * X["bonus"] + 0.015 * X["car_age"] + 0.35 * (X["region"] == "city") - 0.2 * (X["region"] == "country")
)  # fmt: skip
claims = rng.poisson(exposure * np.exp(log_frequency))
print(f"{claims.sum():,} claims in {exposure.sum():,.0f} years")

# %%
# The model
# ---------
# The target is the frequency, claims per year, and the exposure is the weight of a row: this is the Poisson model with
# the logarithm of the exposure as an offset. The weight counts in the background, too, over which features are
# averaged.

train, test = train_test_split(np.arange(n), random_state=0)
frequency = claims / exposure
booster = XGBRegressor(
    objective="count:poisson",
    n_estimators=150,
    max_depth=3,
    learning_rate=0.08,
    enable_categorical=True,
    n_jobs=2,
)
booster.fit(X.iloc[train], frequency[train], sample_weight=exposure[train])
tariff = ComponentModel(booster, n_terms=12).fit(X.iloc[train], sample_weight=exposure[train])

# %%
# Edits
# -----
# A tariff should have no jumps that are noise, and a better bonus class must never cost more. Each edit returns a new
# model.

for term in ("driver_age", "power", "car_age"):
    tariff = tariff.smooth(term, strength=4.0)
# Rounding could break the order again, so it comes first.
tariff = tariff.round_to(step=0.005).monotonize("bonus", increasing=False)
print("bonus:", tariff.monotonicity("bonus", increasing=False).status)


def skill(prediction):
    """Return the share of the deviance of the test rows that is explained."""
    weight, observed = exposure[test], frequency[test]
    constant = np.full(len(test), np.average(frequency[train], weights=exposure[train]))
    deviances = [mean_poisson_deviance(observed, p, sample_weight=weight) for p in (prediction, constant)]
    return 1 - deviances[0] / deviances[1]


for name, model in (("boosted model", booster), ("price list", tariff)):
    print(f"{name:<14} {skill(model.predict(X.iloc[test])):.4f}")

# %%
# Relativities
# ------------
# Behind a logarithm the tables multiply. Each has the share of the exposure, so that one sees what a factor is worth.

tables = tariff.to_tables(scale="relativities")
print(f"base frequency: {tables['(intercept)']['relativity'].item():.4f}")
print(tables["region"].to_string(index=False))

figure, axes = plt.subplots(1, 2, figsize=(6.2, 2.8), layout="constrained")
for ax, name in zip(axes, ["driver_age", "power"]):
    component = tariff.components_[name]
    low, high = X[name].min(), X[name].max()
    inside = (component.edges[0] > low) & (component.edges[0] < high)
    first = int(np.argmax(inside))
    values = np.exp(component.values[first : first + inside.sum() + 1])
    ax.stairs(values, [low, *component.edges[0][inside], high], baseline=None, linewidth=2)
    ax.axhline(1, color="grey", linewidth=0.8)
    ax.set(xlabel=name, ylabel="relativity")
figure.show()

# %%
# The workbook
# ------------
# `~ComponentModel.save_excel` writes a sheet for each component. To show that nothing is lost, we price one policy with
# the cells of the workbook alone.

path = Path(tempfile.mkdtemp()) / "prices.xlsx"
tariff.save_excel(path, scale="relativities")
book = load_workbook(path)
print(book.sheetnames)


def factor(sheet, policy):
    """Return the relativity of a policy in one sheet."""
    rows = [[cell.value for cell in row] for row in sheet.iter_rows()]

    def matches(bounds, title):
        value = policy[title.removesuffix(" from")]
        if not title.endswith(" from"):
            return bounds[0] == value
        low, high = (np.nan if isinstance(b, str) else b for b in bounds)
        return (low is None or low <= value) and (high is None or value < high) and low == low

    if rows[0][1] is None:  # A pair: headers of columns, headers of rows, and the matrix.
        title = next(cell for cell in rows[1] if cell is not None)
        height = 2 if title.endswith(" from") else 1
        width = 2 if rows[1 + height][0].endswith(" from") else 1
        column = next(
            j for j in range(width, len(rows[1])) if matches([r[j] for r in rows[1 : 1 + height]], title)
        )
        row = next(r for r in rows[2 + height :] if matches(r[:width], rows[1 + height][0]))
        return row[column]
    width = 2 if rows[0][0].endswith(" from") else 1
    return next(row for row in rows[1:] if matches(row[:width], rows[0][0]))[width]


policy = {"driver_age": 21.0, "power": 150.0, "car_age": 3.0, "bonus": 2.0, "region": "city"}
base = next(row[1].value for row in book["Model"].iter_rows() if row[0].value == "base value")
price = base * np.prod([factor(sheet, policy) for sheet in book if sheet.title != "Model"])
row = pd.DataFrame([policy]).astype({"region": X["region"].dtype})
assert np.isclose(price, tariff.predict(row)[0], rtol=1e-9)
print(f"claims per year: {price:.4f} from the workbook, {tariff.predict(row)[0]:.4f} from the model")
