"""Words over A5 with their products, point by point: what an exported word problem is compared with."""

import random
import re


def images(name, points=5):
    """Return the image of each point under a permutation such as `(12)(345)`."""
    result = list(range(points))
    for cycle in re.findall(r"\((\d+)\)", name):
        points_of_cycle = [int(digit) - 1 for digit in cycle]
        for source, target in zip(points_of_cycle, points_of_cycle[1:] + points_of_cycle[:1], strict=True):
            result[source] = target
    return result


def product(names):
    """Return the product of permutations, the first one applied first."""
    ends = list(range(5))
    for name in names:
        step = images(name)
        ends = [step[point] for point in ends]
    return ends


def words(letters, length, count, seed):
    """Return pairs (word, whether its product is the identity); in half of the words it is."""
    rng = random.Random(seed)
    by_images = {tuple(images(name)): name for name in letters}
    word_answers = []
    for i in range(count):
        names = rng.choices(letters, k=length)
        if i % 2:
            ends = product(names[:-1])
            names[-1] = by_images[tuple(ends.index(point) for point in range(5))]
        word_answers.append((" ".join(names), product(names) == list(range(5))))
    return word_answers
