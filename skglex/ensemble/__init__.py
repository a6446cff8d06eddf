"""The representation that every model is read into: leaves over binned features, and their weights."""
