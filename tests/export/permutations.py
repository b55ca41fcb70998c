"""Words over A5 with their products, point by point: what an exported word problem is compared with."""

import random
import re


def images(name, points=5):
    """`(12)(345)` → where each point goes."""
    result = list(range(points))
    for cycle in re.findall(r"\((\d+)\)", name):
        places = [int(digit) - 1 for digit in cycle]
        for here, there in zip(places, places[1:] + places[:1], strict=True):
            result[here] = there
    return result


def product(names):
    """First element first."""
    ends = list(range(5))
    for name in names:
        step = images(name)
        ends = [step[point] for point in ends]
    return ends


def words(letters, length, count, seed):
    """(word, is its product the identity), half of each."""
    rng = random.Random(seed)
    by_images = {tuple(images(name)): name for name in letters}
    drawn = []
    for i in range(count):
        names = rng.choices(letters, k=length)
        if i % 2:
            ends = product(names[:-1])
            names[-1] = by_images[tuple(ends.index(point) for point in range(5))]
        drawn.append((" ".join(names), product(names) == list(range(5))))
    return drawn
