"""Charts as inline SVG, of numbers alone: texts stand beside them, so that no chart has anything to escape.

A chart has no size and no colours of its own: the page's style gives both, for light and for dark.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .figures import Course

WIDTH, HEIGHT = 1000, 220
"""Units of a chart's drawing."""

THICK = 60
"""Width of a bar at most: few messages would fill the drawing otherwise."""

LEFT, RIGHT, BOTTOM, TOP = 64, 8, 24, 14
"""Units around the drawing, for the axes."""

WIDEST = 11
"""Units of a digit in a notebook, whose charts have the largest letters."""


def share_bar(parts: Sequence[tuple[str, float]], mark: float | None = None) -> str:
    """Return a horizontal bar of parts.

    Args:
        parts: class and share of each part; shares add up to 1 at most. The class ``gap`` has stripes.
        mark: share at which a line is drawn.
    """
    at, drawn = 0.0, []
    for name, share in parts:
        left, width = at * WIDTH, share * WIDTH
        thin = width - 2 if width > 6 else width  # parts stand apart where there is room for it
        if name == "gap":  # stripes: colours are not the only sign
            drawn.append(f'<path class="gap" d="M{left:.1f} 14h{max(thin, 0):.1f}"/>')
        else:
            drawn.append(f'<rect class="{name}" x="{left:.1f}" width="{max(thin, 0):.1f}" height="28"/>')
        at += share
    if mark is not None:
        x = min(mark, 1) * WIDTH
        drawn.append(f'<path class="mark" d="M{x:.1f} 0V28"/>')
    return (
        f'<svg class="share" viewBox="0 0 {WIDTH} 28" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="free" width="{WIDTH}" height="28"/>{"".join(drawn)}</svg>'
    )


def columns(split: NDArray[np.int64], firsts: NDArray[np.int64], zone: tuple[int, int] | None, label: str = "") -> str:
    """Return bars of several parts each, with their height as the square root of their tokens.

    Args:
        split: tokens by part and bar, shape (parts, bars).
        firsts: the first message of each bar, and the number of messages.
        zone: the first message that a summary replaces, and the first behind it.
        label: the name of the chart as a control of the page's script; without one it is a picture.
    """
    bars = split.shape[1]
    tops = np.sqrt(split.sum(axis=0))
    most = max(float(tops.max(initial=0)), 1.0)
    height, width = HEIGHT - TOP - BOTTOM, WIDTH - LEFT - RIGHT
    step = width / max(bars, 1)
    thick = min(max(step * 0.85, 0.8), THICK)
    drawn = []
    if zone:
        x, y = (LEFT + width * place / max(int(firsts[-1]), 1) for place in zone)
        drawn.append(f'<rect class="zone" x="{x:.1f}" y="{TOP}" width="{y - x:.1f}" height="{height}"/>')
    below = np.zeros(bars)
    whole = np.maximum(split.sum(axis=0), 1)
    for number, part in enumerate(split):
        tall = part / whole * tops / most * height
        moves = [
            f"M{LEFT + bar * step + thick / 2:.1f} {HEIGHT - BOTTOM - below[bar]:.1f}v{-tall[bar]:.1f}"
            for bar in np.flatnonzero(tall > 0.05).tolist()
        ]
        below += tall
        drawn.append(f'<path class="p{number}" stroke-width="{thick:.2f}" d="{"".join(moves)}"/>')
    if zone:  # in front of the bars, which may fill the drawing
        drawn.append(f'<path class="split" d="M{y:.1f} {TOP}v{height}"/>')
    ticks: list[tuple[float, float]] = []
    for tick in sorted((nice * 10**power for power in range(9) for nice in (1, 2, 5)), reverse=True):
        share = tick**0.5 / most
        if share <= 1 and (not ticks or ticks[-1][1] - share > 0.17) and share > 0.1:
            ticks.append((tick, share))
    axis = _y_axis(ticks, height) + _x_axis(int(firsts[-1]), width)
    cursor = f'<rect class="cursor" x="{LEFT}" y="{TOP}" width="{thick:.1f}" height="{height}" visibility="hidden"/>'
    controls = (
        f'data-left="{LEFT}" data-step="{step:.4f}" tabindex="0" role="slider" aria-label="{label}" aria-valuemin="0" '
        f'aria-valuemax="{max(bars - 1, 0)}" aria-valuenow="0" aria-valuetext="none chosen"'
    )
    about = controls if label else 'aria-hidden="true"'
    return f'<svg class="chart columns" viewBox="0 0 {WIDTH} {HEIGHT}" {about}>{axis}{"".join(drawn)}{cursor}</svg>'


