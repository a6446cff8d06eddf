"""Write a fitted model, and what explains it, into one HTML file that computes in the browser."""

from skglex._explorer._report import Report, report

__all__ = ["Report", "report"]
