"""Numbers as the points of small drawings; the templates turn them into SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from likewise.app.records import Estimate

WIDTH, HEIGHT = 640, 200
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 28
# Bars of a sound's drawing; a colour that can be seen on light and dark ground.
N_BARS, BAR_COLOUR = 120, "#3f9d8f"
# Without the script, so many dots of the map are drawn at most.
MAX_DOTS = 3000


@dataclass(frozen=True)
class CurveChart:
    """A line with its band, in the units of the drawing."""

    line: str
    band: str
    dots: list[tuple[float, float]]
    levels: list[tuple[float, str]]  # height and its label
    steps: list[tuple[float, str]]  # place and its label
    words: str


def curve_chart(points: Sequence[Estimate], purpose: str) -> CurveChart | None:
    """Draw the first figure; None while there is nothing to draw."""
    if not points:
        return None
    most = max(10, points[-1].n_answers)
    most += most % 2
    floor = min(0.5, *(point.low for point in points)) if points else 0.5
    floor = max(0.0, int(floor * 10) / 10)

    def across(n_answers: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * n_answers / most, 1)

    def up(share: float) -> float:
        height = HEIGHT - TOP - BOTTOM
        return round(TOP + height * (1 - (share - floor) / (1 - floor)), 1)

    line = [(across(point.n_answers), up(point.value)) for point in points]
    upper = [(across(point.n_answers), up(point.high)) for point in points]
    lower = [(across(point.n_answers), up(point.low)) for point in points]
    last = points[-1]
    what = {
        "groups": "items are in their right group",
        "metric": "nearest neighbours are the same",
    }[purpose]
    return CurveChart(
        line=_path(line),
        band=_path(upper + lower[::-1]),
        dots=[line[-1]],
        levels=[
            (up(k / 10), f"{10 * k}%")
            for k in range(round(floor * 10), 11)
            if k % 2 == 0
        ],
        steps=[(across(most * k / 4), f"{most * k / 4:g}") for k in (0, 2, 4)],
        words=(
            f"After {last.n_answers} answers {last.value:.0%} of {what}, "
            f"between {last.low:.0%} and {last.high:.0%}."
        ),
    )


def dot_chart(
    points: Sequence[Sequence[float]], groups: Sequence[int]
) -> list[tuple[float, float, int]]:
    """Places of the map's dots in a square of 400 units, with their groups."""
    step = max(1, len(points) // MAX_DOTS)
    chosen = range(0, len(points), step)
    return [
        (
            round(200 + 180 * points[k][0], 1),
            round(200 - 180 * points[k][1], 1),
            groups[k],
        )
        for k in chosen
    ]


def waveform_svg(loudness: Sequence[float]) -> str:
    """A bar for each stretch of a sound, as loud as it is high."""
    bars = "".join(
        f'<rect x="{4 * k}" y="{50 - 46 * level:.1f}" width="3" '
        f'height="{92 * level + 2:.1f}" rx="1.5"/>'
        for k, level in enumerate(loudness)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {4 * len(loudness)} 100"'
        f' preserveAspectRatio="none" fill="{BAR_COLOUR}">{bars}</svg>'
    )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:g},{y:g}" for x, y in points)
