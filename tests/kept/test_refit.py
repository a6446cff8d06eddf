"""Compare the weights of components with a general solver, for every loss."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, softmax

from skglex._kept import Problem, lasso_terms, refit_weights

RNG = np.random.default_rng(0)
N = 400


def problem(link, n_outputs=1, n_terms=4):
    columns = RNG.normal(size=(n_outputs, n_terms, N))
    columns[:, 1] = columns[:, 0] + 0.1 * columns[:, 1]
    fixed = 0.3 * RNG.normal(size=(n_outputs, N))
    margin = 0.5 + fixed + np.einsum("ocr,c->or", columns, [0.8, 0.0, -0.6, 0.0][:n_terms])
    name = link.split()[0]
    if name == "identity":
        target = margin + RNG.normal(size=margin.shape)
    elif name == "sigmoid":
        target = (RNG.random(margin.shape) < expit(2 * margin)).astype(float)
    elif name == "exponential":
        target = RNG.poisson(np.exp(margin)).astype(float)
    else:
        p = softmax(margin, axis=0)
        chosen = (p.cumsum(axis=0) < RNG.random(N)).sum(axis=0)
        target = np.eye(n_outputs)[:, chosen]
    weight = RNG.random(N)
    return columns, fixed, target, weight


@pytest.mark.parametrize("kind", ["ridge", "lasso"])
@pytest.mark.parametrize(
    ("link", "n_outputs"),
    [("identity", 1), ("identity", 2), ("sigmoid 2.0", 1), ("exponential", 1), ("softmax", 3)],
)
def test_weights_are_the_minimum(link, n_outputs, kind):
    columns, fixed, target, weight = problem(link, n_outputs)
    made, _ = Problem.of(link, columns, fixed, weight, target=target)
    intercept, weights = refit_weights(made, kind, np.zeros(n_outputs))
    gradient, hessian = made.derivatives(intercept, weights)
    scale = np.sqrt(np.einsum("ocr,ocr,r->c", made.columns, made.columns, made.weight))
    # The gradient of the intercepts is zero; that of the weights is in balance with the penalty.
    assert np.allclose(gradient[:n_outputs], 0, atol=1e-6)
    rest = gradient[n_outputs:]
    if kind == "ridge":
        _, start = made.derivatives(np.zeros(n_outputs), np.ones(4))
        strength = 1e-3 * np.max(np.diag(start)[n_outputs:] / scale**2)
        assert np.allclose(rest, -strength * scale**2 * (weights - 1), atol=1e-6)
    else:
        strength = np.max(np.abs(rest) / scale)
        active = weights != 0
        assert np.allclose(rest[active], -strength * (scale * np.sign(weights))[active], atol=1e-6)
    assert np.isclose(weights[2], -0.6, atol=0.2)
    # Derivatives agree with differences of the loss.
    point = np.concatenate([intercept, weights])
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-5
        high, low = (made.mean_loss(*np.split(point + s, [n_outputs])) for s in (step, -step))
        assert np.isclose((high - low) / 2e-5, gradient[i], atol=1e-6)
        high, low = (made.derivatives(*np.split(point + s, [n_outputs]))[0] for s in (step, -step))
        assert np.allclose((high - low) / 2e-5, hessian[i], atol=1e-5)


def test_general_solver_agrees():
    columns, fixed, target, weight = problem("exponential")
    made, _ = Problem.of("exponential", columns, fixed, weight, target=target)
    intercept, weights = refit_weights(made, "ridge", np.zeros(1))
    scale = np.sqrt(np.einsum("ocr,ocr,r->c", columns, columns, weight / weight.sum()))
    curvature = np.average(
        columns[0] ** 2 * np.exp(fixed[0] + columns[0].sum(axis=0)), axis=1, weights=weight
    )
    strength = 1e-3 * np.max(curvature / scale**2)

    def loss(point):
        eta = point[0] + fixed[0] + point[1:] @ columns[0]
        mean = np.average(np.exp(eta) - target[0] * eta, weights=weight)
        return mean + strength / 2 * (scale**2 * (point[1:] - 1) ** 2).sum()

    found = minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    assert np.allclose(np.concatenate([intercept, weights]), found.x, atol=1e-4)


def test_lasso_terms_finds_what_matters():
    columns = RNG.normal(size=(1, 6, N))
    target = columns[:, 4] * 2 - columns[:, 1] + 0.1 * RNG.normal(size=(1, N))
    made, _ = Problem.of("identity", columns, np.zeros((1, N)), np.ones(N), target=target)
    assert lasso_terms(made, np.zeros(1), 2).tolist() == [1, 4]


@pytest.mark.parametrize(
    ("link", "target", "message"),
    [
        ("exponential", -1.0, "y must not be negative"),
        ("sigmoid", 2.0, "y must be from 0 to 1"),
        ("hinge", 0.0, "cannot be weighed for a model with the inverse link 'hinge'"),
    ],
)
def test_errors(link, target, message):
    with pytest.raises(ValueError, match=message):
        Problem.of(link, np.zeros((1, 1, 2)), np.zeros((1, 2)), np.ones(2), target=np.full((1, 2), target))
