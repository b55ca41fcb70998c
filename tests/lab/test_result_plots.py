"""Plots: marks stand at their values, no two series look alike, and what is not above 0 has no slope."""

import re

import pytest

from unmask.lab.result_plots import PLOTS
from unmask.lab.result_tables import TABLES
from unmask.samplers.line_plot import (
    COLOURS,
    SHAPES,
    PlotPanel,
    Point,
    Series,
    horizontal_band,
    names_axis,
    panels,
    plot,
    powers_axis,
    shares_axis,
)

from .test_result_tables import CELLS, cell, ran

MARK = re.compile(r'<path d="([^"]+)" transform="translate\(([\d.]+) ([\d.]+)\) scale[^"]+" fill="([^"]+)"')


def marks(picture):
    """(shape, colour, x, y), those of the legend left out."""
    return [(m[1], m[4], float(m[2]), float(m[3])) for m in MARK.finditer(picture) if m[2] != "0.0"]


def labels(picture):
    return {m[2]: float(m[1]) for m in re.finditer(r'<text x="([\d.]+)"[^>]*>([^<]*)</text>', picture)}


def pulled(framework, pulls, masses=(0.125, 0.0625)):
    """Signals of some seeds per mass."""
    return [
        cell("signal", framework, seed, {"signal": {"signal": pull, "noise": 1e-6, "mass": mass}}, length=4 + place)
        for place, mass in enumerate(masses)
        for seed, pull in enumerate(pulls(mass))
    ]


@pytest.mark.parametrize("name", PLOTS)
def test_plots_stand_alone(name):
    picture = PLOTS[name](CELLS)
    assert picture.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    assert not re.search(r"href|<script|url\(|nan", picture)
    assert PLOTS[name]([]) is None


def test_every_plot_is_shown_under_a_table():
    assert set(PLOTS) <= set(TABLES)


def test_a_bar_reaches_from_the_smallest_to_the_largest():
    svg = plot("<t>", powers_axis("x", [1, 4]), shares_axis("y"), [Series("s", (Point(2, 0.5, ends=(0.0, 1.0)),))])
    (low, high) = re.search(r'<path d="M[\d.]+ ([\d.]+)V([\d.]+)" stroke="#0072b2"/>', svg).groups()
    assert float(low) > float(high)
    assert "&lt;t&gt;" in svg


def test_numbers_stand_above_their_labels():
    lines = [Series(name, (Point(2, 0.5), Point(4, 0.75))) for name in "abcde"]
    svg = plot("t", powers_axis("x", [1, 4]), shares_axis("y"), lines)
    assert {x for *_, x, _ in marks(svg)} == {labels(svg)["2"], labels(svg)["4"]}


def test_series_stand_apart_around_a_name():
    lines = [Series(name, (Point(1, 0.5),)) for name in "abc"]
    svg = plot("t", names_axis("x", ["one", "two"]), shares_axis("y"), lines)
    left, middle, right = [x for *_, x, _ in marks(svg)]
    assert left < middle == labels(svg)["two"] < right
    assert middle - left == pytest.approx(right - middle)


def test_no_two_series_look_alike():
    lines = [Series(str(place), (Point(1, 0.5),)) for place in range(len(COLOURS) * len(SHAPES))]
    looks = [
        (shape, colour) for shape, colour, *_ in marks(plot("t", powers_axis("x", [1, 4]), shares_axis("y"), lines))
    ]
    assert len(set(looks)) == len(lines)


def test_a_mark_that_is_covered_is_larger():
    lines = [Series(name, (Point(1, 0.5),)) for name in "ab"]
    svg = plot("t", powers_axis("x", [1, 4]), shares_axis("y"), lines)
    below, above = (float(scale) for scale in re.findall(r"translate\([1-9][^)]*\) scale\(([\d.]+)\)", svg))
    assert below > above == 1


def test_a_panel_of_nothing_says_so():
    across = powers_axis("x", [1, 4])
    one = PlotPanel("full", (Series("s", (Point(1, 0.5),)), horizontal_band("chance", across, 0.5)))
    empty = PlotPanel("empty", (horizontal_band("chance", across, 0.5),))
    svg = panels("t", across, shares_axis("y"), [[one, empty]], size=(100, 100))
    assert svg.count("not run") == 1
    assert svg.count(">chance<") == 1


def test_chance_stands_beside_what_is_right():
    svg = PLOTS["main"]([cell("main", "tree", 0, ran(0.5, chance=0.5), problem="group:Z2")])
    ((*_, y),) = marks(svg)
    line = re.search(r'points="[\d.]+,([\d.]+) [\d.]+,([\d.]+)"[^>]*stroke="#c8c8c8"', svg)
    assert float(line[1]) == float(line[2]) == y


def test_direct_stands_in_both_panels():
    """It is trained with aux alone; without aux it would be the same, at the lengths that were run so."""
    direct = [cell("main", "direct", 0, ran(0.2), length=n, shape={"aux": True}) for n in (8, 16)]
    svg = PLOTS["main"]([*direct, cell("main", "cot", 0, ran(1.0))])
    assert len(marks(svg)) == 4


def test_the_slope_of_the_first_gradients():
    assert "tree, slope 2.0" in PLOTS["signal"](pulled("tree", lambda mass: (mass**2, mass**2 * 1.01)))


@pytest.mark.parametrize(
    "pulls",
    [
        lambda mass: (mass**2,),
        lambda mass: (mass**2, -(mass**2)),
        lambda mass: (mass**2, mass**2 / 100),
    ],
    ids=["one seed", "below 0", "within its errors"],
)
def test_no_slope_of_what_may_be_zero(pulls):
    assert "slope" not in PLOTS["signal"](pulled("tree", pulls))


def test_what_is_not_above_zero_is_hollow_at_the_lower_edge():
    cells = [*pulled("cot", lambda mass: (mass, mass)), *pulled("tree", lambda mass: (mass, -1e-9), masses=(0.25,))]
    svg = PLOTS["signal"](cells)
    edge = max(y for *_, y in marks(svg))
    assert [y for _, colour, _, y in marks(svg) if colour == "white"] == [edge]
    assert "a seed is not above 0" in svg
    assert "2⁻⁴" in svg
    assert "2⁻⁵" not in svg
    assert "a seed is not above 0" not in PLOTS["signal"](CELLS)


def test_signals_below_zero_alone_are_drawn():
    assert len(marks(PLOTS["signal"](pulled("tree", lambda _: (-1e-9,))))) == 2
