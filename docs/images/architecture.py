"""Draw architecture.svg and layers.svg next to this file: ``python docs/images/architecture.py``.

The layers come from ``[tool.importlinter]`` in pyproject.toml. Boxes are light with dark text, lines are grey, and
there is no background, so that both pictures can be read on light and on dark pages.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
FIT, ROWS, RESULT = "#d6e8f8", "#fce8cd", "#dcf0d6"
LEFT, RIGHT, WIDTH, HEIGHT, STEP = 4, 404, 356, 74, 104
# Each level has a box on the left and a box on the right. Files are below skglex/.
BOXES = [
    (FIT, "A tree model", "_base.py, _prefit.py", "used as it is, or fitted here"),
    (ROWS, "Rows", "_decomposer.py, _remover.py", "arrays, sparse matrices, data frames"),
    (FIT, "Reader", "_readers/", "one file per library"),
    (ROWS, "Columns of numbers", "_fitted_model.py, _input/", "checked; categories become codes"),
    (FIT, "Leaves", "_leaves/_leaves.py, _leaves/_grid.py", "boxes on a grid of all thresholds"),
    (ROWS, "Bins", "_kernels/binning.py", "the position of a value on the grid"),
    (FIT, "Weights", "_leaves/_weighting.py", "of conditions that are averaged out"),
    (
        RESULT,
        "SHAP values, removal",
        "_decomposition/_shapley.py, _leaves/_leaf_sum.py",
        "from leaves and weights",
    ),
    (FIT, "Components", "_decomposition/_index.py, _tables.py", "a list of them, and a table of each"),
    (ROWS, "Look-up", "_decomposition/_decomposition.py", "one cell of each component's table"),
    (RESULT, "Plots, summaries, files", "plotting/, inspection/, export/", "of the components"),
    (RESULT, "Components of the rows", "_leaves/_additivity.py", "compared with the model's margin"),
]


def layers() -> list[str]:
    """Return the layers of the import contract from top to bottom, as pyproject.toml writes them."""
    settings = tomllib.loads((HERE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (
        entry for entry in settings["tool"]["importlinter"]["contracts"] if entry["type"] == "layers"
    )
    return contract["layers"]


def rectangle(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a box with round corners."""
    size = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
    return f'<rect {size} rx="8" fill="{fill}" stroke="#8a94a0"/>'


def box(x: int, level: int, fill: str, title: str, files: str, words: str) -> Iterator[str]:
    """Yield a box with three lines of text."""
    y, middle = level * STEP + 4, x + WIDTH / 2
    lines = [
        (24, 'font-size="17" font-weight="bold"', title),
        (44, 'font-size="13" font-family="monospace"', files),
        (63, 'font-size="14"', words),
    ]
    yield rectangle(x, y, WIDTH, HEIGHT, fill)
    for below, style, text in lines:
        yield f'<text x="{middle:g}" y="{y + below}" {style}>{escape(text)}</text>'


def arrow(*points: tuple[int, int]) -> Iterator[str]:
    """Yield a line through the points, with a head at the last."""
    (x0, y0), (x1, y1) = points[-2:]
    dx, dy = (x1 > x0) - (x1 < x0), (y1 > y0) - (y1 < y0)
    line = " ".join(f"{x:g},{y:g}" for x, y in [*points[:-1], (x1 - 8 * dx, y1 - 8 * dy)])
    head = f"{x1},{y1} {x1 - 10 * dx - 5 * dy},{y1 - 10 * dy - 5 * dx} {x1 - 10 * dx + 5 * dy},{y1 - 10 * dy + 5 * dx}"
    yield f'<polyline points="{line}" fill="none" stroke="#7b8694" stroke-width="2"/>'
    yield f'<polygon points="{head}" fill="#7b8694"/>'


def picture(width: int, height: int, parts: list[str]) -> str:
    """Return the parts as an SVG picture."""
    style = 'font-family="Helvetica, Arial, sans-serif" text-anchor="middle" fill="#17202b"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {style}>'
    return "\n".join([head, *parts, "</svg>\n"])


def draw_architecture() -> str:
    """Return the picture of the way of a model and of a row."""
    parts: list[str] = []
    for i, contents in enumerate(BOXES):
        parts += box(RIGHT if i % 2 else LEFT, i // 2, *contents)
    bottom = 4 + HEIGHT
    for x, levels_below in ((LEFT, range(5)), (RIGHT, (0, 1, 2, 4))):
        for level in levels_below:
            top = level * STEP
            parts += arrow((x + WIDTH // 2, top + bottom), (x + WIDTH // 2, top + STEP + 4))
    for level in (2, 3, 4):
        y = level * STEP + 4 + HEIGHT // 2
        parts += arrow((LEFT + WIDTH, y), (RIGHT, y))
    edge, bins, table = RIGHT + WIDTH, 2 * STEP + 4 + HEIGHT // 2, 4 * STEP + 4 + HEIGHT // 2
    parts += arrow((edge, bins), (edge + 22, bins), (edge + 22, table), (edge, table))
    return picture(edge + 30, 5 * STEP + HEIGHT + 8, parts)


def draw_layers() -> str:
    """Return the picture of the layers: a row of boxes per layer, public packages in another colour."""
    left, right, height, step, gap = 40, RIGHT + WIDTH, 34, 46, 24
    parts: list[str] = []
    stack = layers()
    for level, layer in enumerate(stack):
        y = 4 + level * step
        names = re.split(r" *[|:] *", layer)
        width = (right - left - gap * (len(names) - 1)) / len(names)
        for i, name in enumerate(names):
            x = left + i * (width + gap)
            text = f'x="{x + width / 2:g}" y="{y + 22}" font-size="14" font-family="monospace"'
            parts += [
                rectangle(x, y, width, height, FIT if name.startswith("_") else RESULT),
                f"<text {text}>{name}</text>",
            ]
            if i and ":" in layer:
                parts.append(f'<text x="{x - gap / 2:g}" y="{y + 23}" font-size="18">↔</text>')
    bottom = len(stack) * step - step + height + 4
    parts += arrow((18, 4), (18, bottom))
    return picture(right + 4, bottom + 4, parts)


if __name__ == "__main__":
    (HERE / "architecture.svg").write_text(draw_architecture(), encoding="utf-8")
    (HERE / "layers.svg").write_text(draw_layers(), encoding="utf-8")
