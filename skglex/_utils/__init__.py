"""Help every layer: run work in threads, bound its memory, warn, and save the state of estimators."""

from skglex._utils._budgets import budgets
from skglex._utils._execution import DEFAULT_EXECUTION, Execution, row_chunks, table_chunks, weight_chunks
from skglex._utils._html import largest_components_table
from skglex._utils._memory import check_memory, rows_at_a_time, scaled
from skglex._utils._messages import warn_user
from skglex._utils._names import list_names, similar_names, suggest
from skglex._utils._optional import import_optional
from skglex._utils._state import (
    PlainState,
    VersionedState,
    check_schema,
    restore_on_failure,
    without_cached,
)

__all__ = [
    "DEFAULT_EXECUTION",
    "Execution",
    "PlainState",
    "VersionedState",
    "budgets",
    "check_memory",
    "check_schema",
    "import_optional",
    "largest_components_table",
    "list_names",
    "restore_on_failure",
    "row_chunks",
    "rows_at_a_time",
    "scaled",
    "similar_names",
    "suggest",
    "table_chunks",
    "warn_user",
    "weight_chunks",
    "without_cached",
]
