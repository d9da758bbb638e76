"""Likeness: the same statement in other words is one; a number, a name, a word or a denial more makes it another."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.values.likeness import nearly_same, opposed

SAME = [
    ("Always run the linter before you commit your changes", "Run the linter before committing changes."),
    ("We decided to store sessions in Redis", "We decided to store the sessions in redis"),
    ("The user prefers short commit messages", "Prefer short commit messages"),
    ("You should run the linter before you commit your changes", "Run the linter before committing changes."),
    ("Please keep each module small and documented", "Keep each module small and documented!"),
    (
        "The nightly job on the ops cluster restores the reporting database from the backup and mails a summary",
        "The nightly job on the ops cluster restores the reporting database from the backup and mails a short summary",
    ),
]
DIFFERENT = [
    ("the worker calls the API to fetch jobs", "the API calls the worker to fetch jobs"),
    ("Tests need port 5433 for the database", "Tests need port 5434 for the database"),
    ("Run migrations before deploying the service", "Run migrations before deploying the staging service"),
    ("Run migrations before deploying the service", "Run migrations after deploying the service"),
    ("Turn on the cache in the worker pool", "Turn off the cache in the worker pool"),
    ("Copy rows from orders to archive nightly", "Copy rows to orders from archive nightly"),
    ("Merge pull requests only after review", "Merge pull requests after review"),
    ("Keep the raw files for thirty days", "Keep the raw files for thirty days in Frankfurt"),
    ("Call loadConfig before startServer", "Call loadSecrets before startServer"),
    ("Edit src/a.py to change the parser", "Edit src/b.py to change the parser"),
    ("Use `make test` before each commit", "Use `make check` before each commit"),
    ("Ann reviews the billing changes", "Bob reviews the billing changes"),
    ("Push tags to the mirror", "Never push tags to the mirror"),
    ("All tests must pass", "Some tests must pass"),
    ("The worker may retry failed payments", "The worker must retry failed payments"),
    ("The worker should retry failed payments", "The worker must retry failed payments"),
    ("The importer can hardly parse quoted commas", "The importer can parse quoted commas"),
    ("Deploy to the cluster every week", "Deploy to the cluster twice every week"),
    ("Ann may review and Bob edits the page", "Ann reviews and Bob may edit the page"),
    (
        "The nightly job on the ops cluster restores the reporting database from the backup and mails a summary",
        "The nightly job on the ops cluster rarely restores the reporting database from the backup and mails a summary",
    ),
    ("yes", "yes please"),
    ("", ""),
]
OPPOSED = [
    ("Push tags to the mirror", "Never push tags to the mirror"),
    ("Never push to main", "push to main"),
    ("Always squash commits", "Don't squash commits"),
    ("We store passwords in the database", "We do not store passwords in the database"),
    ("We must store passwords in the database", "We do not store passwords in the database"),
    ("Commit generated files", "Avoid commit generated files"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_the_same_in_other_words(one: str, other: str) -> None:
    assert nearly_same(one, other)
    assert nearly_same(other, one)
    assert not opposed(one, other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_not_the_same(one: str, other: str) -> None:
    assert not nearly_same(one, other)
    assert not nearly_same(other, one)


@pytest.mark.parametrize(("one", "other"), OPPOSED)
def test_one_denies_the_other(one: str, other: str) -> None:
    assert opposed(one, other)
    assert opposed(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Push tags to the mirror", "Never push branches to the mirror"),
        ("Never push to main", "Never push to main"),
        ("Never push to main", "push to develop"),
        ("Do not use tabs", "use spaces"),
        ("No", "yes"),
        ("Never commit on Fridays before 9", "Commit on Fridays before 10"),
    ],
)
def test_a_denial_of_something_else_is_none(one: str, other: str) -> None:
    assert not opposed(one, other)


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_can_be_compared(one: str, other: str) -> None:
    assert nearly_same(one, other) == nearly_same(other, one)
    assert opposed(one, other) == opposed(other, one)
    assert not (nearly_same(one, other) and opposed(one, other))


@pytest.mark.timed
def test_long_texts_take_no_time() -> None:
    started = time.process_time()
    nearly_same("word " * 2_000, "a/" * 5_000)
    opposed("x" * 10_000, "n't " * 2_500)
    assert time.process_time() - started < 1
