"""What can be computed from public points in the algebraic group model: linear combinations of them. A point is a list of
parts, one for each independent base, each a rational function of gamma. A target is in the span of some points if and
only if it is at (many) random places; that is linear algebra modulo r."""

import random

from clew_check.curve import r

rng = random.Random(7)


def inv(a):
    return pow(a, -1, r)


def rank(rows):
    rows, found = [row[:] for row in rows], 0
    for column in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(found, len(rows)) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        scale = inv(rows[found][column])
        rows[found] = [a * scale % r for a in rows[found]]
        for i in range(len(rows)):
            if i != found and rows[i][column]:
                factor = rows[i][column]
                rows[i] = [(a - factor * b) % r for a, b in zip(rows[i], rows[found])]
        found += 1
    return found


def in_span(target, points):
    """`target` and each of `points`: a function from gamma to its parts."""
    parts = len(target(5))
    places = [rng.randrange(1, r) for _ in range(len(points) // parts + 3)]
    rows = [[part % r for gamma in places for part in point(gamma)] for point in points]
    return rank(rows) == rank(rows + [[part % r for gamma in places for part in target(gamma)]])
