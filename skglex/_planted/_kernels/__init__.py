"""Grow random planted forests and predict with them, on flat arrays that the caller allocates."""
