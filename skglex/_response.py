"""Turn a model's margin into decisions, labels, probabilities and scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit, softmax

from skglex._utils import PlainState

Margin = NDArray[np.float64]

# Differences from a decision threshold up to this size count as ties, because the leaves are summed in another order
# than the model sums them.
TIE = 1e-12
# Inverse links that make probabilities, whether the model says that it is a classifier or not.
PROBABILITIES = frozenset({"sigmoid", "multiclass_ova", "softmax"})


@dataclass(frozen=True)
class Isolation:
    """Describe how an isolation forest scores a mean path length m: ``-2 ** (-m / path_length)``.

    Attributes
    ----------
    path_length : float
        Expected path length. With 0 (trees of a single training row) every row scores -1/2.
    offset : float
        Rows with a lower score are outliers.
    """

    path_length: float
    offset: float

    def score(self, margin: Margin) -> Margin:
        """Return the scores: the lower, the more abnormal."""
        return -np.exp2(-margin / self.path_length) if self.path_length else np.full_like(margin, -0.5)


@dataclass(frozen=True)
class Response(PlainState):
    """Describe what a model's margin means.

    Below, ``margin`` has shape (n_samples, n_outputs). ``output`` has the same shape, except with the link
    "max_index", where it has one column. It is on the scale of the model's own output: probabilities of a
    classifier, otherwise the prediction. For a binary classifier it is the probability of the second class.

    Attributes
    ----------
    link : str
        Name of the inverse link that maps the margin to the output, see `inverse_link`.
    n_outputs : int
        Number of columns of the margin.
    classes : ndarray of shape (n_classes,), or None
        Labels of a classifier. None: the model is no classifier.
    isolation : Isolation, or None
        How an isolation forest scores its margin, the mean path length. None: the model is no isolation forest.
    second_class_on_ties : bool
        Whether the model's ``predict`` returns the second class if its probability is the threshold, not the first.
    threshold : float
        Probability of the second of two classes from which on the model's ``predict`` returns it.
    output_labels : list, or None
        Names of the outputs, if they are neither classes nor numbered targets.
    inverse : callable, or None
        Function of the margin that returns the output, for a model that no named link describes. ``link`` is then
        "function".
    combines : str
        Name of the class of a model that combines the margins of several members, which ``inverse`` maps to the
        output: it has no single margin. Empty: the margin is that of the model.
    targets : tuple of Response
        What the margin of each target means, for a classifier of several targets: its ``classes`` are a list of arrays,
        and the outputs of the targets stand one after the other. ``link`` is then "targets".
    """

    link: str = "identity"
    n_outputs: int = 1
    classes: Any = None
    isolation: Isolation | None = None
    second_class_on_ties: bool = False
    threshold: float = 0.5
    output_labels: list[Any] | None = None
    inverse: Callable[[Margin], Margin] | None = None
    combines: str = ""
    targets: tuple[Response, ...] = ()

    @property
    def is_classifier(self) -> bool:
        """Return whether the model is a classifier."""
        return self.classes is not None

    @property
    def binary(self) -> bool:
        """Return whether the model is a classifier whose margin belongs to the second of two classes."""
        if self.combines:
            return self.classes is not None and len(self.classes) == 2
        return self.classes is not None and self.n_outputs == 1 and not self.targets

    @property
    def multilabel(self) -> bool:
        """Return whether the model is a classifier that decides on each output separately."""
        if self.classes is None or self.n_outputs == 1 or self.targets or self.combines:
            return False
        return split_link(self.link)[0] in _SEPARATE or len(self.classes) != self.n_outputs

    @property
    def n_classes(self) -> int | None:
        """Return between how many classes the model decides; None if it does not, or for several targets at once.

        A booster does not say that it is a classifier. It counts as one if its link makes probabilities.
        """
        if self.isolation is not None or self.targets or self.multilabel:
            return None
        if self.classes is not None:
            return len(self.classes)
        is_probability = split_link(self.link)[0] in PROBABILITIES and self.output_labels is None
        return max(self.n_outputs, 2) if is_probability else None

    @property
    def is_named(self) -> bool:
        """Return whether the link alone says how the margin becomes the output."""
        return self.inverse is None and not self.targets

    @property
    def without_margin(self) -> str | None:
        """Return why the model has no margin of its own, and what to do; None if it has one."""
        if not self.combines:
            return None
        return (
            f"a {self.combines} has no single margin: it combines the predictions of its members. Pass "
            "scale='response', which explains its own prediction (FeatureRemover(..., scale='response'), "
            "decomposer.shap_values(X, scale='response'), partial_dependence, "
            "skglex.inspection.response_components, displays), or explain the members one by one"
        )

    def output(self, margin: Margin) -> Margin:
        """Return the model's own output: the inverse link of the margin."""
        if self.inverse is not None:
            return self.inverse(margin)
        if self.targets:
            return np.hstack([target.output(part) for target, part in self._of_targets(margin)])
        return inverse_link(self.link, margin)

    def _of_targets(self, values: Margin) -> list[tuple[Response, Margin]]:
        """Return the response of every target with its columns of the margin or output."""
        stops = np.cumsum([target.n_outputs for target in self.targets])
        return list(zip(self.targets, np.split(values, stops[:-1], axis=1)))

    def response(self, margin: Margin) -> Margin:
        """Return what is averaged on the response scale: the output, or the scores of an isolation forest.

        Returns
        -------
        ndarray of shape (n_samples, n_responses)

        Raises
        ------
        ValueError
            The model has no response that can be averaged.
        """
        if self.isolation is not None:
            return self.isolation.score(margin)
        if split_link(self.link)[0] == "max_index":
            raise ValueError(
                "this model predicts labels, and a mean of labels has no meaning. Use scale='margin', or pass the "
                "scikit-learn wrapper of the model, which predicts probabilities"
            )
        return self.output(margin)

    @property
    def n_responses(self) -> int:
        """Return the number of columns of `response`."""
        return int(self.response(np.zeros((1, self.n_outputs))).shape[1])

    @property
    def has_margins(self) -> bool:
        """Return whether a response has a margin: whether its inverse link can be inverted."""
        return self.isolation is None and split_link(self.link)[0] in _LINK

    def margin_of(self, response: Margin) -> Margin:
        """Return the margin of responses; the inverse of `response`.

        Raises
        ------
        ValueError
            The inverse link has no inverse.
        """
        name, factor = split_link(self.link)
        if not self.has_margins:
            raise ValueError(
                f"a mean response has no margin here, since the inverse link {name!r} of the model cannot be inverted. "
                "Use predict or predict_proba, or scale='margin'"
            )
        with np.errstate(divide="ignore"):
            return np.asarray(_LINK[name](response) / factor)

    def decision(self, margin: Margin) -> Margin:
        """Return the values of ``decision_function``.

        For a binary classifier these are the margin minus the margin at which both classes are equally probable,
        so that the sign gives the class. For an isolation forest they are the scores minus the offset. Otherwise
        they are the margin.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self.isolation is not None:
            return self.decision_of_scores(self.scores(margin))
        if not self.binary:
            return _squeeze(margin)
        difference = margin[:, 0] - even_margin(self.link)
        return np.where(np.abs(difference) <= TIE, 0.0, difference)

    def predict(self, output: Margin) -> NDArray[Any]:
        """Return the labels of a classifier, 0 or 1 for each of several labels, or the output itself.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self.classes is None:
            return _squeeze(output)
        if self.targets:
            return np.column_stack([target.predict(part) for target, part in self._of_targets(output)])
        if self.multilabel:
            return (output > 0.5 + TIE).astype(np.int64)
        if self.binary and len(self.classes) == 2:
            second = output[:, 0] > self.threshold + (-TIE if self.second_class_on_ties else TIE)
            return np.asarray(self.classes[second.astype(np.intp)])
        return np.asarray(self.classes[self.probabilities(output).argmax(axis=1)])

    def probabilities(self, output: Margin) -> Any:
        """Return a classifier's probabilities, of shape (n_samples, n_classes), or a list of them, one per target."""
        if self.targets:
            return [target.probabilities(part) for target, part in self._of_targets(output)]
        if self.classes is not None and len(self.classes) == 1:
            return np.ones((len(output), 1))
        return np.column_stack([1 - output, output]) if self.binary else output

    def scores(self, margin: Margin) -> Margin:
        """Return the scores of an isolation forest, of shape (n_samples,)."""
        if self.isolation is None:
            raise ValueError("only isolation forests have scores")
        return self.isolation.score(margin[:, 0])

    def decision_of_scores(self, scores: Margin) -> Margin:
        """Return the decision function of an isolation forest: its scores minus the offset."""
        assert self.isolation is not None
        return np.asarray(scores - self.isolation.offset)

    def outliers(self, scores: Margin) -> NDArray[np.int64]:
        """Return -1 for the outliers of an isolation forest and 1 for all other rows, of shape (n_samples,)."""
        return np.where(self.decision_of_scores(scores) < -TIE, -1, 1)


