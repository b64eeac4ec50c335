"""Maintenance programs: from the rules of a program, rules that derive what an update changes.

`volz_program` is the rewriting of Volz et al. (Tables 1–3 of the IMaRS paper), `window_program` that of IMaRS
(Tables 4–6), where every fact has its expiry as last argument.  δ and Δ are written `delta`.

Law.  Given a materialisation as facts of each P and an update as facts of P_ins (and P_del), the facts of
P_plus and P_minus are what the update adds to the materialisation and removes from it: the next one is
P − P_minus + P_plus, and the two have no fact in common.

Volz.  The rules are those of Table 2.  Facts of P_del are explicit facts of P.  What the tables leave open:

*  An overdeleted fact may be explicit.  The explicit facts that stay are given as facts of P_red: being
   explicit is an alternative derivation.  So Table 3 needs no further rule.
*  δRed compares computed values of the head with those of P_del as terms (SAMETERM).  Otherwise P_del would
   bind them, and an equation compares bound values as numbers: 2 would rederive 2.0.
*  A rule without body atoms always holds; it becomes one rule for P_ins and none for P_red.

IMaRS.  P has one expiry per fact, the largest.  A fact with expiry T is in the window at `now` iff T > now.
Taken literally, Table 5 is not stratified (New needs Old, Old needs Ins, Ins needs New) and not always right:

    row   the paper                        here                      why
    Δnew1 P[T], not P[T1], T1 = now-1      P[T], T > now             a step may be longer than 1
    Δnew2 Ins[T], not Old[T]               Ins[T], T > now           stratified: New has all expiries of a
                                                                     fact; what enters may have expired
    Δold2 Ins[T1], Ins[T], T1 > T          New[T1], Ins[T], T1 > T   P may have a longer one than Ins
    Δ−1   P[T1], T1 = now-1, not Ins[T1]   P[T], T <= now, not New   T was not bound; otherwise as above
    Δ−2   Old[T]                           Old[T], P[T]              Old also has facts that were never in P
    Δ++   New[T], not P[T1]                New[T], not P[T]          a fact whose expiry grows is in P and
    Δ+    P++[T], not Old[T1]              P++[T], not Old[T]        in Old with its shorter one

Both.  A rule with several heads or with alternatives is rewritten as the rules that it stands for.  A
constraint is checked on New.  The facts and imports of the program are its first insertions (in a window:
without end), so that the text alone derives the whole materialisation as P_plus.  Exports are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from tidalog.analysis.passes import RegisteredFunctions
from tidalog.analysis.positive import PositiveProgram, body_atoms
from tidalog.analysis.predicates import free_name
from tidalog.analysis.rewrite import canonical_rule, map_leaves
from tidalog.model.program import (
    Atom,
    BodyLiteral,
    Call,
    Column,
    Condition,
    DataBinding,
    Declaration,
    Expression,
    Fact,
    Negation,
    Program,
    Rule,
    Variable,
    variables,
)
from tidalog.model.term_text import NAME
from tidalog.model.terms import Double, Term
from tidalog.rdf.layout import TRIPLE

VOLZ: Final = ("del", "ins", "red", "new", "plus", "minus")
"""The maintenance predicates of Table 1 beside P itself."""
WINDOW: Final = ("ins", "new", "old", "minus", "plusplus", "plus")
"""Those of Table 4, and P++."""
NEVER: Final = Double(inf)
"""The expiry of a fact that does not expire."""

_OTHERS: Final = ("current", "background")
_LETTERS: Final = "xyzuvw"
_ANY: Final = Variable("_#0")


def volz_program(
    program: Program,
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
) -> Program:
    """Raises `ProgramError` with the errors of the program, or because it is not positive."""
    source = PositiveProgram(program, parameters or {}, functions)
    naming = _Naming(source, VOLZ, timed=False)
    rewriting = _Rewriting(source, naming)
    for predicate in source.arities:
        rewriting.add_volz_predicate(predicate)
    for rule in source.rules:
        rewriting.add_volz_rule(rule)
    return rewriting.program(inputs=("", "del", "ins", "red"))


def window_program(
    program: Program,
    parameters: Mapping[str, Term] | None = None,
    functions: RegisteredFunctions = (),
) -> Program:
    """Raises `ProgramError` with the errors of the program, or because it is not positive."""
    source = PositiveProgram(program, parameters or {}, functions)
    naming = _Naming(source, WINDOW, timed=True)
    rewriting = _Rewriting(source, naming)
    for predicate in source.arities:
        rewriting.add_window_predicate(predicate)
    for rule in source.rules:
        rewriting.add_window_rule(rule)
    return rewriting.program(inputs=("", "ins"))


# --- names ----------------------------------------------------------------------------------------------


class _Naming:
    """Names of maintenance predicates that no predicate of the program has.

    They are plain names, even for IRIs: an IRI with one or two arguments could be read as a triple."""

    def __init__(self, source: PositiveProgram, kinds: Iterable[str], *, timed: bool) -> None:
        self.timed = timed
        taken = set(source.arities)
        self._stems: dict[str, str] = {}
        for name in source.arities:
            self._stems[name] = name if NAME.match(name) else free_name(_identifier(name), taken)
            taken.add(self._stems[name])
        # P also has derived facts, which `triple` does not take: "5" rdf:type rdfs:Resource
        self._renamed = source.arities.get(TRIPLE) == (2 if timed else 3)
        self._separator = "_"
        every = [(name, kind) for name in source.arities for kind in (*kinds, *_OTHERS)]
        while taken.intersection(self(*one) for one in every):
            self._separator += "_"
        self.now = free_name("now", taken.union(self(*one) for one in every))

    def __call__(self, predicate: str, kind: str) -> str:
        """The name of a maintenance predicate; that of P itself if the kind is empty."""
        if not kind and predicate == TRIPLE and self._renamed:
            kind = "current"
        return f"{self._stems[predicate]}{self._separator}{kind}" if kind else predicate

    def stem(self, predicate: str) -> str:
        return self._stems[predicate]


def _identifier(text: str) -> str:
    """The last part of an IRI as a plain name."""
    last = re.split(r"[/#:]", text.rstrip("/#:"))[-1]
    name = re.sub(r"\W", "_", last)
    return name if NAME.match(name) else f"p{name}"


def _free_variable(wanted: str, taken: Iterable[Variable]) -> Variable:
    return Variable(free_name(wanted, {variable.name for variable in taken}))


# --- rewriting ------------------------------------------------------------------------------------------


@dataclass
class _Rewriting:
    source: PositiveProgram
    naming: _Naming
    rules: list[Rule] = field(default_factory=list)
    _names: set[str] = field(default_factory=set)
    _known: set[Rule] = field(default_factory=set)

    def _add(self, function: str, head: Atom, *body: BodyLiteral) -> None:
        self._append(f"delta_{function}", (head,), body)

    def _append(self, name: str, heads: tuple[Atom, ...], body: tuple[BodyLiteral, ...]) -> None:
        """Alternatives may be equal, or derive nothing new: such rules are left out."""
        rule = _anonymised(Rule(heads, body))
        same = canonical_rule(rule)
        if same in self._known or any(head in body for head in heads):
            return
        self._known.add(same)
        name = free_name(re.sub(r"\W", "_", name.replace("#", "_part")), self._names)
        self._names.add(name)
        self.rules.append(replace(rule, name=name))

    def _atom(self, atom: Atom, kind: str, *more: Expression) -> Atom:
        return Atom(self.naming(atom.predicate, kind), (*atom.arguments, *more))

    def _general(self, predicate: str) -> Atom:
        """P with a variable for each argument: those of its declaration, or ?x, ?y, …"""
        columns = self.source.columns(predicate)
        names = [column.name for column in columns]
        if not all(name and re.fullmatch(r"[^\W\d]\w*", name) for name in names):
            many = len(columns) > len(_LETTERS)
            names = [f"x{n}" if many else _LETTERS[n - 1] for n in range(1, len(columns) + 1)]
        return Atom(predicate, tuple(Variable(name or "") for name in names))

    def _body(
        self, rule: Rule, changed: int, kind: str, others: str, times: Sequence[Expression] = ()
    ) -> Iterator[BodyLiteral]:
        """The body with its atom number `changed` over one maintenance predicate, the others over another."""
        number = 0
        for literal in rule.body:
            if isinstance(literal, Atom):
                number += 1
                more = times[number - 1 : number]
                yield self._atom(literal, kind if number == changed else others, *more)
            else:
                yield literal

    def _constraint(self, rule: Rule) -> None:
        times = (_ANY,) * len(rule.body) if self.naming.timed else ()
        self._append(rule.name or "", (), tuple(self._body(rule, 0, "", "new", times)))

    # --- Volz -------------------------------------------------------------------------------------------

    def add_volz_predicate(self, predicate: str) -> None:
        """The upper half of Table 2."""
        p, stem = self._general(predicate), self.naming.stem(predicate)
        of = {kind: self._atom(p, kind) for kind in ("", *VOLZ)}
        self._add(f"new_1_{stem}", of["new"], of[""], Negation(of["del"]))
        self._add(f"new_2_{stem}", of["new"], of["red"])
        self._add(f"new_3_{stem}", of["new"], of["ins"])
        self._add(f"plus_{stem}", of["plus"], of["ins"], Negation(of[""]))
        self._add(f"minus_{stem}", of["minus"], of["del"], Negation(of["ins"]), Negation(of["red"]))

    def add_volz_rule(self, rule: Rule) -> None:
        """The lower half of Table 2."""
        if not rule.heads:
            self._constraint(rule)
            return
        (head,), atoms = rule.heads, body_atoms(rule)
        if not atoms:
            self._add(f"ins_{rule.name}", self._atom(head, "ins"), *rule.body)
            return
        deleted, same = _deleted_head(rule)
        body = self._body(rule, 0, "", "new")
        self._add(f"red_{rule.name}", self._atom(head, "red"), self._atom(deleted, "del"), *body, *same)
        for kind, others in (("del", ""), ("ins", "new")):
            for number in range(1, len(atoms) + 1):
                body = self._body(rule, number, kind, others)
                self._add(_numbered_name(kind, rule, number, atoms), self._atom(head, kind), *body)

    # --- IMaRS ------------------------------------------------------------------------------------------

    def add_window_predicate(self, predicate: str) -> None:
        """The upper half of Table 5, with the changes above."""
        p, stem = self._general(predicate), self.naming.stem(predicate)
        used = [*variables(p)]
        t = _free_variable("t", used)
        t1 = _free_variable("t1", [*used, t])
        now = _free_variable("now", [*used, t, t1])
        of = {kind: self._atom(p, kind, t) for kind in ("", *WINDOW)}
        clock = Atom(self.naming.now, (now,))
        live, longer = Condition(Call(">", (t, now))), Condition(Call(">", (t1, t)))
        gone = Condition(Call("<=", (t, now)))
        self._add(f"new_1_{stem}", of["new"], of[""], clock, live)
        self._add(f"new_2_{stem}", of["new"], of["ins"], clock, live)
        self._add(f"old_1_{stem}", of["old"], self._atom(p, "ins", t1), of[""], longer)
        self._add(f"old_2_{stem}", of["old"], self._atom(p, "new", t1), of["ins"], longer)
        fresh = Negation(self._atom(p, "new", _ANY))
        self._add(f"minus_1_{stem}", of["minus"], of[""], clock, gone, fresh)
        self._add(f"minus_2_{stem}", of["minus"], of["old"], of[""])
        self._add(f"plusplus_{stem}", of["plusplus"], of["new"], Negation(of[""]))
        self._add(f"plus_{stem}", of["plus"], of["plusplus"], Negation(of["old"]))

    def add_window_rule(self, rule: Rule) -> None:
        """The lower half of Table 5: T is the minimum over the body."""
        if not rule.heads:
            self._constraint(rule)
            return
        (head,), atoms = rule.heads, body_atoms(rule)
        times = _times(rule, len(atoms))
        expiry: Expression = NEVER
        least: tuple[Condition, ...] = ()
        if len(times) == 1:
            (expiry,) = times
        elif times:
            expiry, *times = times
            least = (Condition(Call("=", (expiry, Call("MIN", tuple(times))))),)
        derived = self._atom(head, "ins", expiry)
        if not atoms:
            self._add(f"ins_{rule.name}", derived, *rule.body)
        for number in range(1, len(atoms) + 1):
            body = self._body(rule, number, "ins", "new", times)
            self._add(_numbered_name("ins", rule, number, atoms), derived, *body, *least)

    # --- the whole --------------------------------------------------------------------------------------

    def program(self, inputs: tuple[str, ...]) -> Program:
        source, naming = self.source, self.naming
        original = source.program
        timed = (NEVER,) if naming.timed else ()
        facts = (Fact(naming(f.predicate, "ins"), (*f.arguments, *timed)) for f in source.facts)
        imports = [one for one in original.imports if one.predicate in source.arities]
        if naming.timed:
            imports = [self._background(one) for one in imports]
        else:
            imports = [replace(one, predicate=naming(one.predicate, "ins")) for one in imports]
        shown = [name for name in source.arities if name in original.outputs] or list(source.arities)
        return Program(
            rules=tuple(self.rules),
            facts=tuple(facts),
            prefixes=original.prefixes,
            base=original.base,
            imports=tuple(imports),
            outputs=tuple(naming(name, kind) for name in shown for kind in ("plus", "minus")),
            declarations=tuple(self._declarations(inputs)),
        )

    def _background(self, binding: DataBinding) -> DataBinding:
        """The import for a relation without expiries, whose facts are then inserted without end."""
        p, name = self._general(binding.predicate), self.naming(binding.predicate, "background")
        self._add(f"ins_{name}", self._atom(p, "ins", NEVER), Atom(name, p.arguments))
        return replace(binding, predicate=name)

    def _declarations(self, inputs: tuple[str, ...]) -> Iterator[Declaration]:
        """The predicates that take facts; for a declared predicate also its results, by the same names."""
        for name in self.source.arities:
            columns = self.source.columns(name)
            untyped = tuple(Column(column.name) for column in columns)
            derived = name in self.source.derived
            for kind in inputs:
                # a declared type holds for explicit facts, but P has the derived ones too
                yield self._declaration(name, kind, untyped if derived and not kind else columns)
            if name in self.source.program.declared:
                for kind in ("new", "plus", "minus"):
                    yield self._declaration(name, kind, untyped)
        if self.naming.timed:
            yield Declaration(self.naming.now, (Column(None),))

    def _declaration(self, predicate: str, kind: str, columns: tuple[Column, ...]) -> Declaration:
        if self.naming.timed:
            expiry = free_name("expiry", {column.name or "" for column in columns})
            columns = (*columns, Column(expiry))
        return Declaration(self.naming(predicate, kind), columns)


def _numbered_name(kind: str, rule: Rule, number: int, atoms: list[Atom]) -> str:
    return f"{kind}_{rule.name}_{number}" if len(atoms) > 1 else f"{kind}_{rule.name}"


def _deleted_head(rule: Rule) -> tuple[Atom, list[Condition]]:
    """The head as it was deleted: computed values have variables of their own, and must be the same terms."""
    (head,) = rule.heads
    bound = {one for atom in body_atoms(rule) for one in atom.arguments if isinstance(one, Variable)}
    used = {v for literal in (head, *rule.body) for v in variables(literal)}
    arguments: list[Expression] = []
    same: list[Condition] = []
    for argument in head.arguments:
        if argument in bound or not isinstance(argument, Variable | Call):
            arguments.append(argument)
            continue
        wanted = f"{argument.name}_del" if isinstance(argument, Variable) else "del"
        variable = _free_variable(wanted, used)
        used.add(variable)
        arguments.append(variable)
        same.append(Condition(Call("SAMETERM", (variable, argument))))
    return replace(head, arguments=tuple(arguments)), same


def _times(rule: Rule, atoms: int) -> list[Variable]:
    """?t for a body of one atom; otherwise ?t, ?t1, ?t2, … for the head and each atom."""
    used = {v.name for literal in (*rule.heads, *rule.body) for v in variables(literal)}
    names = ["", *map(str, range(1, atoms + 1))] if atoms > 1 else [""] * atoms
    stem = "t"
    while used.intersection(stem + name for name in names):
        stem += "_"
    return [Variable(stem + name) for name in names]


def _anonymised(rule: Rule) -> Rule:
    """The rule with `_` for variables that occur in one alternative of the original only once.  Anonymous
    variables are numbered in order of occurrence, as a parser numbers them."""
    counts = Counter(v for literal in (*rule.heads, *rule.body) for v in variables(literal))
    in_atoms = {v for atom in body_atoms(rule) for v in variables(atom)}
    single = {v for v in in_atoms if counts[v] == 1} if rule.heads else set()
    count = 0

    def renamed(leaf: Expression) -> Expression:
        nonlocal count
        if not isinstance(leaf, Variable) or not (leaf.anonymous or leaf in single):
            return leaf
        count += 1
        return Variable(f"_#{count}")

    return map_leaves(rule, renamed)
