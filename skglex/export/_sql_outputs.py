"""Write predictions of margins as SQL expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from skglex._kept import name_outputs
from skglex._response import TIE, Response, split_link
from skglex.export._sql_bins import write_number

Columns = list[tuple[str, str]]


def output_columns(response: Response, labels: list[Any] | None) -> list[Columns]:
    """Return the columns that follow the margins, step by step: names and expressions in the dialect of DuckDB.

    The columns of a step may use those of the steps before. There is no step if the link is unknown.
    """
    margins = [_quoted(name) for name in name_outputs("margin", labels)]
    if response.isolation is not None:
        return _score_columns(response, margins[0])
    link, factor = split_link(response.link)
    if link == "custom" or not response.is_named:
        return []
    scaled = margins if factor == 1 else [f"({m} * {write_number(factor)})" for m in margins]
    outputs = _LINKS[link](scaled)
    if response.classes is None:
        names = name_outputs("prediction", labels if len(outputs) == len(margins) else None)
        return [list(zip(names, outputs))]
    names = name_outputs("probability", labels)
    return [list(zip(names, outputs)), _label_columns(response, [_quoted(name) for name in names], labels)]


def _label_columns(response: Response, probabilities: list[str], labels: list[Any] | None) -> Columns:
    """Return the predicted labels of a classifier."""
    assert response.classes is not None
    classes = [_literal(label) for label in response.classes.tolist()]
    first = probabilities[0]
    known = f"WHEN {first} IS NULL THEN NULL"
    if response.multilabel:
        texts = [
            f"CASE WHEN {p} IS NULL THEN NULL WHEN {p} > {write_number(0.5 + TIE)} THEN 1 ELSE 0 END"
            for p in probabilities
        ]
        return list(zip(name_outputs("prediction", labels), texts))
    if len(classes) == 1:
        return [("prediction", f"CASE {known} ELSE {classes[0]} END")]
    if response.binary:
        bound = response.threshold + (-TIE if response.second_class_on_ties else TIE)
        return [
            (
                "prediction",
                f"CASE {known} WHEN {first} > {write_number(bound)} THEN {classes[1]} ELSE {classes[0]} END",
            )
        ]
    return [("prediction", f"CASE {known} {_largest(probabilities, classes)} END")]


def _score_columns(response: Response, margin: str) -> list[Columns]:
    """Return the score of an isolation forest, and its label."""
    isolation = response.isolation
    assert isolation is not None
    score = "-5e-1"
    if isolation.path_length:
        score = f"-EXP(-{margin} * {write_number(np.log(2) / isolation.path_length)})"
    outlier = f"score < {write_number(isolation.offset - TIE)}"
    label = f"CASE WHEN score IS NULL THEN NULL WHEN {outlier} THEN -1 ELSE 1 END"
    return [[("score", score)], [("prediction", label)]]


def _largest(values: list[str], results: list[str]) -> str:
    """Return the branches of a ``CASE`` that returns the result of the largest value, the first of equal ones."""
    branches = [
        f"WHEN {' AND '.join(f'{value} >= {other}' for other in values[i + 1 :])} THEN {result}"
        for i, (value, result) in enumerate(zip(values[:-1], results))
    ]
    return f"{' '.join(branches)} ELSE {results[-1]}"


def _sigmoid(m: str) -> str:
    # No exponential is large, which would be an error in some databases.
    small = f"EXP(-ABS({m}))"
    return f"CASE WHEN {m} >= 0 THEN 1e0 / (1e0 + {small}) ELSE {small} / (1e0 + {small}) END"


def _softplus(m: str) -> str:
    return f"CASE WHEN {m} > 0 THEN {m} ELSE 0e0 END + LN(1e0 + EXP(-ABS({m})))"


def _softmax(margins: list[str]) -> list[str]:
    # Differences of margins need no largest margin, which not all databases can compute.
    return [f"1e0 / ({' + '.join(f'EXP({other} - {m})' for other in margins)})" for m in margins]


def _clip(m: str) -> str:
    return f"CASE WHEN {m} < 0 THEN 0e0 WHEN {m} > 1 THEN 1e0 ELSE {m} END"


def _scaled_sigmoid(margins: list[str]) -> list[str]:
    sigmoids = [_sigmoid(m) for m in margins]
    return [f"({p}) / ({' + '.join(sigmoids)})" for p in sigmoids]


def _probability(margins: list[str]) -> list[str]:
    clipped = [_clip(m) for m in margins]
    if len(clipped) == 1:
        return clipped
    total = " + ".join(clipped)
    equal = write_number(1 / len(clipped))
    return [
        f"CASE WHEN {total} IS NULL THEN NULL WHEN {total} > 0 THEN {p} / ({total}) ELSE {equal} END"
        for p in clipped
    ]


def _sorted(margins: list[str]) -> list[str]:
    # A value's rank is the number of smaller ones; of equal ones, the first comes first.
    ranks = [
        " + ".join(
            f"CASE WHEN {other} {'<=' if j < i else '<'} {m} THEN 1 ELSE 0 END"
            for j, other in enumerate(margins)
            if j != i
        )
        for i, m in enumerate(margins)
    ]
    return [
        f"CASE {' '.join(f'WHEN {rank} = {k} THEN {m}' for m, rank in zip(margins, ranks))} END"
        for k in range(len(margins))
    ]


def _each(write: Callable[[str], str]) -> Callable[[list[str]], list[str]]:
    return lambda margins: [write(m) for m in margins]


# The inverse links, as `skglex._response.inverse_link` defines them.
_LINKS: dict[str, Callable[[list[str]], list[str]]] = {
    "identity": _each(lambda m: m),
    "identity_multiclass": _each(lambda m: m),
    "sigmoid": _each(_sigmoid),
    "multiclass_ova": _each(_sigmoid),
    "exponential": _each(lambda m: f"EXP({m})"),
    "signed_square": _each(lambda m: f"{m} * ABS({m})"),
    "logarithm_one_plus_exp": _each(_softplus),
    "hinge": _each(lambda m: f"CASE WHEN {m} IS NULL THEN NULL WHEN {m} > 0 THEN 1e0 ELSE 0e0 END"),
    "softmax": _softmax,
    "probability": _probability,
    "clip": _each(_clip),
    "scaled_sigmoid": _scaled_sigmoid,
    "sorted": _sorted,
    "mean_variance": lambda margins: [margins[0], f"EXP(2e0 * {margins[1]})"],
    "max_index": lambda margins: [
        f"CASE WHEN {margins[0]} IS NULL THEN NULL {_largest(margins, [f'{i}e0' for i in range(len(margins))])} END"
    ],
}


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _literal(label: Any) -> str:
    """Return a class label as a literal."""
    if isinstance(label, str):
        escaped = label.replace("'", "''")
        return f"'{escaped}'"
    if isinstance(label, bool):
        return f"CAST({int(label)} AS BOOLEAN)"
    return repr(label)
