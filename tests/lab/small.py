"""The smallest run that learns something: Z2, four letters, two seconds."""

from unmask.lab.settings import Config, Shape

SMALL = Shape(width=16, hidden=32, heads=2, layers=1, aux=True)


def small(framework="tree", **more):
    settings = {
        "problem": "group:Z2",
        "length": 4,
        "framework": framework,
        "shape": SMALL,
        "evaluate_every": 20,
        "steps": 60,
        "converged": None,
        **more,
    }
    return Config(**settings)
