"""Whether one text says what another says: near-duplicates are, contradictions are not."""

from __future__ import annotations

import time

import pytest

from recollect.inject.sameness import Known, pieces, repeats, sense


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use uv, never pip, in this repository.", "Please use uv, never pip, in this repository"),
        ("Deploys happen on Fridays", "deploys happen on fridays, blue-green, because rollbacks are easy"),
        ("Staging Postgres listens on port 5433", "- **Staging Postgres** listens on port `5433`."),
        ("Naïve café test", "naive CAFE tests"),
        ("数据库端口是5433", "我们的数据库端口是5433。"),
        ("Don't use tabs for indentation", "do not use tabs for indentation"),
        ("Tests run with pytest", "tests run with pytest"),
    ],
)
def test_the_same_in_other_words_is_the_same(one: str, other: str) -> None:
    assert repeats(sense(one), sense(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Staging Postgres listens on port 5544", "Staging Postgres listens on port 5433"),
        ("Use pip in this repository", "Never use pip in this repository"),
        ("Never use pip in this repository", "Use pip in this repository"),
        ("Don't use tabs for indentation", "Use tabs for indentation"),
        ("Use uv instead of pip for installing packages", "Use pip instead of uv for installing packages"),
        ("Deploys happen on Fridays, blue-green, because rollbacks are easy", "Deploys happen on Fridays"),
        ("Use tabs", "tabs"),
        ("", "anything"),
        ("the of and", "the of and"),
        ("不要使用数据库缓存", "使用数据库缓存"),
        ("Tag releases as v2.1", "Tag releases as v2.10"),
    ],
    ids=[
        *("another number", "denied", "denied here", "n't", "turned around", "more is said", "half of it"),
        *("nothing", "only small words", "denied in Chinese", "another version"),
    ],
)
def test_what_differs_in_what_matters_is_not_the_same(one: str, other: str) -> None:
    assert not repeats(sense(one), sense(other))


def test_a_document_says_what_a_line_or_a_paragraph_of_it_says() -> None:
    text = "# Rules\n\n- Use uv, not pip.\n- Deploys happen on Fridays,\n  in Lisbon.\n\nPort 5433 is for staging.\n"
    known = Known(pieces(text))
    assert known.says(sense("use uv not pip"))
    assert not known.says(sense("staging is port 5433"))  # turned around: said again rather than lost
    assert known.says(sense("Port 5433: staging"))
    assert known.says(sense("Deploys: on Fridays in Lisbon"))
    assert not known.says(sense("Use poetry, not pip"))
    assert not Known().says(sense("anything at all"))


@pytest.mark.timed
def test_long_documents_are_compared_in_no_time() -> None:
    words = [f"word{number}" for number in range(3_000)]
    lines = [" ".join(words[start : start + 40]) for start in range(2_900)]
    started = time.perf_counter()
    known = Known(lines)
    for start in range(0, 2_000, 100):
        known.says(sense(" ".join(words[start : start + 20])))
    assert time.perf_counter() - started < 3
