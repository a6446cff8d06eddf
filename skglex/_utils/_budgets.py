"""Limit the memory and the work of one call. All limits are fields of one object, so that a test can shrink them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Budgets:
    """Limit the memory in use at one time and the work that is accepted.

    Memory limits hold for scikit-learn's default ``working_memory``; `scaled` shrinks them in proportion to it.

    Attributes
    ----------
    row_chunk : int
        Maximum number of rows of one task.
    long_row_chunk : int
        Maximum number of rows of one task that looks up tables.
    few_look_ups : int
        Number of look-ups below which a separate task does not pay.
    buffer_size : int
        Numbers in the buffer that collects the output of one chunk of rows.
    bin_bytes : int
        Bytes of the numeric columns that are binned at one time.
    bit_set_bytes : int
        Bytes of the background's bit sets that exist at one time.
    leaf_task : int
        Number of leaf conditions in one task.
    pattern_table_size : int
        Entries of the pattern tables that exist at one time: 32 MB of float64.
    kept_table_size : int
        Entries of the pattern tables that are cached between calls: 64 MB of float64.
    table_cells : int
        Cells of one component's table, over all outputs: 16 MB of float64.
    total_table_cells : int
        Cells of all components' tables together: 256 MB of float64.
    largest_table_cells : int
        Cells of the largest table that is computed on demand: 1 GB of float64.
    listed_components : int
        Pairs of a path set and one of its subsets that are listed at one time.
    held_components : int
        Components that are listed whatever ``max_components`` says, for importances and exports.
    order_steps : float
        Steps of the sum of all components of each order: about a minute.
    remainder_steps : float
        Steps of the measurement of the remainder in `fit`: half a second.
    walk_steps : float
        Steps of the same measurement where rows walk down the trees beside each other: half a second.
    counted_components : int
        Number of distinct components at which counting stops; errors then report "at least" this number.
    subsets_per_leaf : int
        Maximum number of subsets of one leaf's players that are listed: 0.8 GB.
    comparisons : float
        Maximum number of comparisons of a row with a background row, over all long paths: some hours.
    pattern_table_rows : int
        Number of rows from which pattern tables pay off for streamed components; fewer rows are computed leaf by leaf.
    kept_dask_weights : int
        Number of leaf weights that are cached for a background in Dask partitions: 512 MB of float64.
    permuted_rows : int
        Number of rows that are preprocessed at one time when a raw column is permuted.
    traced_columns : int
        Maximum number of raw columns that are traced through the preprocessing when a decomposer is fitted.
    traced_rows : int
        Number of background rows on which raw columns are permuted to trace them, beside rows with extreme values.
    named_values : int
        Number of distinct values of a raw column that a decomposer stores.
    removed_values : int
        Distinct values of removed features that are predicted with one by one, if the model combines them with others.
    category_codes : int
        Number of categories of one feature up to which each has a bin of its own, if a model stores sets of them.
    checked_conditions : int
        Limit of rows times leaf conditions in the additivity check of `fit`.
    html_look_ups : float
        Maximum number of look-ups that the HTML display of a decomposer performs: a second or two.
    mixed_margins : int
        Margins of mixed rows that one task computes at one time: 8 MB of float64.
    coalition_margins : int
        Margins of coalitions that one task computes at one time, so that they stay in cache: 512 KB of float64.
    coalition_players : int
        Maximum number of players whose coalitions are all computed, for SHAP values on the response scale.
    picture_margins : float
        Mixed rows whose responses a picture of one component needs: some seconds.
    picture_cells : int
        Cells of the axes of a picture, over all outputs; axes of more cells are drawn with fewer.
    coarse_cells : int
        Cells of the axes of such a picture.
    ebm_cells : int
        Cells of the tables of one explainable boosting machine.
    monotone_cells : int
        Cells of the tables that one quadratic program makes monotone: half a minute or so.
    certificate_cells : int
        Combinations of bins that a certificate of monotonicity looks at, at one edge.
    certificate_rows : int
        Background rows that are moved along a feature where a certificate cannot look at all combinations.
    refit_numbers : int
        Numbers in the columns to which components are refitted: 160 MB of float64.
    compared_leaves : float
        Comparisons of leaves with leaves, in a check of whether every tree is monotone.
    sql_cells : int
        Numbers in the look-up tables of one SQL statement: about 30 MB of text.
    excel_cells : int
        Numbers in the tables of one workbook.
    """

    row_chunk: int = 8192
    long_row_chunk: int = 1 << 18
    few_look_ups: int = 1 << 17
    buffer_size: int = 1 << 24
    bin_bytes: int = 1 << 27
    bit_set_bytes: int = 1 << 25
    leaf_task: int = 1 << 15
    pattern_table_size: int = 1 << 22
    kept_table_size: int = 1 << 23
    table_cells: int = 1 << 21
    total_table_cells: int = 1 << 25
    largest_table_cells: int = 1 << 27
    listed_components: int = 20_000_000
    held_components: int = 250_000
    order_steps: float = 3e10
    remainder_steps: float = 3e8
    walk_steps: float = 2e7
    counted_components: int = 2_000_000
    subsets_per_leaf: int = 100_000_000
    comparisons: float = 10**13
    pattern_table_rows: int = 512
    kept_dask_weights: int = 1 << 26
    permuted_rows: int = 10_000
    traced_columns: int = 100
    traced_rows: int = 500
    named_values: int = 1000
    removed_values: int = 1000
    category_codes: int = 1000
    checked_conditions: int = 10**9
    html_look_ups: float = 3e8
    mixed_margins: int = 1 << 20
    coalition_margins: int = 1 << 16
    coalition_players: int = 14
    picture_margins: float = 3e8
    picture_cells: int = 1 << 22
    coarse_cells: int = 1 << 18
    ebm_cells: int = 1 << 27
    monotone_cells: int = 100_000
    certificate_cells: int = 1 << 22
    certificate_rows: int = 200
    refit_numbers: int = 20_000_000
    compared_leaves: float = 1e9
    sql_cells: int = 1 << 20
    excel_cells: int = 1 << 20


budgets = Budgets()
