"""Run skglex from a terminal: model files and tables in, reports, tables and models out."""

from skglex._command_line._main import main

__all__ = ["main"]
