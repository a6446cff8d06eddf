"""Check explained shifts, contrasts and gaps against the margins of mixed rows, for any model."""

import numpy as np
from numpy.testing import assert_allclose

from skglex.inspection import contrast, explain_gap, explain_shift
from tests.support.oracles import brute_force_game, game_components, shapley_interactions, shapley_values


def lines_of(table, names, column, n_outputs):
    """Return the columns of a table that end in a name, by line: shape (n_outputs,) each."""
    columns = [name for name in table.columns if name == column or str(name).endswith(f"__{column}")]
    assert len(columns) == n_outputs
    return dict(zip(table[names], table[columns].to_numpy(dtype=float)))


def check_shift(decomposer, old, new, margin, atol, weights=(None, None)):
    """Require the change of every component's mean, and its parts, from the component at rows and at mixes of rows."""
    shift = explain_shift(decomposer, old, new, sample_weight_old=weights[0], sample_weight_new=weights[1])
    n_outputs = np.atleast_1d(decomposer.intercept_).size
    change = lines_of(shift.table, "component", "change", n_outputs)
    marginals = lines_of(shift.table, "component", "marginals", n_outputs)
    means = [np.average(margin(part), axis=0, weights=w) for part, w in zip((old, new), weights)]
    assert_allclose(np.sum(list(change.values()), axis=0), means[1] - means[0], rtol=0, atol=atol)
    assert_allclose([shift.mean_old, shift.mean_new], means, rtol=0, atol=atol)
    for component in decomposer.strongest_components(3) if len(decomposer.components_) else ():
        columns = [decomposer.explained_features_.index(name) for name in component.features]
        joint, product = [], []
        for part, weight in zip((old, new), weights):
            weight = np.ones(len(part)) if weight is None else weight
            joint.append(np.average(component.evaluate(part), axis=0, weights=weight))
            at = np.indices((len(part),) * len(columns)).reshape(len(columns), -1)
            mixed = part[at[0]].copy()
            for column, rows in zip(columns, at):
                mixed[:, column] = part[rows, column]
            mixed_weight = np.prod([weight[rows] for rows in at], axis=0)
            product.append(np.average(component.evaluate(mixed), axis=0, weights=mixed_weight))
        assert_allclose(change[component.name], np.ravel(joint[1] - joint[0]), rtol=0, atol=atol)
        assert_allclose(marginals[component.name], np.ravel(product[1] - product[0]), rtol=0, atol=atol)


def check_contrast(decomposer, rows, others, margin, atol):
    """Require Shapley values and interactions of pairs of rows by brute force over all coalitions."""
    n, d = rows.shape
    found = contrast(decomposer, rows, others, interactions=True)
    values = contrast(decomposer, rows, others).values.reshape(n, d, -1)
    assert_allclose(found.values.reshape(n, d, -1), values, rtol=0, atol=atol)
    for r in range(n):
        components = game_components(brute_force_game(margin, rows[r : r + 1], others[r : r + 1]))
        assert_allclose(values[r], shapley_values(components, d)[0], rtol=0, atol=atol)
        expected = shapley_interactions(components, d)[0]
        assert_allclose(found.interactions[r].reshape(expected.shape), expected, rtol=0, atol=atol)
    difference = (margin(rows) - margin(others)).reshape(n, -1)
    assert_allclose(values.sum(axis=1), difference, rtol=0, atol=atol)


def check_gap(decomposer, rows, background, margin, atol):
    """Require the lines of a gap from all components by brute force; the group has column 1 or none."""
    n, d = rows.shape
    groups = np.arange(n) % 3 == 1
    share = np.where(groups, 1 / groups.sum(), -1 / (~groups).sum())
    components = game_components(brute_force_game(margin, rows, background))
    gap_of = {s: share @ m for s, m in components.items() if s}
    for own in ((1,), ()):
        gap = explain_gap(decomposer, rows, groups, features=list(own) or None)
        direct = sum(g for s, g in gap_of.items() if set(s) <= set(own))
        mixed = sum(g for s, g in gap_of.items() if set(s) & set(own) and set(s) - set(own))
        expected = [direct + 0 * mixed, mixed] if own else []
        for k in set(range(d)) - set(own):
            of = [g / len(s) for s, g in gap_of.items() if k in s and not set(s) & set(own)]
            expected.append(sum(of))
        assert_allclose(gap.values[0], expected, rtol=0, atol=atol)
        assert_allclose(gap.gap[0], share @ margin(rows), rtol=0, atol=atol)
