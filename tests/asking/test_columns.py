"""What stands of answers, found for all at once, against one answer after the other."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from likewise.asking.columns import Columns

PEOPLE = ["ann", "bob", None]


def drawn_answers(rng, n_answers):
    """Answers of three people about five pairs; half were predicted."""
    for _ in range(n_answers):
        said = float(rng.rand()) if rng.rand() < 0.5 else None
        pair = (0, 1 + rng.randint(5))
        yield pair, PEOPLE[rng.randint(3)], int(rng.choice([-1, 0, 1])), said


def slowly_standing(answers):
    """What each person said of each pair that stands: (labels in order, P(same))."""
    told, standing = {}, {}
    for pair, who, label, said in answers:
        by_person = standing.setdefault(pair, {})
        by_person.pop(who, None)
        if said is None:
            told.pop((pair, who), None)
        if label:
            told.setdefault((pair, who), []).append((label, said))
            by_person[who] = label
    return {
        pair: {who: told[pair, who] for who in by_person}
        for pair, by_person in standing.items()
        if by_person
    }


def as_found(columns):
    """The same of columns."""
    standing, names = columns.standing(), columns.people
    found = {}
    row = 0
    for pair, n_people in zip(standing.pairs.tolist(), standing.counts, strict=True):
        by_person = found.setdefault(tuple(pair), {})
        for _ in range(n_people):
            told = standing.told[standing.begins[row] : standing.ends[row]]
            assert told[-1] == standing.labels[row]
            by_person[names[standing.people[row]]] = (told.tolist(), standing.said[row])
            row += 1
    return found


def slowly_predicted(answers):
    """Places and labels of what was predicted, "unsure" aside."""
    became = {}
    asked = {}
    for place, (pair, who, label, said) in enumerate(answers):
        if said is not None:
            asked[pair, who] = place
        if (pair, who) in asked:
            became[asked[pair, who]] = label
    return [(place, label) for place, label in sorted(became.items()) if label]


@pytest.mark.parametrize("n_answers", [0, 1, 10, 60])
def test_what_stands_is_what_one_answer_after_the_other_leaves(n_answers):
    for seed in range(20):
        answers = list(drawn_answers(np.random.RandomState(seed), n_answers))
        columns = Columns()
        for answer in answers:
            columns.append(*answer)

        slowly, found = slowly_standing(answers), as_found(columns)
        assert list(found) == list(slowly)
        for pair, by_person in slowly.items():
            assert list(found[pair]) == list(by_person)
            for who, told in by_person.items():
                labels, said = found[pair][who]
                assert labels == [label for label, _ in told]
                assert_array_equal(said, np.array(told[0][1], dtype=float))
        predicted = zip(*(each.tolist() for each in columns.predicted()), strict=True)
        assert list(predicted) == slowly_predicted(answers)


def test_what_is_cut_was_never_there(rng):
    """And a copy does not know of it."""
    answers = list(drawn_answers(rng, 30))
    columns = Columns()
    for answer in answers[:20]:
        columns.append(*answer)
    before, twin = as_found(columns), columns.copy()
    for answer in answers[20:]:
        columns.append(*answer)
    assert as_found(columns).keys() >= before.keys()

    columns.cut(20)

    assert str(as_found(columns)) == str(before) == str(as_found(twin))


def test_a_person_agrees_with_the_first_answer_or_does_not():
    """Asked again twice: once the same, once not; and the last word is in force."""
    columns = Columns()
    for label, said in ((1, 0.6), (1, 0.7), (-1, 0.8)):
        columns.append((0, 1), "ann", label, said)
    columns.append((0, 1), "bob", 1, None)
    standing = columns.standing()

    assert standing.again(np.arange(2)) == [(True, False), ()]
    assert_array_equal(standing.first, [1, 1])
    assert_array_equal(standing.labels, [-1, 1])
    assert_array_equal(standing.latest, [1])
    assert_array_equal(standing.mean(standing.labels), [0])
