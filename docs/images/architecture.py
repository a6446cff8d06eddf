"""Draws architecture.svg beside it: ``python docs/images/architecture.py``.

Boxes are light with dark text, lines of a middle grey, and there is no background: it reads on light and dark pages.
"""

from pathlib import Path
from xml.sax.saxutils import escape

FIT, ROWS, RESULT = "#d6e8f8", "#fce8cd", "#dcf0d6"
LEFT, RIGHT, WIDTH, HEIGHT, STEP = 4, 404, 356, 74, 104
# Level by level, left and right; modules are below skglex/.
BOXES = [
    (FIT, "A tree model", "_wrapping.py, _training.py", "taken as it is, or fitted here"),
    (ROWS, "Rows", "_decomposer.py, _remover.py", "arrays, sparse matrices, data frames"),
    (FIT, "Reader", "readers/", "one file per library"),
    (ROWS, "Columns of numbers", "_input/", "checked; categories become codes"),
    (FIT, "Leaves", "ensemble/_leaves.py, ensemble/_grid.py", "boxes on a grid of all thresholds"),
    (ROWS, "Bins", "kernels/binning.py", "where a value lies on the grid"),
    (FIT, "Weights", "ensemble/_weights.py", "of conditions that are averaged out"),
    (RESULT, "SHAP values, removal", "components/_shapley.py, ensemble/_sums.py", "from leaves and weights"),
    (
        FIT,
        "Components",
        "components/_index.py, components/_tables.py",
        "which there are, and a table of each",
    ),
    (ROWS, "Look-up", "components/_decomposition.py", "one cell of each component's table"),
    (RESULT, "Plots, summaries, files", "plotting/, inspection/, export/", "of the components"),
    (RESULT, "Components of the rows", "_proof.py", "compared with the model's margin"),
]


def box(x, level, fill, title, modules, words):
    y, middle = level * STEP + 4, x + WIDTH / 2
    lines = [
        (24, 'font-size="17" font-weight="bold"', title),
        (44, 'font-size="13" font-family="monospace"', modules),
        (63, 'font-size="14"', words),
    ]
    yield f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="{fill}" stroke="#8a94a0"/>'
    for below, style, text in lines:
        yield f'<text x="{middle:g}" y="{y + below}" {style}>{escape(text)}</text>'


def arrow(*points):
    (x0, y0), (x1, y1) = points[-2:]
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    line = " ".join(f"{x:g},{y:g}" for x, y in [*points[:-1], (x1 - 8 * dx, y1 - 8 * dy)])
    head = f"{x1},{y1} {x1 - 10 * dx - 5 * dy},{y1 - 10 * dy - 5 * dx} {x1 - 10 * dx + 5 * dy},{y1 - 10 * dy + 5 * dx}"
    yield f'<polyline points="{line}" fill="none" stroke="#7b8694" stroke-width="2"/>'
    yield f'<polygon points="{head}" fill="#7b8694"/>'


def draw():
    """The picture, as SVG."""
    parts = []
    for i, contents in enumerate(BOXES):
        parts += box(RIGHT if i % 2 else LEFT, i // 2, *contents)
    bottom = 4 + HEIGHT
    for x, levels in ((LEFT, range(5)), (RIGHT, (0, 1, 2, 4))):
        for level in levels:
            top = level * STEP
            parts += arrow((x + WIDTH // 2, top + bottom), (x + WIDTH // 2, top + STEP + 4))
    for level in (2, 3, 4):
        y = level * STEP + 4 + HEIGHT // 2
        parts += arrow((LEFT + WIDTH, y), (RIGHT, y))
    edge, bins, table = RIGHT + WIDTH, 2 * STEP + 4 + HEIGHT // 2, 4 * STEP + 4 + HEIGHT // 2
    parts += arrow((edge, bins), (edge + 22, bins), (edge + 22, table), (edge, table))
    size = f"0 0 {edge + 30} {5 * STEP + HEIGHT + 8}"
    style = 'font-family="Helvetica, Arial, sans-serif" text-anchor="middle" fill="#17202b"'
    picture = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" {style}>'
    return "\n".join([picture, *parts, "</svg>\n"])


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(draw(), encoding="utf-8")