def _squeeze(values: Margin) -> Margin:
    """Return a single column as one dimension."""
    return values[:, 0] if values.shape[1] == 1 else values


def _sigmoid(margin: Margin) -> Margin:
    """Return the same as ``scipy.special.expit``, several times faster."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-margin)))


def _softmax(margin: Margin) -> Margin:
    return np.asarray(softmax(margin, axis=1))


def _hinge(margin: Margin) -> Margin:
    return (margin > 0).astype(np.float64)


def _signed_square(margin: Margin) -> Margin:
    return margin * np.abs(margin)


def _softplus(margin: Margin) -> Margin:
    return np.logaddexp(0.0, margin)


def _largest(margin: Margin) -> Margin:
    return np.asarray(margin.argmax(axis=1, keepdims=True), dtype=np.float64)


def _probability(margin: Margin) -> Margin:
    """Clip estimated probabilities to [0, 1] and scale those of several classes to sum to 1."""
    p = np.clip(margin, 0.0, 1.0)
    if p.shape[1] == 1:
        return p
    total = p.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0))


def _clip(margin: Margin) -> Margin:
    return np.clip(margin, 0.0, 1.0)


def _scaled_sigmoid(margin: Margin) -> Margin:
    """Scale the sigmoids of several classes to sum to 1."""
    p = _sigmoid(margin)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def _mean_variance(margin: Margin) -> Margin:
    """Return mean and variance; the margin holds mean and logarithm of the standard deviation."""
    return np.column_stack([margin[:, 0], np.exp(2 * margin[:, 1])])


def _sorted(margin: Margin) -> Margin:
    return np.sort(margin, axis=1)


def _identity(margin: Margin) -> Margin:
    return margin


# The names are treelite's. Six are added: "max_index" for models that return the class with the largest margin,
# "probability" for margins that are probabilities but may leave [0, 1], "clip" for such margins of separate labels,
# "scaled_sigmoid" for one classifier per class, "mean_variance" for CatBoost's loss RMSEWithUncertainty, and "sorted"
# for quantiles that must not cross.
_INVERSE: dict[str, Callable[[Margin], Margin]] = {
    "identity": _identity,
    "identity_multiclass": _identity,
    "sigmoid": _sigmoid,
    "exponential": np.exp,
    "signed_square": _signed_square,
    "logarithm_one_plus_exp": _softplus,
    "multiclass_ova": _sigmoid,
    "softmax": _softmax,
    "hinge": _hinge,
    "max_index": _largest,
    "probability": _probability,
    "mean_variance": _mean_variance,
    "clip": _clip,
    "scaled_sigmoid": _scaled_sigmoid,
    "sorted": _sorted,
}
# With these links a classifier of several outputs decides on each output separately.
_SEPARATE = ("sigmoid", "clip")
# The inverses of the inverse links that have one. Probabilities are not clipped or scaled any more.
_LINK: dict[str, Callable[[Margin], Margin]] = {
    "identity": _identity,
    "identity_multiclass": _identity,
    "sigmoid": logit,
    "exponential": np.log,
    "signed_square": lambda response: np.sign(response) * np.sqrt(np.abs(response)),
    "logarithm_one_plus_exp": lambda response: response + np.log(-np.expm1(-response)),
    "multiclass_ova": logit,
    "probability": _identity,
    # Of the margins with these probabilities, the ones whose exponentials, or sigmoids, sum to 1.
    "softmax": np.log,
    "scaled_sigmoid": logit,
    "clip": _identity,
}


def inverse_link(link: str, margin: Margin) -> Margin:
    """Apply an inverse link to a margin of shape (n_samples, n_outputs).

    A number after the name, as in ``"sigmoid 2.0"``, is a factor: the margin is multiplied by it first. The link
    "custom" stands for a custom objective, whose inverse link is unknown.
    """
    name, factor = split_link(link)
    if name == "custom":
        raise ValueError(
            "the model was trained with a custom objective, so the inverse link from its margin to probabilities is "
            "unknown. Use the margin instead"
        )
    if name not in _INVERSE:
        raise ValueError(f"unknown inverse link {link!r}; expected one of {sorted(_INVERSE)}")
    return _INVERSE[name](margin if factor == 1 else factor * margin)


def even_margin(link: str) -> float:
    """Return the margin at which both classes of a binary classifier are equally probable."""
    name, factor = split_link(link)
    return {"identity": 0.5, "probability": 0.5, "clip": 0.5, "exponential": float(np.log(0.5))}.get(
        name, 0.0
    ) / factor


def join_link(name: str, factor: float) -> str:
    """Return the inverse link that multiplies the margin by a factor first."""
    return name if factor == 1 else f"{name} {factor!r}"


def split_link(link: str) -> tuple[str, float]:
    """Split an inverse link into its name and its factor."""
    name, _, factor = link.partition(" ")
    return name, float(factor or 1)


def is_link(link: str) -> bool:
    """Return whether a string is a valid inverse link, "custom" included."""
    try:
        return split_link(link)[0] in {*_INVERSE, "custom"}
    except ValueError:  # The factor is not a number.
        return False


def on_response(scale: str) -> bool:
    """Return whether a scale is "response" rather than "margin"; raise a ValueError for anything else."""
    if scale not in ("margin", "response"):
        raise ValueError(
            f"scale must be 'margin' (what the trees add up to, such as log-odds) or 'response' (such as a "
            f"probability); got {scale!r}"
        )
    return scale == "response"
