"""The commands of the REPL, independent of the terminal.

Lines collect until a statement is complete.  A statement is a command (`:facts path`), a query (it starts
with `?-`, `? ` or a variable, or ends with `?`), an update (facts and rules with signs: `-edge(a, b).`), or
text of the main dialect, whose facts, rules and directives are added.  Errors are shown and change nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tidalog.analysis.diagnostics import UnknownRule
from tidalog.cli.options import bad_option
from tidalog.cli.report import FAILED, INTERRUPTED, Report, failure_of, print_answer, result_json
from tidalog.lang.dialects.main import MainReader
from tidalog.lang.lexer import StatementReader
from tidalog.lang.names import Names
from tidalog.lang.updates import ScriptUpdate, read_updates
from tidalog.model.amounts import counted
from tidalog.model.errors import Diagnostic, ProgramError, Source, TidalogError, UsageError
from tidalog.model.program import Program
from tidalog.model.term_text import term_text

if TYPE_CHECKING:
    from tidalog.api.delta import Delta
    from tidalog.api.knowledge_base import KnowledgeBase
    from tidalog.api.results import Result

_COMMAND: Final = re.compile(r":([A-Za-z]\w*|\?)\s*(.*?)\s*", re.DOTALL)
_QUERY: Final = re.compile(r"\?(?:-|(?=\s|\w|~|#))|#(?!\[)")
_TRIPLE_HEAD: Final = re.compile(
    r"\?\w+\s+(?:<[^\s<>]+>|[A-Za-z][\w-]*:[\w.-]+|:[A-Za-z][\w.-]*|a|\?\w+)\s+\S.*:-", re.DOTALL
)
"""A rule whose head is a triple pattern starts with a variable too."""
_OPEN_ENDED: Final = ("*/", '"""')

_WORDS: Final = {"help": "help", "quit": "quit", "exit": "quit"}
"""Commands that need no colon, even with a full stop."""
_SIGNED: Final = re.compile(r"\s*[+-]\s*(?=[^\W\d]|<|\"|:)")
_NOTHING: Final = "0 facts, 0 rules"
_SHOWN_CHANGES: Final = 10
"""How many consequences of a statement are shown."""

HELP: Final = """\
edge(a, b).                     add a fact
-edge(a, b).                    delete it
path(?x, ?y) :- edge(?x, ?y).   add a rule
?- path(a, ?x).                 ask; also: ?x, #count(?y) :- edge(?x, ?y).
:facts PREDICATE                its facts
:predicates                     all predicates and how many facts they have
:rules                          the rules and their names
:remove NAME                    remove a rule
:load FILE                      add a program
:insert PREDICATE FILE          add the facts of a file
:open FOLDER                    go on with a store, which is created if missing
:stats                          figures of the last run
:help, help                     this list
:quit, quit                     leave; so does Ctrl-D
A statement ends with . and may take several lines; an empty line discards it."""


