"""Update scripts: signs, commits, rules by name; printing and parsing are inverse to each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tidalog.lang import parse_fact, parse_rule
from tidalog.lang.updates import (
    ScriptUpdate,
    parse_updates,
    parse_updates_file,
    print_updates,
    read_updates,
)
from tidalog.model.errors import ProgramError, Source
from tidalog.model.program import Fact
from tidalog.model.terms import IRI, String

ERRORS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
UPDATES_PAGE = ERRORS_PAGE.with_name("updates.md")

facts = st.one_of(
    strategies.facts,
    st.sampled_from(
        [Fact("rule", ()), Fact("commit", ()), Fact("rule", (String("a"),)), Fact("commit", (String("a"),))]
    ),
    st.sampled_from(["rule", "commit"]).map(
        lambda name: Fact("triple", (IRI(name), IRI("http://example.org/p"), IRI("rule")))
    ),
)
updates = st.builds(
    ScriptUpdate,
    deletions=st.lists(facts, max_size=3).map(tuple),
    insertions=st.lists(facts, max_size=3).map(tuple),
    rules_added=st.lists(strategies.rules, max_size=2).map(tuple),
    rules_removed=st.lists(strategies.rule_names.filter(lambda name: name is not None), max_size=2).map(
        tuple
    ),
)


def fact(text: str) -> Fact:
    return parse_fact(text)


def numbers(text: str) -> list[str]:
    return [diagnostic.number for diagnostic in read_updates(Source("t.upd", text))[1]]


class TestUpdates:
    def test_the_example_of_the_design(self) -> None:
        first, second = parse_updates(
            "+edge(a, b).  -edge(b, c).\ncommit.\n+rule r9: far(?x) :- path(a, ?x).  -rule r3.\ncommit.\n"
        )
        assert first == ScriptUpdate((fact("edge(b, c)"),), (fact("edge(a, b)"),))
        assert second == ScriptUpdate((), (), (parse_rule("r9: far(?x) :- path(a, ?x)"),), ("r3",))

    def test_what_follows_the_last_commit_is_an_update(self) -> None:
        assert parse_updates("+p(a). commit. +p(b).") == parse_updates("+p(a). commit. +p(b). commit.")

    def test_a_commit_alone_is_an_empty_update(self) -> None:
        assert parse_updates("commit. commit . /* */ commit % so\n .") == [ScriptUpdate()] * 3

    @pytest.mark.parametrize("text", ["", "  \n", "% nothing", "/* nothing */", "@prefix ex: <http://e/> ."])
    def test_a_text_without_statements_has_no_update(self, text: str) -> None:
        assert parse_updates(text) == []

    def test_order_is_kept_within_each_part(self) -> None:
        (update,) = parse_updates("+p(c). -p(z). +p(a). -p(y). +p(b).")
        assert [f.arguments for f in update.insertions] == [(String(name),) for name in "cab"]
        assert [f.arguments for f in update.deletions] == [(String(name),) for name in "zy"]

    def test_a_sign_holds_for_all_facts_of_its_statement(self) -> None:
        (update,) = parse_updates("-p(a), q(b).")
        assert update.deletions == (fact("p(a)"), fact("q(b)"))

    def test_a_blank_or_a_comment_may_follow_the_sign(self) -> None:
        (update,) = parse_updates("+ p(a). - % why\n p(b). + /* so */ p(c). -\nrule r1.")
        assert update == ScriptUpdate((fact("p(b)"),), (fact("p(a)"), fact("p(c)")), (), ("r1",))

    def test_triples_and_prefixes_are_those_of_the_main_dialect(self) -> None:
        text = '+ex:a ex:p "x. +y"@en . @prefix ex: <http://two/> . -ex:a a ex:C . +<b> ex:p _:x .'
        (update,) = parse_updates(text, prefixes={"ex": "http://one/"})
        assert update.insertions[0] == fact('<http://one/a> <http://one/p> "x. +y"@en')
        assert update.insertions[1] == fact("<b> <http://two/p> _:x")
        assert update.deletions == (fact("<http://two/a> a <http://two/C>"),)

    def test_a_base_holds_from_where_it_stands(self) -> None:
        (update,) = parse_updates("+p(<a>). @base <http://e/> . +p(<a>).")
        assert [f.arguments[0] for f in update.insertions] == [IRI("a"), IRI("http://e/a")]

    def test_a_rule_may_have_any_form(self) -> None:
        texts = (
            '#[name("far away")] p(?x) :- q(?x).',
            ":- p(?x).",
            "p(?x), q(?x) :- r(?x), ~s(?x).",
            "p(1 + 2).",
        )
        (update,) = parse_updates(" ".join(f"+rule {text}" for text in texts))
        assert update.rules_added == tuple(parse_rule(text) for text in texts)

    def test_a_rule_without_a_body_is_a_rule(self) -> None:
        (update,) = parse_updates("+rule p(a). +rule p(a), q(b).")
        assert update.rules_added == (parse_rule("p(a) :- ."), parse_rule("p(a), q(b) :- ."))
        assert not update.insertions

    def test_a_predicate_may_have_the_name_of_a_keyword(self) -> None:
        (update,) = parse_updates("+rule(a). -rule (b). +commit. -commit(a). +<rule>. +rule-x(a). +rules(a).")
        assert [f.predicate for f in update.insertions] == ["rule", "commit", "rule", "rule-x", "rules"]
        assert [f.predicate for f in update.deletions] == ["rule", "commit"]

    def test_an_update_spans_its_statements_and_its_commit(self) -> None:
        text = "% first\n+p(a).\n-rule r.\ncommit.\n\ncommit.\n  +p(b). % end\n"
        spans = [update.span for update in parse_updates(text)]
        assert [text[s.start : s.end] for s in spans if s] == [
            "+p(a).\n-rule r.\ncommit.",
            "commit.",
            "+p(b). % end",
        ]

    def test_a_file_is_named_in_its_messages(self, tmp_path: Path) -> None:
        path = tmp_path / "wrong.upd"
        path.write_text("\ufeff+p(?x).", encoding="utf-8")
        with pytest.raises(ProgramError, match=r"--> .*wrong\.upd:1:4"):
            parse_updates_file(path)


class TestTwoWaysToRead:
    LINES = (
        "+edge(a, b).",
        '-edge("x. y", -3).',
        "+<http://a.org/x> a <http://a.org/C> .",
        "commit.",
        "-rule(a, b).",
        "+none().",
        "+p(true, 1e3, _:b).",
    )

    def test_the_fast_path_and_the_grammar_agree(self) -> None:
        """A block comment before each statement keeps it off the fast path."""
        slow = parse_updates("\n".join(f"/* */ {line}" for line in self.LINES))
        assert slow == parse_updates("\n".join(self.LINES))

    @settings(max_examples=100, deadline=None)
    @given(st.lists(facts, max_size=4))
    def test_they_agree_on_every_fact(self, some: list[Fact]) -> None:
        lines = print_updates([ScriptUpdate((), tuple(some))]).splitlines()
        assert parse_updates("\n".join(f"/* */ {line}" for line in lines)) == parse_updates("\n".join(lines))


class TestPrinting:
    @settings(
        max_examples=150,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.lists(updates, max_size=3), strategies.prefixes)
    def test_parsing_what_was_printed_gives_the_updates_back(
        self, some: list[ScriptUpdate], prefixes: dict[str, str]
    ) -> None:
        assert parse_updates(print_updates(some)) == some
        assert parse_updates(print_updates(some, prefixes)) == some

    def test_it_reads_well(self) -> None:
        text = "+p(a).\n-rule r3.\n+rule r9: far(?x) :- path(a, ?x).\ncommit.\n"
        assert print_updates(parse_updates(text)) == text


class TestErrors:
    def test_an_error_costs_its_own_statement_only(self) -> None:
        assert numbers("p(a). +q(?x). -rule 3(a). +p(foo:a). +p(a). @import p :- csv{} .") == [
            "T025",
            "T008",
            "T027",
            "T003",
            "T029",
        ]

    def test_all_are_raised_at_once(self) -> None:
        with pytest.raises(ProgramError) as raised:
            parse_updates("p(a).\np(b).\n+p(?x).")
        assert len(raised.value.diagnostics) == 3

    def test_a_commit_without_its_stop_takes_the_next_statement_only(self) -> None:
        assert numbers("commit\n+p(a).\n+p(b). commit") == ["T001", "T001"]

    def test_what_is_odd_about_a_rule_is_a_warning(self) -> None:
        assert numbers("+rule p(?x) :- q(?x, ?y).") == ["W002"]

    def test_a_script_of_a_thousand_unsigned_facts_is_told_so_in_few_words(self) -> None:
        assert numbers("p(a).\n" * 1000) == ["T025"] * 11

    @pytest.mark.parametrize(
        "text", ["+", "-", "+.", "-.", "+rule", "+rule.", "-rule", "+ commit", "+\ud800.", '-rule ".']
    )
    def test_rubble_is_an_error_and_no_crash(self, text: str) -> None:
        with pytest.raises(ProgramError):
            parse_updates(text)

    @settings(max_examples=200, deadline=None)
    @given(
        st.lists(
            st.sampled_from(
                ["+", "-", "rule", "commit", ".", "p(a)", ":-", "?x", "@prefix", '"', "r:", "<", "%", " "]
            )
        ).map("".join)
    )
    def test_any_mixture_of_tokens_is_read_or_refused(self, text: str) -> None:
        try:
            parsed = parse_updates(text)
        except ProgramError:
            return
        assert parse_updates(print_updates(parsed)) == parsed


def examples(page: Path) -> list[tuple[str, str]]:
    """Heading and text of the scripts on a page of the documentation."""
    parts = re.split(r"^## (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [
        (heading, script)
        for heading, text in zip(parts[1::2], parts[2::2], strict=True)
        for script in re.findall(r"^```upd\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    ]


class TestDocumentation:
    @pytest.mark.parametrize(("number", "script"), examples(ERRORS_PAGE))
    def test_the_example_of_an_error_gives_that_error(self, number: str, script: str) -> None:
        assert number in numbers(script)

    def test_the_scripts_of_the_page_on_updates_are_right(self) -> None:
        scripts = [script for _, script in examples(UPDATES_PAGE)]
        assert scripts
        for script in scripts:
            assert parse_updates(script)


def test_strings_are_not_looked_into() -> None:
    (update,) = parse_updates('+p("commit. -q(a). % no comment").')
    assert update.insertions[0].arguments == (String("commit. -q(a). % no comment"),)
