"""Simulate the data of the paper's experiments, whose components are known."""

import numpy as np
from numpy.random import RandomState
from sklearn.utils import check_random_state


def make_motivating(
    n_samples: int = 10_000,
    *,
    correlation: float = 0.3,
    noise: float = 1.0,
    random_state: int | RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Simulate the paper's motivating example: two correlated features and their product.

    .. math:: y = x_1 + x_2 + 2 x_1 x_2 + \varepsilon, \qquad \varepsilon \sim N(0, \sigma^2),

    where :math:`x_1, x_2` are standard normal with correlation :math:`r`.

    Parameters
    ----------
    n_samples : int, default=10_000
        The number of rows.
    correlation : float, default=0.3
        The correlation :math:`r`, in [-1, 1].
    noise : float, default=1.0
        The standard deviation :math:`\sigma` of the noise.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across calls.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The features ``x1``, ``x2``.
    y : ndarray of shape (n_samples,)
        The target.

    Notes
    -----
    The target without its noise has these components, if features are averaged out as in the paper [1]_:

    .. math::
        m_\emptyset = 2r, \quad m_1 = x_1 - 2r, \quad m_2 = x_2 - 2r, \quad m_{12} = 2 x_1 x_2 + 2r.

    The SHAP value of the first feature is :math:`\phi_1 = m_1 + m_{12} / 2 = x_1 + x_1 x_2 - r`. With
    :math:`r = 0.3`, this value is zero at (1, -0.7), since the main effect 0.4 and half the interaction, -0.4,
    cancel.

    References
    ----------
    .. [1] Hiabu, M., Meyer, J. T. and Wright, M. N. (2023). Unifying local and global model explanations by
       functional decomposition of low dimensional structures. AISTATS.

    Examples
    --------
    >>> from skglex.datasets import make_motivating
    >>> X, y = make_motivating(100, noise=0, random_state=0)
    >>> r, (x1, x2) = 0.3, X.T
    >>> components = [2 * r, x1 - 2 * r, x2 - 2 * r, 2 * x1 * x2 + 2 * r]
    >>> bool(abs(sum(components) - y).max() < 1e-12)
    True
    """
    if not -1 <= correlation <= 1:
        raise ValueError(f"correlation must lie in [-1, 1], but got {correlation!r}.")
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, 2))
    X[:, 1] = correlation * X[:, 0] + np.sqrt(1 - correlation**2) * X[:, 1]
    return X, _sum_and_product(X) + rng.normal(scale=noise, size=n_samples)


def make_importance(
    n_samples: int = 10_000, *, noise: float = 1.0, random_state: int | RandomState | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Simulate the paper's importance example: main effects, interactions, or both.

    .. math:: y = x_1 + x_3 + x_2 x_3 - 2 x_2 x_3 x_4 + \varepsilon, \qquad \varepsilon \sim N(0, \sigma^2),

    where the features are independent standard normal variables.

    Parameters
    ----------
    n_samples : int, default=10_000
        The number of rows.
    noise : float, default=1.0
        The standard deviation :math:`\sigma` of the noise.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across calls.

    Returns
    -------
    X : ndarray of shape (n_samples, 4)
        The features ``x1``, ``x2``, ``x3``, ``x4``.
    y : ndarray of shape (n_samples,)
        The target.

    Notes
    -----
    The terms of the sum are the components, since the features are independent and centred:
    :math:`m_1 = x_1`, :math:`m_3 = x_3`, :math:`m_{23} = x_2 x_3` and :math:`m_{234} = -2 x_2 x_3 x_4`. All
    other components are zero. So ``x1`` has only a main effect, ``x2`` and ``x4`` have only interactions, and ``x3``
    has both [1]_.

    References
    ----------
    .. [1] Hiabu, M., Meyer, J. T. and Wright, M. N. (2023). Unifying local and global model explanations by
       functional decomposition of low dimensional structures. AISTATS.

    Examples
    --------
    >>> from skglex.datasets import make_importance
    >>> X, y = make_importance(100, random_state=0)
    >>> X.shape, y.shape
    ((100, 4), (100,))
    """
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, 4))
    x1, x2, x3, x4 = X.T
    return X, x1 + x3 + x2 * x3 - 2 * x2 * x3 * x4 + rng.normal(scale=noise, size=n_samples)


