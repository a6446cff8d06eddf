"""Draw every display of a decomposer."""

from skglex.plotting import ComponentDisplay, ImportanceDisplay, ShapDisplay, WaterfallDisplay


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
    draw(WaterfallDisplay, rows)
