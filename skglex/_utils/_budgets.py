"""Limit the memory and the work of one call: every bound in one object, which a test can shrink."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Budgets:
    """Bound what is held in memory at one time, and what is refused.

    Bounds of memory are stated for scikit-learn's default ``working_memory``; `scaled` shrinks them with it.

    Attributes
    ----------
    row_chunk : int
        Most rows of one task.
    long_row_chunk : int
        Most rows of one task that looks up tables.
    few_look_ups : int
        Look-ups that are too few for a task of their own.
    buffer_size : int
        Numbers of the buffer that output goes through, chunk of rows by chunk.
    bin_bytes : int
        Bytes of the columns of numbers that are binned at one time.
    bit_set_bytes : int
        Bytes of the background's bit sets that exist at one time.
    leaf_task : int
        Leaf conditions that one task works on.
    pattern_table_size : int
        Entries of the pattern tables that exist at one time: 32 MB of float64.
    kept_table_size : int
        Entries of the pattern tables that are kept from one call to the next: 64 MB of float64.
    table_cells : int
        Cells, of all outputs, of one component's table: 16 MB of float64.
    total_table_cells : int
        Cells of all components' tables together: 256 MB of float64.
    largest_table_cells : int
        Cells of the largest table that is made on demand: 1 GB of float64.
    listed_components : int
        Pairs of a path set and one of its subsets that are listed at one time.
    counted_components : int
        Distinct components that are counted before the rest is called "at least".
    subsets_per_leaf : int
        Most subsets of one leaf's players that are listed: 0.8 GB.
    comparisons : float
        Most pairs of a row and a background row that are compared, over all long paths: some hours.
    pattern_table_rows : int
        Rows that pay for pattern tables where components are streamed; fewer go leaf by leaf.
    kept_dask_weights : int
        Weights of leaves that are kept of a background in Dask partitions: 512 MB of float64.
    permuted_rows : int
        Rows that go through the preprocessing at one time, where a raw column is permuted.
    checked_conditions : int
        Rows times leaf conditions that the additivity check of `fit` evaluates.
    html_look_ups : float
        Look-ups that a notebook waits for before it shows a decomposer: a second or two.
    ebm_cells : int
        Cells of the tables of one explainable boosting machine.
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
    counted_components: int = 2_000_000
    subsets_per_leaf: int = 100_000_000
    comparisons: float = 10**13
    pattern_table_rows: int = 512
    kept_dask_weights: int = 1 << 26
    permuted_rows: int = 10_000
    checked_conditions: int = 10**9
    html_look_ups: float = 3e8
    ebm_cells: int = 1 << 27


budgets = Budgets()
