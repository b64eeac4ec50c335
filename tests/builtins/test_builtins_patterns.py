"""Regular expressions: what a pattern means, and that no pattern takes more than a pass over the text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalog.builtins import BUILTINS, CannotCompute, patterns
from tidalog.model.terms import FALSE, TRUE, LangString, String, Term


def call(name: str, *texts: str) -> Term:
    return BUILTINS[name].evaluate([String(text) for text in texts])


@pytest.mark.parametrize(
    ("text", "pattern", "flags", "matches"),
    [
        ("abc", "b", "", True),
        ("abc", "^b", "", False),
        ("Straße", "STRASSE", "i", False),
        ("ÄÖ", "äö", "i", True),
        ("a\nb", "a.b", "", False),
        ("a\nb", "a.b", "s", True),
        ("a\nb", "^b$", "", False),
        ("a\nb", "^b$", "m", True),
        ("ab", "a  b", "x", True),
        ("a b", "a[ ]b", "x", True),
        ("a b", r"a\ b", "x", True),
        ("a.b", "a.b", "q", True),
        ("axb", "a.b", "q", False),
        ("A(B", "a(b", "iq", True),
        ("Müller", r"^\w+$", "", True),
        ("Müller", r"^[\w]+$", "", True),
        ("e\u0301", r"^\w+$", "", True),
        ("a-b", r"^\w+$", "", False),
        ("-", r"^\W$", "", True),
        ("٣", r"^\d$", "", True),
        ("x", r"^[\D]$", "", True),
        ("\u00a0", r"^\s$", "", True),
        ("\u00a0", r"^[\s]$", "", True),
        ("a", r"^\S$", "", True),
        ("Aé", r"^\p{Lu}\p{Ll}$", "", True),
        ("a1", "^[[:alpha:]][[:digit:]]$", "", True),
        ("é", "^[[:alpha:]]$", "", False),
        ("]", "^[]]$", "", True),
        ("x", "^[^]]$", "", True),
        ("é", r"^\u00e9$", "", True),
        ("\U0001f600", r"^\U0001F600\Z", "", True),
        ("a.b", r"^a\Q.\Eb$", "", True),
        (r"\w", r"^\\w$", "", True),
        ("", "", "", True),
    ],
)
def test_meaning(text: str, pattern: str, flags: str, matches: bool) -> None:
    assert call("REGEX", text, pattern, flags) == (TRUE if matches else FALSE)


@pytest.mark.parametrize(
    ("text", "pattern", "replacement", "flags", "expected"),
    [
        ("abxd", "x*", "-", "", "-a-b--d-"),
        ("banana", "(a)(n)?", "$2$1", "", "bnanaa"),
        ("abc", "b", "", "", "ac"),
        ("abc", "(b)", "[$1$0$7]", "", "a[bb]c"),
        ("abc", "b", r"\$\\", "", r"a$\c"),
        ("a.c", ".", "$0", "q", "a$0c"),
        ("ÄÖÜ", "ö", "o", "i", "ÄoÜ"),
        ("𝄞é", "", "-", "", "-𝄞-é-"),
    ],
)
def test_replacement(text: str, pattern: str, replacement: str, flags: str, expected: str) -> None:
    assert call("REPLACE", text, pattern, replacement, flags) == String(expected)


def test_a_language_stays() -> None:
    given = [LangString("ab", "en"), String("a"), String("c")]
    assert BUILTINS["REPLACE"].evaluate(given) == LangString("cb", "en")


@pytest.mark.parametrize(
    ("pattern", "flags", "why"),
    [
        (r"(a)\1", "", "invalid escape"),
        ("a(?=b)", "", "invalid perl operator"),
        ("(?<!a)b", "", "invalid"),
        (r"[\W]", "", r"\\W inside"),
        (r"[^\S]", "", r"\\S inside"),
        ("a{1001}", "", "repetition"),
        ("(", "", "missing"),
        ("a", "g", "no flag 'g'"),
        ("\ud800", "", "surrogate"),
        ("((a{100}){100}){100}", "", "cannot be used"),
    ],
)
def test_patterns_that_cannot_be_used(pattern: str, flags: str, why: str) -> None:
    with pytest.raises(CannotCompute, match=why):
        call("REGEX", "text", pattern, flags)
    assert patterns.problem(pattern, flags) is not None
    assert patterns.problem("a+", "i") is None


@pytest.mark.parametrize(
    ("pattern", "ending"),
    [
        ("^(a+)+$", "b"),
        ("^(a|a)*$", "b"),
        ("^(a|aa)+$", "b"),
        ("(.*a){20}$", "b"),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "1"),
        ("(x+x+)+y", "z"),
        (r"^(\w+\s?)*$", "!"),
    ],
)
def test_a_search_steps_over_each_character_once_for_each_state(pattern: str, ending: str) -> None:
    """An automaton takes no more steps than these; backtracking would take 2 to the power of the length."""
    text = "a" * 50_000 + ending
    program = patterns._compiled(pattern, "")
    assert program.programsize * len(text) < 10**9
    assert call("REGEX", text, pattern) == FALSE


def test_replace_searches_once_for_each_match(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ab" * 1000
    program = patterns._compiled("(a*)*b", "")
    searches = 0

    class Counting:
        groups = program.groups

        def finditer(self, given: str) -> object:
            nonlocal searches
            for match in program.finditer(given):
                searches += 1
                yield match

    monkeypatch.setattr(patterns, "_compiled", lambda pattern, flags: Counting())
    assert call("REPLACE", text, "(a*)*b", "$1") == String("a" * 1000)
    assert searches == 1000


def test_what_a_replacement_makes_has_a_limit() -> None:
    with pytest.raises(CannotCompute, match="4,194,304"):
        call("REPLACE", "a" * 10_000, "a", "$0" * 1_000)
    with pytest.raises(CannotCompute, match="4,194,304"):  # parts without a character are work as well
        call("REPLACE", "a" * 10_000, "(b?)a", "$1" * 1_000)
    with pytest.raises(CannotCompute, match="4,194,304"):
        call("CONCAT", "a" * 3_000_000, "b" * 3_000_000)
    assert call("REPLACE", "a" * 1_000, "a", "$0" * 1_000) == String("a" * 1_000_000)


simple = st.text(alphabet="ab(|)*+?.[]^$\\wd1 -", max_size=8)


@given(simple, st.text(alphabet="ab1 -é\n", max_size=8))
def test_a_pattern_that_both_know_matches_the_same_as_in_python(pattern: str, text: str) -> None:
    try:
        expected = re.search(pattern, text) is not None
        found = call("REGEX", text, pattern)
    except (re.error, CannotCompute, FutureWarning):
        return
    if text.endswith("\n") and "$" in pattern:
        return  # Python's $ matches before a line end, too
    assert found == (TRUE if expected else FALSE)
