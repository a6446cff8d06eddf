"""Describe whether a prediction is monotone in a feature, and where it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Violation:
    """Describe one edge of a feature across which a prediction goes the wrong way.

    Attributes
    ----------
    feature : str
    edge : float
        The prediction changes the wrong way where the feature passes from below the edge to the edge.
    size : float
        Largest change the wrong way, over all values of the other features, on the margin scale.
    share : float
        Share of the background that lies in one of the two bins beside the edge, with other features at which the
        prediction goes the wrong way.
    where : dict of str to object
        Where the change is largest, as a value of each other feature that matters there. A number has the interval
        ``(low, high)``, of which ``low`` is part. Otherwise the value is the category, or ``"other"`` for all without
        a bin. ``None`` stands for missing.
    output : object
        Label of the output, None for a single output.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import ComponentModel
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = ComponentModel(DecisionTreeRegressor().fit(X, [0, 1, 2, 1, 3, 3])).fit(X)
    >>> certificate = model.monotonicity("x0")
    >>> (violation,) = certificate.violations
    >>> round(violation.edge, 2), round(violation.size, 2), round(violation.share, 2), violation.where
    (2.5, 1.0, 0.33, {})
    """

    feature: str
    edge: float
    size: float
    share: float
    where: dict[str, Any] = field(compare=False)
    output: Any = None


@dataclass(frozen=True)
class Monotonicity:
    """Say whether a prediction is monotone in a feature, on the margin scale.

    Attributes
    ----------
    feature : str
    status : {"monotone", "not monotone", "undecided"}
    increasing : bool
        The direction that was checked. Without a direction, the one that holds, else the one with the smaller
        violations.
    prediction : str
        What was checked: the whole model, or the sum of which components.
    violations : tuple of Violation
        The edges where the prediction goes the wrong way, if it is not monotone.
    not_covered : str
        What could not be covered, if it is undecided; else empty.
    tolerance : float
        Bound on the rounding of the tables. A smaller change the wrong way is no violation.

    Examples
    --------
    >>> import numpy as np
    >>> from skglex import ComponentModel
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = ComponentModel(DecisionTreeRegressor().fit(X, [0, 1, 2, 1, 3, 3])).fit(X)
    >>> certificate = model.monotonicity("x0")
    >>> print(certificate)
    the whole model is not monotone (increasing) in 'x0': 1 edge(s), the largest change is 1 at 2.5
    (33.3% of the background)
    """

    feature: str
    status: str
    increasing: bool
    prediction: str
    violations: tuple[Violation, ...] = ()
    not_covered: str = ""
    tolerance: float = 0.0

    def __str__(self) -> str:
        direction = "increasing" if self.increasing else "decreasing"
        text = f"{self.prediction} is {self.status} ({direction}) in {self.feature!r}"
        if self.violations:
            worst = max(self.violations, key=lambda violation: violation.size)
            text += (
                f": {len(self.violations)} edge(s), the largest change is {worst.size:.3g} at {worst.edge:g} "
                f"({worst.share:.1%} of the background)"
            )
        return text + (f": {self.not_covered}" if self.not_covered else "")