class Shell:
    """A session with a knowledge base."""

    def __init__(self, kb: KnowledgeBase, report: Report, rows: int | None) -> None:
        self.kb = kb
        self.report = report
        self.done = False
        self.code = 0
        """The exit code: whether any input failed or was interrupted."""
        self._rows = rows
        self._lines: list[str] = []
        self._commands: dict[str, Callable[[str], None]] = {
            "facts": self._facts,
            "predicates": self._predicates,
            "rules": self._rules,
            "remove": self._remove,
            "load": self._load,
            "insert": self._insert,
            "open": self._open,
            "stats": self._stats,
            "help": self._help,
            "quit": self._quit,
        }

    @property
    def commands(self) -> Iterator[str]:
        return (f":{name}" for name in self._commands)

    @property
    def in_statement(self) -> bool:
        """Whether a statement has begun but is not complete."""
        return bool(self._lines)

    def feed(self, line: str) -> None:
        """Adds a line; runs the statement if it is complete."""
        if not self._lines and not line.strip():
            return
        command = self._as_command(line.strip())
        if command is not None:
            self.finish()
            self._run(command, self._command)
            return
        self._lines.append(line)
        text = "\n".join(self._lines)
        if is_complete(text):
            self._lines.clear()
            self._run(text, self._statement)
        elif not line.strip():
            self._lines.clear()

    def _as_command(self, line: str) -> str | None:
        """The command of a line.  A statement that lacks its full stop ends before one, but any other word
        with a colon may go on with it."""
        found = _COMMAND.fullmatch(line)
        if self._lines:
            is_known = found is not None and found[1].lower() in self._commands
            return line if is_known and not line.endswith((".", ",", ";")) else None
        if found is not None:
            return line
        word = _WORDS.get(line.rstrip(".").lower(), line.lower())
        return f":{word}" if word in self._commands else None

    def finish(self) -> None:
        """Runs the last statement at the end of the input."""
        text = "\n".join(self._lines)
        self._lines.clear()
        if text.strip():
            self._run(text, self._statement)

    def discard(self) -> None:
        self._lines.clear()

    def _run(self, text: str, action: Callable[[str], None]) -> None:
        try:
            action(text)
        except (TidalogError, KeyboardInterrupt, MemoryError) as error:
            self._show_errors(*failure_of(error))
        except BrokenPipeError:
            raise  # the reader of the output is gone
        except Exception as error:  # whatever it is, the session goes on
            problem, why = f"{type(error).__name__}: {error}", "this error is not one of your input"
            self._show_errors(*failure_of(bad_option(problem, why, "please report it")))

    def _show_errors(self, errors: Iterable[Diagnostic], code: int) -> None:
        self.code = max(self.code, FAILED if code != INTERRUPTED else code)
        self.report.show_errors(errors, code)

    # --- statements ---------------------------------------------------------------------------------

    def _statement(self, text: str) -> None:
        query = as_query(text)
        if query is not None:
            self._show(self.kb.query(query))
            return
        before = {warning.key for warning in self.kb.warnings}
        if _SIGNED.match(text):
            updates, found = read_updates(Source("<input>", text), self.kb.program.prefixes)
            _refuse(found)
            self._apply(updates)
        else:
            reader = MainReader(Source("<input>", text), Names(dict(self.kb.program.prefixes)))
            reader.read()
            found = list(reader.diagnostics())
            _refuse(found)
            self._add(reader.program())
        self.report.warn(w for w in (*found, *self.kb.warnings) if w.key not in before)

    def _add(self, program: Program) -> None:
        """Facts and rules are an update, whose effect is shown; directives are loaded."""
        alone = Program(program.rules, program.facts, prefixes=program.prefixes, base=program.base)
        if program == alone and program.prefixes == self.kb.program.prefixes:
            self._apply([ScriptUpdate(insertions=program.facts, rules_added=program.rules)])
            return
        self.kb.load(program)
        counts = ((len(program.facts), "fact"), (len(program.rules), "rule"))
        added = [counted(count, noun) for count, noun in counts if count]
        self._print(f"{' and '.join(added)} added" if added else "done")

    def _apply(self, updates: Sequence[ScriptUpdate]) -> None:
        for written, update in zip(updates, self.kb.prepare_updates(updates), strict=True):
            self._tell(self.kb.apply(update), written)

    def _tell(self, delta: Delta, written: ScriptUpdate) -> None:
        """What became of the statement, then what followed from it."""
        added, deleted = len(written.insertions), len(written.deletions)
        if delta.ignored == added + deleted:
            added = deleted = 0
        done = [
            f"{counted(count, noun)} {verb}"
            for count, noun, verb in (
                (added, "fact", "added"),
                (deleted, "fact", "deleted"),
                (len(delta.rules.added), "rule", "added"),
                (len(delta.rules.removed), "rule", "removed"),
                (delta.ignored, "operation", "did nothing"),
            )
            if count
        ]
        changes = list(self._consequences(delta))
        if self.report.as_json:
            self.report.finish({"message": ", ".join(done), "changes": changes})
            return
        print(", ".join(done) or "nothing changed")
        for line in changes[:_SHOWN_CHANGES]:
            print(line)
        if len(changes) > _SHOWN_CHANGES:
            print(f"… {len(changes) - _SHOWN_CHANGES:,} more")

    def _consequences(self, delta: Delta) -> Iterator[str]:
        """`+ path(a, b)`, `- path(b, c)`: derived facts that became true, and that are true no longer."""
        prefixes = self.kb.program.prefixes
        for name, change in delta.items():
            label = self.kb.analysis.label(name)
            for sign, facts in (("-", change.deleted_implicit), ("+", change.inserted_implicit)):
                for row in facts.in_reading_order().to_terms():
                    yield f"{sign} {label}({', '.join(term_text(term, prefixes) for term in row)})"

    # --- commands -----------------------------------------------------------------------------------

    def _command(self, text: str) -> None:
        found = _COMMAND.fullmatch(text)
        assert found is not None
        word = "help" if found[1] == "?" else found[1].lower()
        matching = [name for name in self._commands if name.startswith(word)]
        if word not in self._commands and len(matching) != 1:
            near = [n for n in get_close_matches(word, self._commands, 1) if n[0] == word[0]]
            hint = f"did you mean :{near[0]}?  :help lists them" if near else "try :help"
            raise bad_option(f"there is no command :{word}", "commands start with a colon", hint)
        self._commands[word if word in self._commands else matching[0]](found[2].rstrip("."))

    def _facts(self, argument: str) -> None:
        if not argument:
            raise bad_option(":facts needs a predicate", "none is named", "write :facts path")
        self._show(self.kb.facts(argument))

    def _predicates(self, _: str) -> None:
        counts = self.kb.stats().predicates
        lines = [
            f"{self.kb.analysis.label(name)}/{info.arity}  {counted(counts[name], 'fact')}"
            for name, info in self.kb.predicates.items()
        ]
        self._print("\n".join(lines) or "no predicates yet")

    def _rules(self, _: str) -> None:
        self._print("\n".join(self.kb.rules.values()) or "no rules yet")

    def _remove(self, argument: str) -> None:
        if not argument:
            raise bad_option(":remove needs the name of a rule", "none is named", "write :remove r1")
        if argument not in self.kb.rules:
            near = get_close_matches(argument, self.kb.rules, 1)
            hint = f"did you mean :remove {near[0]}?" if near else ":rules lists the rules and their names"
            raise UsageError(UnknownRule(name=argument, suggestion=hint))
        self._tell(self.kb.rules.remove(argument), ScriptUpdate())

    def _load(self, argument: str) -> None:
        if not argument:
            raise bad_option(":load needs a file", "none is named", "write :load rules.rls")
        self.kb.load(Path(argument.strip("\"'")))
        self.report.warn(self.kb.warnings)
        self._print(f"{argument} loaded")

    def _insert(self, argument: str) -> None:
        predicate, _, file = argument.partition(" ")
        if not file.strip():
            raise bad_option(
                ":insert needs a predicate and a file",
                "one of them is missing",
                "write :insert edge edges.csv",
            )
        new = self.kb.insert(predicate, Path(file.strip().strip("\"'")))
        self._print(counted(new, "new fact"))

    def _open(self, argument: str) -> None:
        """Goes on with a store; what was in memory is gone."""
        if not argument:
            raise bad_option(":open needs a folder", "none is named", "write :open city.tidalog")
        import tidalog
        from tidalog.api.stored import StoredKnowledgeBase

        path, left = Path(argument.strip("\"'")), self.kb
        in_memory = not isinstance(left, StoredKnowledgeBase)
        if isinstance(left, StoredKnowledgeBase) and left.path.resolve() == path.resolve():
            self._print(f"{argument} is open already: {self._size()}")
            return
        opened, before = tidalog.open(path), self._size()
        left.close()
        self.kb = opened
        gone = f"\nleft behind: {before}" if in_memory and before != _NOTHING else ""
        self._print(f"{argument}: {self._size()}{gone}")

    def _size(self) -> str:
        facts = sum(self.kb.stats().predicates.values())
        return f"{counted(facts, 'fact')}, {counted(len(self.kb.rules), 'rule')}"

    def _stats(self, _: str) -> None:
        stats = self.kb.stats()
        if self.report.as_json:
            self.report.finish({"stats": stats.to_json()})
        else:
            print(stats)

    def _help(self, _: str) -> None:
        self._print(HELP)

    def _quit(self, _: str) -> None:
        self.done = True

    # --- output -------------------------------------------------------------------------------------

    def _print(self, text: str) -> None:
        if self.report.as_json:
            self.report.finish({"message": text})
        else:
            print(text)

    def _show(self, result: Result) -> None:
        if self.report.as_json:
            self.report.finish({**result_json(result), "count": len(result)})
        else:
            print_answer(result, self._rows)


def _refuse(found: Iterable[Diagnostic]) -> None:
    errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
    if errors:
        raise ProgramError(errors)


def as_query(text: str) -> str | None:
    """The query of a statement, or None if it is not a query."""
    stripped = text.strip()
    found = _QUERY.match(stripped)
    if (found is None and not stripped.endswith("?")) or _TRIPLE_HEAD.match(stripped):
        return None
    if stripped.startswith("?-"):
        stripped = stripped[2:]
    elif re.match(r"\?[\s~]", stripped):
        stripped = stripped[1:]
    return stripped.strip().removesuffix("?")


def is_complete(text: str) -> bool:
    """Whether the last statement of a text is complete."""
    errors: list[Diagnostic] = []
    reader = StatementReader(Source("<input>", text), errors)
    at, last = 0, ""
    while (statement := reader.read(at)) is not None and statement.text:
        at, last = statement.end, statement.text
    if any(error.values.get("closing") in _OPEN_ENDED for error in errors):
        return False
    return bool(errors) or last.endswith((".", "?")) or not last
