"""Exports of debiased models to other formats."""
