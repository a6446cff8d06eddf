"""
Random planted forest
=====================

A random planted forest [1]_ is a sum of leaves that depend on at most ``max_interaction`` features each. So its
decomposition has no components of higher order, and a picture of the components shows the whole model. Here the
truth has two main effects and one interaction,

.. math:: y = x_0 + x_1 + 2 x_0 x_1 + \\varepsilon,

and two more features have no effect.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import randint, uniform
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, train_test_split

from skglex import GlexDecomposer, RandomPlantedForestRegressor
from skglex.plotting import ComponentDisplay

rng = np.random.default_rng(0)
X = rng.normal(size=(2000, 4))
y = X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1] + rng.normal(size=2000)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

# %%
# The order of the model
# ----------------------
# The test errors for several values of ``max_interaction`` show the order of the truth: order 1 is too low, and
# more than 2 is no better. The noise alone has the error 1.
models = {
    f"max_interaction={order}": RandomPlantedForestRegressor(max_interaction=order, random_state=0)
    for order in (1, 2, 3)
}
models["gradient boosting"] = HistGradientBoostingRegressor(random_state=0)
errors = {
    name: mean_squared_error(y_test, model.fit(X_train, y_train).predict(X_test))
    for name, model in models.items()
}
for name, error in errors.items():
    print(f"{name}: {error:.2f}")
figure, ax = plt.subplots(figsize=(6, 2.5), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color="#0072B2")
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.axvline(1, color="grey", linestyle="--", linewidth=1)
ax.invert_yaxis()
ax.margins(x=0.12)
ax.set_xlabel("mean squared error of the test rows (dashed: the noise alone)")
ax.spines[["top", "right"]].set_visible(False)

# %%
# Tuning
# ------
# Planted forests are ordinary estimators, so scikit-learn's searches can tune them: ``GridSearchCV`` over a few
# values of the two most important parameters, or ``RandomizedSearchCV`` over the four that matter.
grid_search = GridSearchCV(
    RandomPlantedForestRegressor(n_estimators=20, random_state=0),
    {"max_interaction": [1, 2, 3], "n_splits": [30, 100]},
    cv=3,
    scoring="neg_mean_squared_error",
).fit(X_train, y_train)
print("grid:", grid_search.best_params_)
search = RandomizedSearchCV(
    RandomPlantedForestRegressor(n_estimators=30, random_state=0),
    {
        "max_interaction": [1, 2, 3],
        "n_splits": randint(20, 150),
        "t_try": uniform(0.2, 0.8),
        "split_try": randint(3, 20),
    },
    n_iter=15,
    cv=3,
    scoring="neg_mean_squared_error",
    random_state=0,
).fit(X_train, y_train)
print("random:", search.best_params_)
print(f"test error: {mean_squared_error(y_test, search.predict(X_test)):.2f}")

# %%
# Components
# ----------
# The training rows are the background, over which the other features are averaged out.
forest = RandomPlantedForestRegressor(max_interaction=2, random_state=0).fit(X_train, y_train)
decomposer = GlexDecomposer(forest).fit(X_train)
for component in decomposer.strongest_components(4):
    print(f"{component.name:6} {component.importance:.2f}")

# %%
# Both main effects are the line x, and the interaction is 2 x0 x1, up to the error of the fit.
inside = X_train[(np.abs(X_train[:, :2]) < 2).all(axis=1)]
display = ComponentDisplay.from_decomposer(
    decomposer, ["x0", "x1", "x0:x1"], X=inside, subsample=0, target="y"
)
for ax in display.axes_[:2]:
    ax.plot([-2, 2], [-2, 2], "--", color="#D55E00", lw=1.5, zorder=4, label="truth")
display.ax_.legend(frameon=False, loc="upper left")
plt.show()

# %%
# .. [1] Hiabu, M., Mammen, E. and Meyer, J. T. (2020). Random planted forest: a directly interpretable tree
#    ensemble. https://arxiv.org/abs/2012.14563