def make_salary(
    n_samples: int = 10_000, *, hours_sd: float = 1.0, random_state: int | RandomState | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Simulate the paper's salaries: a direct effect of sex, and an effect through the hours worked.

    .. math:: \text{hours} = 30 + 10\,\text{sex} + N(0, \tau^2), \qquad
              \text{salary} = 20\,\text{sex} + \text{hours} + N(0, 1),

    where sex is 0 (female) or 1 (male), each with probability one half.

    Parameters
    ----------
    n_samples : int, default=10_000
        The number of rows.
    hours_sd : float, default=1.0
        The standard deviation :math:`\tau` of the hours within a sex. With the value 1 of the paper, the hours
        of the two groups do not overlap, so the data cannot separate the two effects. From about 3 on, they
        overlap.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across calls.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        The features ``sex``, ``hours``.
    y : ndarray of shape (n_samples,)
        The salary.

    Notes
    -----
    The components of the noise-free salary are :math:`m_\emptyset = 45`,
    :math:`m_\text{sex} = 20\,\text{sex} - 10` and :math:`m_\text{hours} = \text{hours} - 35`. Men earn 30
    more than women. Without the direct effect of sex the difference is 10, the effect through the hours [1]_.

    References
    ----------
    .. [1] Hiabu, M., Meyer, J. T. and Wright, M. N. (2023). Unifying local and global model explanations by
       functional decomposition of low dimensional structures. AISTATS.

    Examples
    --------
    >>> from skglex.datasets import make_salary
    >>> X, y = make_salary(random_state=0)
    >>> men = X[:, 0] == 1
    >>> float(round(y[men].mean() - y[~men].mean()))
    30.0
    """
    rng = check_random_state(random_state)
    sex = rng.binomial(1, 0.5, size=n_samples).astype(np.float64)
    hours = 30 + 10 * sex + rng.normal(scale=hours_sd, size=n_samples)
    return np.column_stack([sex, hours]), 20 * sex + hours + rng.standard_normal(n_samples)


def make_runtime(
    n_samples: int = 10_000,
    n_features: int = 8,
    *,
    noise: float = 1.0,
    random_state: int | RandomState | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Simulate the paper's run-time experiment: two features that matter among many.

    .. math:: y = x_1 + x_2 + 2 x_1 x_2 + \varepsilon, \qquad \varepsilon \sim N(0, \sigma^2),

    where the features are independent standard normal variables.

    Parameters
    ----------
    n_samples : int, default=10_000
        The number of rows.
    n_features : int, default=8
        The number of columns, at least 2.
    noise : float, default=1.0
        The standard deviation :math:`\sigma` of the noise.
    random_state : int, RandomState instance or None, default=None
        Pass an int for reproducible output across calls.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The features ``x1``, ``x2``, and so on.
    y : ndarray of shape (n_samples,)
        The target.

    Notes
    -----
    The terms of the sum are the components: :math:`m_1 = x_1`, :math:`m_2 = x_2` and
    :math:`m_{12} = 2 x_1 x_2` [1]_.

    References
    ----------
    .. [1] Hiabu, M., Meyer, J. T. and Wright, M. N. (2023). Unifying local and global model explanations by
       functional decomposition of low dimensional structures. AISTATS.

    Examples
    --------
    >>> from skglex.datasets import make_runtime
    >>> X, y = make_runtime(100, 5, random_state=0)
    >>> X.shape, y.shape
    ((100, 5), (100,))
    """
    if n_features < 2:
        raise ValueError(f"n_features must be at least 2, but got {n_features!r}.")
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    return X, _sum_and_product(X) + rng.normal(scale=noise, size=n_samples)


def _sum_and_product(X: np.ndarray) -> np.ndarray:
    """Return x1 + x2 + 2 * x1 * x2."""
    return np.asarray(X[:, 0] + X[:, 1] + 2 * X[:, 0] * X[:, 1])
