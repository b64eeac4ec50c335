"""What can be wrong with a call of the knowledge base or a command: T070–T089, T225."""

from __future__ import annotations

from tidalog.model.errors import Diagnostic, UsageError


class ReadBeforeDeclared(Diagnostic):
    number = "T158"
    title = "this update was read before {predicate} was declared"
    reason = "its facts of {predicate} were not checked against the declaration"
    hint = "read updates after the program is loaded: kb.read_updates(…), kb.stream(…)"


class FactsDoNotFit(Diagnostic):
    number = "T157"
    title = "facts of {predicate} do not fit this declaration"
    reason = "{value} in column {column} is not {description}, and its fact is there already"
    hint = "declare a predicate before its facts are inserted, or delete these facts first"


class ProgramNotFound(Diagnostic):
    number = "T071"
    title = "there is no program {path}"
    reason = "{why}"
    hint = "{hint}"


class ProgramNotReadable(Diagnostic):
    number = "T072"
    title = "{path} cannot be read"
    reason = "{why}"
    hint = "a program is a file of UTF-8 text"


class UnknownDialect(Diagnostic):
    number = "T073"
    title = "there is no dialect {name}"
    reason = "dialects are {known}"
    hint = "{suggestion}leave it out to go by the ending of the file"


class BadFunction(Diagnostic):
    number = "T074"
    title = "{name} cannot be registered as a function"
    reason = "{why}"
    hint = "{hint}"


class Closed(Diagnostic):
    number = "T075"
    title = "this knowledge base is closed"
    reason = "its facts are gone"
    hint = "open another one, or do this before it is closed"


class BadArgument(Diagnostic):
    number = "T076"
    title = "{problem}"
    reason = "{why}"
    hint = "{hint}"


def bad_argument(problem: str, why: str, hint: str = "") -> UsageError:
    return UsageError(BadArgument(problem=problem, why=why, hint=hint))


class BadCommand(Diagnostic):
    number = "T077"
    title = "{problem}"
    reason = "the command did nothing"
    hint = "{hint}"


class OutputNotWritable(Diagnostic):
    number = "T078"
    title = "{path} cannot be written"
    reason = "{why}"
    hint = "name a file in a folder that you may write to"


class InUse(Diagnostic):
    number = "T081"
    title = "this knowledge base is in use"
    reason = "a function that its rules call, or a progress callback, calls it"
    hint = "let functions use their arguments only"


class OutOfMemory(Diagnostic):
    number = "T079"
    title = "the memory of this machine is used up"
    reason = "every fact is as it was before"
    hint = "set a limit with max_memory to see which rule needs so much"


class Stopped(Diagnostic):
    number = "T080"
    title = "interrupted"
    reason = "no rule was running; nothing was changed"


class NotApplied(Diagnostic):
    number = "T084"
    title = "this update has no delta"
    reason = "{why}"
    hint = "read u.delta after the with block: with kb.update() as u: …"


class TooLate(Diagnostic):
    number = "T175"
    title = "the update at {time} comes too late"
    reason = "time is at {now}, and updates that are {late} are refused; nothing was changed"
    hint = "allow late updates with tidalog.open(late='5s'), or give times that do not fall"


class FactsOfWindow(Diagnostic):
    number = "T176"
    title = "{window} is a window over {source}"
    reason = "its facts are those of {source} that are recent enough"
    hint = "insert into and delete from {source}"


class WindowsNotKept(Diagnostic):
    number = "T178"
    title = "{what} knows no windows"
    reason = "@window {window} is in the program, and tables have no times"
    hint = "apply updates with times: tidalog.open, tidalog apply, tidalog stream"


class NotATime(Diagnostic):
    number = "T179"
    title = "{value} is not a {what}"
    reason = "{why}"
    hint = "{hint}"


class NotInRdf(Diagnostic):
    number = "W021"
    title = "facts are left out of {path}, because they are not RDF"
    reason = "{facts}"
    hint = "kb.export and @export write any predicate as a table"


class GraphsLeftOut(Diagnostic):
    number = "W022"
    title = "{path} does not have the graphs of {quads}"
    reason = "{format} has triples alone"
    hint = "N-Quads (.nq), TriG (.trig) and JSON-LD (.jsonld) keep graphs"


class NotAQuery(Diagnostic):
    number = "T184"
    title = "this query cannot be registered: {why}"
    reason = "nothing was changed"
    hint = "{hint}"


class NoGraph(Diagnostic):
    number = "T181"
    title = "the graph {iri} is not there"
    reason = "{why}, and nothing is fetched from the network"
    hint = "say where it is: graphs={{'{iri}': 'file.ttl'}}, or None for what the knowledge base has already"


class NameTaken(Diagnostic):
    number = "T182"
    title = "there is a query {name} already"
    reason = "names of queries are unique"
    hint = "choose another name, or drop the other one: kb.queries[{name!r}].drop()"


class NoQuery(Diagnostic):
    number = "T183"
    title = "there is no query {name}"
    reason = "the queries: {known}"
    hint = "kb.queries lists them"


class StreamCycle(Diagnostic):
    number = "T185"
    title = "these streams feed each other: {way}"
    reason = "a query is evaluated once at a time, after the queries whose answers it reads"
    hint = "read another stream, or what the other query reads"


class NamesAreEqual(Diagnostic):
    number = "T247"
    title = "{name}, which rules name, is equal to {other}"
    reason = "rules name {name} as a property or class, and an equality is between individuals"
    hint = "say it of properties and classes by rules, such as {other}(?x, ?y) :- {name}(?x, ?y)"


class LiteralsAreEqual(Diagnostic):
    number = "W243"
    title = "{one} and {other} are equal, and {literal} is a literal"
    reason = "a literal is equal to nothing else: the facts are inconsistent, and the two stay apart"
    hint = "look for what {equality} follows from"


class ViolatedByTime(Diagnostic):
    number = "W260"
    title = "time has violated constraint {rule} {times}"
    reason = "for example {examples}"
    hint = "it refuses nothing until it holds again; take the facts away that make it true"


class OtherKnowledgeBase(Diagnostic):
    number = "T085"
    title = "these updates were read for another knowledge base"
    reason = "their terms have the ids of the other one"
    hint = "read them with the knowledge base that applies them"


class UpdateEnded(Diagnostic):
    number = "T087"
    title = "{update} takes no more changes"
    reason = "its with block has ended"
    hint = "begin another one: with kb.update() as u: …"


class TwoNames(Diagnostic):
    number = "T131"
    title = "the name {name} does not fit the text of the rule"
    reason = "the text is {written}"
    hint = "write the name once: before the colon, or beside the text"


class StreamInQuery(Diagnostic):
    number = "T225"
    title = "{what} in a query that is asked once"
    reason = "{why}"
    hint = 'register it: kb.register("name", "SELECT …")'
