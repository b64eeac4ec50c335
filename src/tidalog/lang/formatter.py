"""The formatter of the main dialect; it keeps order and comments.

Each statement is printed on lines of its own.  A comment stays before or after its statement; one
inside a statement moves before it.  Blank lines between statements become one.  Formatting is idempotent.
"""

from __future__ import annotations

from tidalog.lang.dialects import DIALECTS
from tidalog.lang.dialects.main import MainReader
from tidalog.lang.lexer import Statement
from tidalog.lang.printer import Printer, aligned, print_program
from tidalog.model.errors import ProgramError, Source
from tidalog.model.term_text import iri_reference


def format_text(text: str, name: str = "<text>", dialect: str = "main") -> str:
    """A text of any dialect as formatted text of the main dialect.  Comments are kept only if the text is of
    the main dialect.  Raises `ProgramError` if the text has errors."""
    source = Source(name, text)
    if dialect != "main":
        program, found = DIALECTS[dialect].parse_source(source)
        errors = [diagnostic for diagnostic in found if not diagnostic.is_warning]
        if errors:
            raise ProgramError(errors)
        return print_program(program)
    formatter = _Formatter(source)
    formatter.run()
    return "".join(f"{line}\n" for line in aligned(formatter.lines))


class _Formatter:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[str] = []
        self.reader = MainReader(source)
        self.printer = Printer()
        self.last_end = 0

    def run(self) -> None:
        at = 0
        while (statement := self.reader.statements.read(at)) is not None:
            at = statement.end
            self._comments(statement)
            if statement.text:
                self._gap(statement.start)
                self.lines += self._printed(statement)
                self.last_end = statement.end
            else:
                break
        if self.reader.errors:
            raise ProgramError(self.reader.errors)

    def _comments(self, statement: Statement) -> None:
        text = self.source.text
        for start, end in statement.comments:
            comment = text[start:end].rstrip()
            inside = statement.text and start > statement.start
            if not inside and self.lines and "\n" not in text[self.last_end : start]:
                self.lines[-1] += f"  {comment}"
            else:
                self._gap(min(start, statement.start) if statement.text else start)
                self.lines.append(comment)
            self.last_end = max(self.last_end, statement.start if inside else end)

    def _gap(self, start: int) -> None:
        """Keeps one blank line if the text has any."""
        if self.lines and self.source.text.count("\n", self.last_end, start) > 1:
            self.lines.append("")

    def _printed(self, statement: Statement) -> list[str]:
        """The lines of one statement, with the prefixes that hold at its position."""
        reader = self.reader
        plain = reader.fact_reader.read_alone(statement.text, statement.start)
        if plain is not None:
            return [self.printer.fact(plain)]
        directives = reader.directives
        collected = (directives.imports, directives.exports, directives.outputs)
        described = (directives.declarations, directives.windows, directives.equalities)
        for list_of_kind in (reader.rules, reader.facts, *collected, *described):
            list_of_kind.clear()
        prefixes, base, known = dict(reader.names.declared), reader.names.base, set(directives.parameters)
        reader.take(statement)
        printed = [
            *(self.printer.rule(rule) for rule in reader.rules),
            *(self.printer.fact(fact) for fact in reader.facts),
            *(self.printer.binding("import", binding) for binding in directives.imports),
            *(self.printer.binding("export", binding) for binding in directives.exports),
            *(self.printer.output(predicate) for predicate in directives.outputs),
            *(self.printer.declaration(declaration) for declaration in directives.declarations),
            *(self.printer.window(window) for window in directives.windows),
            *(self.printer.equality(predicate) for predicate in directives.equalities),
            *(
                self.printer.parameter(name, value)
                for name, value in directives.parameters.items()
                if name not in known
            ),
        ]
        if statement.text.startswith("@prefix"):
            changed = {n: i for n, i in reader.names.declared.items() if prefixes.get(n) != i}
            self.printer = Printer(reader.names.declared)
            printed += [self.printer.prefix(prefix, iri) for prefix, iri in changed.items()]
        if reader.names.base != base and reader.names.base is not None:
            printed.append(f"@base {iri_reference(reader.names.base)} .")
        return [line for text in printed for line in text.split("\n")]
