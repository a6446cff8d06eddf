"""Read from axes what a display has drawn."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")


def stairs(ax):
    """Return values and borders of the step functions, without the histogram of the background."""
    patches = [p for p in ax.patches if isinstance(p, matplotlib.patches.StepPatch) and not p.get_fill()]
    return [(p.get_data().values, p.get_data().edges) for p in patches]


def bars(ax):
    return np.array([p.get_height() for p in ax.patches if isinstance(p, matplotlib.patches.Rectangle)])


def mesh(ax):
    (found,) = [c for c in ax.collections if isinstance(c, matplotlib.collections.QuadMesh)]
    return found