def growth(course: Course, lines: Sequence[tuple[str, int]]) -> str:
    """Return the prompt's tokens over a session as an area, with limits as lines, billed prompts as dots, and cuts.

    Args:
        course: the prompt over the session.
        lines: class and tokens of each limit; one far above all prompts is not drawn.
    """
    tops, firsts, dots = course.tops, course.firsts, [(place, tokens) for place, tokens, _ in course.billed]
    messages, width, height = max(int(firsts[-1]), 1), WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    peak = max(int(tops.max(initial=1)), max((tokens for _, tokens in dots), default=1))
    near = [(name, tokens) for name, tokens in lines if tokens <= 4 * peak]
    most = max([peak, *(tokens for _, tokens in near)]) * 1.05

    def place(message: float, tokens: float) -> str:
        return f"{LEFT + width * message / messages:.1f} {HEIGHT - BOTTOM - height * tokens / most:.1f}"

    points = [place(int(firsts[bar + 1]), top) for bar, top in enumerate(tops.tolist())]
    drawn = []
    if points:
        points.insert(0, place(0, int(tops[0])))
        drawn.append(f'<path class="area" d="M{LEFT} {HEIGHT - BOTTOM}L{"L".join(points)}V{HEIGHT - BOTTOM}z"/>')
        drawn.append(f'<path class="edge" d="M{"L".join(points)}"/>')
    drawn += [f'<path class="{name}" d="M{place(0, tokens)}H{WIDTH - RIGHT}"/>' for name, tokens in near]
    drawn += [f'<path class="cut" d="M{place(cut, 0)}V{TOP}"/>' for cut, *_ in course.cuts]
    some = dots[:: len(dots) // 400 + 1]
    drawn.append(f'<path class="dots" d="{"".join(f"M{place(*dot)}h0" for dot in some)}"/>')
    axis = _y_axis([(tick, tick / most) for tick in _steps(most)], height) + _x_axis(messages, width, course.earlier)
    return f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">{axis}{"".join(drawn)}</svg>'


def strip(states: Sequence[tuple[str, int]]) -> str:
    """Return what becomes of the messages, as runs of equal ones in reading order.

    Args:
        states: class and number of messages of each run; the classes are ``leaves``, ``changes`` and ``free``.
    """
    messages, at, drawn = max(sum(number for _, number in states), 1), 0, []
    for name, number in states:
        x, width = WIDTH * at / messages, WIDTH * number / messages
        tall, y = (28, 0) if name == "leaves" else (14, 14)  # heights differ: colours are not the only sign
        if name != "free":
            drawn.append(f'<rect class="{name}" x="{x:.1f}" y="{y}" width="{max(width, 1):.1f}" height="{tall}"/>')
        at += number
    return (
        f'<svg class="share" viewBox="0 0 {WIDTH} 28" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="free" width="{WIDTH}" height="28"/>{"".join(drawn)}</svg>'
    )


def paying(once: float, a_call: float, calls: int) -> str:
    """Return what a compaction has saved after so many calls: below zero until it has paid.

    Args:
        once: US dollars that it costs once.
        a_call: US dollars that it saves in each later call.
        calls: number of calls after which it has paid.
    """
    last, width, height = max(2 * calls, 10), WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
    low, high = -once, last * a_call - once
    span = max(high - low, 1e-12)

    def place(call: float, dollars: float) -> str:
        return f"{LEFT + width * call / last:.1f} {TOP + height * (high - dollars) / span:.1f}"

    zero = TOP + height * high / span
    ticks = [(f"{'-' * (value < 0)}${abs(value):.2f}", (value - low) / span) for value in (low, 0.0, high)]
    labels = "".join(_label(text, LEFT - 6, HEIGHT - BOTTOM - height * share + 4, "end") for text, share in ticks)
    below = "".join(_place(f"{call:,}", LEFT + width * call / last) for call in sorted({0, calls, last}))
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH} {HEIGHT}" aria-hidden="true">'
        f'<path class="grid" d="M{LEFT} {zero:.1f}H{WIDTH - RIGHT}"/>'
        f'<path class="edge" d="M{place(0, low)}L{place(last, high)}"/>'
        f'<path class="cut" d="M{place(calls, low)}V{TOP}"/>{labels}{below}</svg>'
    )


def short(tokens: float) -> str:
    """Return a number of tokens in few characters: 950, 12k, 1.5M."""
    for unit, scale in (("M", 1_000_000), ("k", 1_000)):
        if tokens >= scale:
            number = tokens / scale
            return f"{number:.0f}{unit}" if number >= 10 or number == int(number) else f"{number:.1f}{unit}"
    return f"{tokens:.0f}"


def _y_axis(ticks: Sequence[tuple[float, float]], height: int) -> str:
    """Return lines and labels at shares of the height."""
    drawn = []
    for value, share in ticks:
        y = HEIGHT - BOTTOM - height * share
        drawn.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}"/>')
        drawn.append(_label(short(value), LEFT - 6, y + 4, "end"))
    return "".join(drawn)


def _steps(most: float) -> list[float]:
    """Return three to six round numbers from 0 on, at equal distances, up to a number."""
    scale = 10.0 ** math.floor(math.log10(max(most, 1)))
    step = next(scale * part for part in (2, 1, 0.5, 0.2) if most / (scale * part) >= 3)
    return [step * number for number in range(1, int(most / step) + 1)]


def _x_axis(messages: int, width: int, earlier: int = 0) -> str:
    """Return labels of messages at round distances from message 0, which stands behind ``earlier`` ones."""
    step = max(int(_steps(max(messages, 1))[0]), 1)
    places = range(earlier % step, int(messages * 0.97) + 1, step) if messages else ()
    drawn = []
    for place in places:
        text = f"#{place - earlier:,}" if place >= earlier else f"{earlier - place:,} before"
        drawn.append(_place(text, LEFT + width * place / messages))
    return "".join(drawn)


def _place(text: str, x: float) -> str:
    """Return a label below the x axis: in the middle of its place, or beside it where an edge would cut it."""
    half = WIDEST * len(text) / 2
    anchor = "start" if x <= LEFT else "end" if x + half > WIDTH else "middle"
    return _label(text, x, HEIGHT - 6, anchor)


def _label(text: str, x: float, y: float, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
