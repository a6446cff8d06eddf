"""Grow random planted forests on flat arrays that the caller allocates."""
