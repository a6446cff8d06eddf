"""All cases of the suite, one file per group or two."""

from __future__ import annotations

from fnmatch import fnmatch

from benchmarks._cases import _components, _deep, _first_use, _planted, _predictions, _shap, _sweeps
from benchmarks._types import Case

__all__ = ["CASES", "by_name", "select"]

CASES: tuple[Case, ...] = (
    *_shap.CASES,
    *_components.CASES,
    *_predictions.CASES,
    *_sweeps.CASES,
    *_deep.CASES,
    *_planted.CASES,
    *_first_use.CASES,
)


def select(patterns: list[str]) -> list[Case]:
    """Return the cases whose name or group matches one of the patterns, in their order; without patterns, all cases."""
    selected: dict[str, Case] = {}
    for pattern in patterns or ["*"]:
        matches = [case for case in CASES if case.group == pattern or fnmatch(case.name, pattern)]
        if not matches:
            groups = ", ".join(dict.fromkeys(case.group for case in CASES))
            raise SystemExit(f"no case matches {pattern!r}. Groups: {groups}; --list shows the cases")
        selected |= {case.name: case for case in matches if case.name not in selected}
    return list(selected.values())


def by_name(name: str) -> Case:
    """Return the case of this name."""
    return next(case for case in CASES if case.name == name)
