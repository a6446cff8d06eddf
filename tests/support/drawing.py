"""Draw every display of a decomposer."""

import numpy as np

from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay


def what_pictures_depend_on(decomposer):
    """Return what decides, besides numbers, how a decomposer is drawn."""
    view = decomposer._explained
    grid, spec, response = view.grid, view.source.input, view.source.response
    return (
        min(view.n_outputs, 3),
        response.link,
        response.isolation is None,
        None
        if response.classes is None
        else (len(response.classes), np.asarray(response.classes[0]).dtype.kind),
        None if response.output_labels is None else type(response.output_labels[0]),
        tuple(sorted({component.order for component in decomposer.components_})),
        tuple(sorted({bool(categorical) for categorical in grid.categorical})),
        bool(spec.categories),
        bool(spec.encoders),
        bool(spec.derived),
        bool(spec.missing_zeros),
        any(np.isinf(grid.edges(i)).any() for i in np.flatnonzero(~grid.categorical)),
        any(grid.n_bins[i] <= 3 for i in range(len(grid.features))),
    )


def draw_everything(decomposer, rows, figure):
    """Draw every display of the strongest main effect and pair, with and without rows.

    All are drawn on one figure, which is cleared, since new figures take most of the time.
    """
    output = None if decomposer._explained.n_outputs == 1 else decomposer._explained.output_labels[-1]

    def draw(display, *args, **options):
        figure.clear()
        drawn = display.from_decomposer(decomposer, *args, **options, output=output, ax=figure.add_subplot())
        assert drawn.figure_ is figure

    # A model may have no components, or pairs without main effects.
    ranking = decomposer.strongest_components(20) if len(decomposer.components_) else []
    chosen = [next(c for c in ranking if c.order == q) for q in sorted({c.order for c in ranking})]
    if chosen:
        draw(ComponentDisplay, chosen)
        draw(ComponentDisplay, chosen, X=rows)
        draw(ShapDisplay, chosen[0].features[0], rows, colour_by=chosen[-1].features[-1])
    draw(ImportanceDisplay, "order")
    draw(WaterfallDisplay, rows, row=0)
