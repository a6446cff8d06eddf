r"""
Is this interaction real? Bands of components
=============================================

A model always finds some interaction. ``resample_components`` fits it again on resampled rows and shows which parts of
its components would be there with other data of the same kind, and which are noise.
"""

# %%
# A simulation with a known answer
# --------------------------------
# There are four independent standard normal features, and
#
# .. math:: y = x_1 + x_3 + x_2 x_3 - 2 x_2 x_3 x_4 + \varepsilon .
#
# So the pair :math:`x_2, x_3` interacts, and the pair :math:`x_1, x_2` does not. With 1,000 rows, the model finds
# components of both.

import pandas as pd
from xgboost import XGBRegressor

from skglex.datasets import make_importance
from skglex.inspection import resample_components
from skglex.plotting import ComponentDisplay, ImportanceDisplay

X, y = make_importance(n_samples=1000, random_state=0)
X = pd.DataFrame(X, columns=["x1", "x2", "x3", "x4"])
# So few rows are fitted faster by one thread than by several that wait for each other.
model = XGBRegressor(n_estimators=50, max_depth=3, learning_rate=0.1, n_jobs=1)

components = ["x1", "x2", ("x2", "x3"), ("x1", "x2")]
bands = resample_components(model, X, y, features=components, n_resamples=60, random_state=0)
print(bands)

# %%
# The curves
# ----------
# The band of :math:`x_1` is narrow and rises. That of :math:`x_2` contains zero almost everywhere: its main effect is
# noise. In the heat maps, cells whose interval contains zero are hatched. The corners of the real interaction are not,
# while the other interaction is hatched nearly everywhere.

display = ComponentDisplay.from_resamples(bands, n_cols=2, target="y")
display.figure_.savefig("bands.png", dpi=100)

# %%
# One answer for a whole component
# --------------------------------
# Among many intervals of 95 %, some miss zero by chance. All intervals of a simultaneous band together have this level.
# So there is evidence for a component if its simultaneous band excludes zero somewhere: for :math:`x_1` and for the
# interaction of :math:`x_2` and :math:`x_3`, but not for the other two.

for name in bands.components:
    table = bands.to_frame(name)
    outside = (table["simultaneous_low"] > 0) | (table["simultaneous_high"] < 0)
    print(f"{name}: {outside.mean():.0%} of the cells are not zero")

# %%
# Importances
# -----------
# The importance of a component is a mean of absolute values, so noise has an importance as well. Its interval does not
# contain zero, even where the component is nothing. Compare importances with each other, and ask the band whether a
# component is there.

display = ImportanceDisplay.from_resamples(bands, target="y")
display.figure_.savefig("bands_importance.png", dpi=100)
