"""
The explorer: two models that you can try in this page
======================================================

What would the model say if it were warmer, or if this person were older? ``skglex.report`` writes a page that answers
in the browser. The pages below are live: move the sliders. They need no Python and no network, and compute the model's
own numbers from its leaves.
"""

# %%
# Bike sharing: a regressor
# -------------------------
# The model predicts how many bikes are rented in an hour. In the view of single rows, set the hour to 8, and
# change between a working day and a day off.

# sphinx_gallery_thumbnail_path = 'images/explorer.png'
from xgboost import XGBClassifier, XGBRegressor

from skglex import report
from skglex.datasets import load_adult, load_bike_sharing

X, y = load_bike_sharing(return_X_y=True)
X = X[["hr", "temp", "workingday", "hum", "windspeed", "yr"]]
rides = XGBRegressor(n_estimators=50, max_depth=4, min_child_weight=20).fit(X, y)
options = {"max_rows": 200, "background_rows": 100, "path": None}
report(rides, X, y, title="Bike sharing", units="rides per hour", **options)

# %%
# Adult census data: a classifier
# -------------------------------
# The model predicts whether a person has an income above 50,000 dollars. The report compares the sexes, and shows what
# the model would say without the column of sex.

X, y = load_adult(return_X_y=True)
X = X[["age", "education-num", "hours-per-week", "capital-gain", "marital-status", "sex"]]
income = XGBClassifier(n_estimators=50, max_depth=3, enable_categorical=True).fit(X, y == ">50K")
report(income, X, y == ">50K", groups="sex", remove="sex", title="High incomes", **options)

# %%
# ``report(model, X, path="report.html")`` writes such a page for your model: :doc:`/explain/report`.
