"""Describe an ONNX model and its input for those who find the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skglex._fitted_model import FittedModel


def onnx_metadata(
    fitted: FittedModel, *, removed: list[str], strength: float, weighting: str, scale: str
) -> tuple[str, dict[str, Any]]:
    """Return the description and the metadata of a debiased model.

    Parameters
    ----------
    fitted : FittedModel
        The model with its input.
    removed : list of str
        Names of the removed features.
    strength : float
        How much of their components is taken out.
    weighting : str
        How they are averaged out.
    scale : str
        The scale on which they are averaged out.

    Returns
    -------
    description : str
        Sentences about the model.
    metadata : dict
        What programs need to know of the input.
    """
    sentence = (
        f"{type(fitted.model).__name__} without the effects of {', '.join(removed)} (FeatureRemover of skglex, "
        f"strength={strength}, weighting={weighting!r}, scale={scale!r})."
    )
    sentences, metadata = describe_input(fitted)
    if strength == 1:
        sentences.append("The values of removed columns have no effect.")
    return " ".join([sentence, *sentences]), {**metadata, "removed_features": removed}


def describe_input(fitted: FittedModel) -> tuple[list[str], dict[str, Any]]:
    """Return sentences on the input of a model, and the metadata that programs need."""
    steps = [] if fitted.preprocess is None else [type(step).__name__ for _, step in fitted.preprocess.steps]
    names, categories = fitted.feature_names, fitted.source.input.categories
    metadata = {
        "feature_names": names,
        "categories": {
            names[j]: [str(value) for value in values] for j, values in sorted(categories.items())
        },
        "preprocessing": steps,
        "zero_is_missing": fitted.zero_is_missing,
    }
    sentences = ["X has the columns in feature_names of the metadata, in this order."]
    if steps:
        sentences.append(
            f"They are the columns after the preprocessing ({', '.join(steps)}), which is not included."
        )
    if categories:
        sentences.append("Categories are passed as their positions in categories of the metadata.")
    sentences.append(f"{'Zero and NaN are' if fitted.zero_is_missing else 'NaN is'} missing.")
    return sentences, metadata
