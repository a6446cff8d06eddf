"""Load or simulate the data sets of the paper: two real data sets, and its simulations."""

from skglex.datasets._base import load_adult, load_bike_sharing
from skglex.datasets._generators import make_importance, make_motivating, make_runtime, make_salary

__all__ = [
    "load_adult",
    "load_bike_sharing",
    "make_importance",
    "make_motivating",
    "make_runtime",
    "make_salary",
]
