"""The dictionary: equal terms have equal ids, columns in bulk mean what `termtext` says cell by cell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from generators import terms
from tidalog.engine.dictionary import Dictionary
from tidalog.model.term_text import format_any, parse_any
from tidalog.model.terms import (
    INT64_MAX,
    INT64_MIN,
    IRI,
    XSD,
    BlankNode,
    Boolean,
    Double,
    Integer,
    LangString,
    Literal,
    String,
    Term,
    integer,
)

MANY = settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))

WORDS = r"""
    a _ __ _: _:b _:b.c _:b- _a a_b a-b a-1 a- -a a:b true false True trueish ü übel aü é ٠ ５ 'a' 😀 a😀
    0 -0 00 007 -7 +7 - --1 1- 1-2 1_000 2.5 .5 5. -2.5 1.50 1.0f 1.2.3 0.0 -0.0 NaN INF -INF inf nan
    1e3 1E3 1e+3 1e e1 1.5e 1e5e5 1e999 -1e999 1e-999 0x1F 0X1f 0o17 0b101 0b2 0xg -0x10 0x
    9223372036854775807 9223372036854775808 -9223372036854775808 -9223372036854775809 0xFFFFFFFFFFFFFFFF
    999999999999999999 1000000000000000000 123456789012345678901234567890 0000000000000000000000000000001
    <> <a> <a <a>b a> <http://e.x/ü> <a\u0062> <a\>
    "" "a" " "a a" "a"@en "a"@EN-us "a"@ "a"^^<x> "5"^^ "5"^^xsd:int "5"^^xsd:integer "5"^^xsd:string
    "a\nb" "a\"b" "\u00e9" "\ud800"
"""
SPACED = ("", " ", "a b", "<a b>", '"a" ', ' "a"', "a\nb", "\ta", "1\n", "2.5\n", "a\x00b", "\x00", "\ufeffa")
TRICKY = (*WORDS.split(), *SPACED)
pieces = st.sampled_from((*TRICKY, *'"<>_:-\\.eExX0123456789@^ abtruflsINF', "^^<", "\\u00"))
cells = st.one_of(
    st.sampled_from(TRICKY),
    st.lists(pieces, max_size=6).map("".join),
    st.text(max_size=8),
    st.integers(-(2**70), 2**70).map(str),
    st.floats().map(repr),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=100, max_size=120),
)


def same(left: Term, right: Term) -> bool:
    """NaN is the same term as NaN, which Python's equality of floats does not say."""
    return left == right or repr(left) == repr(right)


@MANY
@given(st.lists(cells, max_size=30))
@example(list(TRICKY))
def test_cells_of_any_mean_what_parse_any_says(texts: list[str]) -> None:
    dictionary = Dictionary()
    ids = dictionary.encode(pa.array(texts, pa.string()), "any")
    assert ids.dtype == np.int32
    assert [repr(dictionary.term(int(i))) for i in ids] == [repr(parse_any(text)) for text in texts]
    assert [dictionary.id_of(parse_any(text)) for text in texts] == ids.tolist()


@MANY
@given(st.lists(cells, max_size=20), st.sampled_from([("string", String), ("iri", IRI)]))
def test_cells_of_one_kind_are_of_that_kind(texts: list[str], reading: tuple[str, type]) -> None:
    dictionary = Dictionary()
    ids = dictionary.encode(pa.array(texts, pa.string()), reading[0])
    assert [dictionary.term(int(i)) for i in ids] == [reading[1](text) for text in texts]


@MANY
@given(st.lists(cells, min_size=1, max_size=20), st.data())
def test_slices_chunks_and_large_texts_make_no_difference(texts: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(texts)))
    cut = data.draw(st.integers(start, len(texts)))
    kind = data.draw(st.sampled_from((pa.string(), pa.large_string())))
    whole = pa.array(texts, kind)
    chunked = pa.chunked_array([whole[start:cut], whole[:0], whole[cut:]], kind)
    dictionary = Dictionary()
    ids = dictionary.encode(chunked, "any")
    assert [repr(dictionary.term(int(i))) for i in ids] == [repr(parse_any(text)) for text in texts[start:]]


texts_with_surrogates = st.text(st.characters(codec=None), max_size=4)
every_term = st.one_of(
    terms(),
    cells.map(String),
    cells.map(IRI),
    texts_with_surrogates.map(String),
    st.integers(-(2**66), 2**66).map(integer),
    st.text("ab.-_ü0", min_size=1, max_size=5).map(BlankNode),
    st.builds(LangString, cells, st.sampled_from(("en", "DE-at"))),
    st.builds(Literal, cells, st.sampled_from((XSD + "int", XSD + "date", "http://e.x/#t", "t"))),
)


@MANY
@given(st.lists(every_term, max_size=20))
def test_every_term_comes_back_by_its_id_and_from_what_is_written(some: list[Term]) -> None:
    dictionary = Dictionary()
    ids = dictionary.ids_of(some)
    assert all(same(dictionary.term(int(i)), term) for i, term in zip(ids, some, strict=True))
    written = dictionary.decode_text(ids)
    raw = [written[i].as_buffer().to_pybytes() for i in range(len(written))]
    read = [parse_any(cell.decode("utf-8", "surrogatepass")) for cell in raw]
    assert list(map(repr, read)) == list(map(repr, some))


@MANY
@given(st.lists(every_term, max_size=12))
def test_a_column_of_one_kind_of_number_comes_back_as_numbers(some: list[Term]) -> None:
    dictionary = Dictionary()
    for kind, arrow in ((Integer, pa.int64()), (Double, pa.float64()), (Boolean, pa.bool_())):
        numbers = [term for term in some if isinstance(term, kind)]
        column = dictionary.decode(dictionary.ids_of(numbers))
        if numbers:
            assert column.type == arrow
            assert list(map(repr, column.to_pylist())) == [repr(term.value) for term in numbers]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([INT64_MIN, INT64_MAX, 0, -1, 0], Integer),
        ([0.0, -0.0, float("nan"), float("inf"), 5e-324, -1.5], Double),
        ([True, False, True], Boolean),
    ],
)
def test_native_columns_keep_their_kind(values: list[int] | list[float], kind: type) -> None:
    dictionary = Dictionary()
    array = pa.array(values)
    expected = [repr(kind(value)) for value in values]
    for column in (array, array[1:], pa.chunked_array([array[:1], array[1:]])):
        found = [repr(dictionary.term(int(i))) for i in dictionary.encode(column, "native")]
        assert found == expected[len(values) - len(column) :]


@pytest.mark.parametrize("reading", ["any", "string", "iri"])
def test_no_cell_at_all(reading: str) -> None:
    dictionary = Dictionary()
    assert dictionary.encode(pa.array([], pa.string()), reading).tolist() == []
    assert dictionary.encode(pa.chunked_array([], pa.string()), reading).tolist() == []
    assert len(dictionary.decode(np.empty(0, np.int32))) == 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1)))
@example([0, -1, 9, 10, -10, 99, 100, 2**63 - 1, -(2**63)])
def test_integers_are_written_in_base_ten_beside_anything_else(numbers: list[int]) -> None:
    dictionary = Dictionary()
    ids = dictionary.encode(pa.array(numbers, pa.int64()), "native")
    name = dictionary.id_of(String("n"))
    mixed = np.insert(ids, np.arange(len(ids)), name).astype(np.int32)
    assert dictionary.decode_text(mixed).to_pylist() == [t for n in numbers for t in ("n", str(n))]


@pytest.mark.parametrize(
    "iri", ["a/b:(c)", "1:a=b", ":x$", "#a:(b)", "a_b:(c)", "a+b.c-d1:(e)", "a:(b)", "a(:b", "(a:b)", "é:(a)"]
)
def test_an_iri_is_absolute_if_a_scheme_stands_before_its_colon(iri: str) -> None:
    dictionary = Dictionary()
    ids = dictionary.ids_of([IRI(iri)])
    assert dictionary.decode_text(ids).to_pylist() == [format_any(IRI(iri))]


def test_a_text_of_a_megabyte_and_its_neighbours() -> None:
    dictionary = Dictionary()
    long, longer = "x" * 1_000_000, "x" * 1_000_000 + "y"
    texts = ["a", long, longer, "a", long, "é" * 500_000]
    ids = dictionary.encode(pa.array(texts), "any")
    assert [dictionary.term(int(i)) for i in ids] == [parse_any(text) for text in texts]
    assert dictionary.decode_text(ids).to_pylist() == [format_any(parse_any(text)) for text in texts]


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_every_size_grow_the_dictionary_block_by_block(seed: int) -> None:
    sizes = np.random.default_rng(seed).geometric(1 / 300, 2000)
    texts = [f"{'t' * int(size)}{place}" for place, size in enumerate(sizes)]
    for part in (1, 127, 128, 129, 2000):
        dictionary = Dictionary()
        ids = dictionary.encode(pa.chunked_array([texts[:part], texts[:part]]), "any")
        assert ids.tolist() == [*range(ids[0], ids[0] + part)] * 2
        assert dictionary.decode(ids[:part]).to_pylist() == texts[:part]


def moved(array: pa.Array, by: int) -> pa.Array:
    """The same array in buffers that begin `by` bytes after an aligned address and have an odd size."""

    def copied(buffer: pa.Buffer | None) -> pa.Buffer | None:
        if buffer is None:
            return None
        content = buffer.to_pybytes()
        memory = np.zeros(len(content) + 16 + by, np.uint8)
        memory[by : by + len(content)] = np.frombuffer(content, np.uint8)
        return pa.py_buffer(memory).slice(by, len(content) + by)

    return pa.Array.from_buffers(array.type, len(array), list(map(copied, array.buffers())))


@pytest.mark.parametrize("by", [1, 3, 4, 7])
@pytest.mark.parametrize(
    ("column", "reading"),
    [
        (pa.array([1, -5, 2**40]), "native"),
        (pa.array([0.5, 1e300, -0.0]), "native"),
        (pa.array([True, False, True]), "native"),
        (pa.array(["a", "", "1.5", "x y"]), "any"),
        (pa.array(["a", "", "ü"]), "string"),
    ],
)
def test_columns_at_any_address_mean_the_same(column: pa.Array, reading: str, by: int) -> None:
    dictionary = Dictionary()
    expected = dictionary.encode(column, reading).tolist()
    assert dictionary.encode(moved(column, by), reading).tolist() == expected
    assert dictionary.encode(moved(column, by)[1:], reading).tolist() == expected[1:]


@pytest.mark.parametrize("cells", [["1", "2", "3"], ["a", "1.5", '"x"@en'], ['"a"', '"b"', '""']])
def test_ids_that_are_a_column_of_a_table_are_decoded(cells: list[str]) -> None:
    dictionary = Dictionary()
    ids = dictionary.encode(pa.array(cells), "any")
    column = np.stack([ids, ids[::-1]], axis=1)[:, 0]
    assert not column.flags.c_contiguous
    assert dictionary.decode(column) == dictionary.decode(ids)
    assert dictionary.decode_text(column) == dictionary.decode_text(ids)
    assert dictionary.decode_text(column, format_any) == dictionary.decode_text(ids, format_any)
    assert dictionary.contents(column) == dictionary.contents(ids)


def test_many_distinct_texts_and_numbers_grow_the_dictionary() -> None:
    dictionary, count = Dictionary(), 150_000
    texts = pa.array([f"n{i}" for i in range(count)])
    first = dictionary.encode(texts, "any")
    numbers = dictionary.encode(pa.array(np.arange(count)), "native")
    assert len(dictionary) == 2 * count
    assert np.array_equal(first, np.arange(count))
    assert np.array_equal(dictionary.encode(texts, "any"), first)
    assert np.array_equal(dictionary.encode(pa.array(np.arange(count)), "native"), numbers)
    assert dictionary.decode_text(first).equals(texts)
    dictionary.truncate(count // 2)
    assert np.array_equal(dictionary.encode(texts, "any"), first)
    assert dictionary.term(count - 1) == String(f"n{count - 1}")


class Terms(RuleBasedStateMachine):
    """The terms by id never change, never repeat, and are forgotten from the end only."""

    def __init__(self) -> None:
        super().__init__()
        self.dictionary = Dictionary(capacity=4)
        self.known: list[str] = []

    def check(self) -> None:
        found = [repr(self.dictionary.term(i)) for i in range(len(self.dictionary))]
        assert found[: len(self.known)] == self.known
        assert len(set(found)) == len(found)
        self.known = found

    @rule(term=every_term)
    def one(self, term: Term) -> None:
        number = self.dictionary.id_of(term)
        assert same(self.dictionary.term(number), term)
        assert self.dictionary.id_of(term) == number
        self.check()

    @rule(texts=st.lists(cells, max_size=10))
    def a_column(self, texts: list[str]) -> None:
        ids = self.dictionary.encode(pa.array(texts, pa.string()), "any")
        assert [self.dictionary.id_of(parse_any(text)) for text in texts] == ids.tolist()
        self.check()

    @rule(first=st.integers(-1000, 1000), count=st.sampled_from((10, 2000)))
    def many_numbers(self, first: int, count: int) -> None:
        numbers = range(first, first + count)
        ids = self.dictionary.encode(pa.array(numbers, pa.int64()), "native")
        assert [self.dictionary.term(int(i)) for i in ids[::50]] == [Integer(n) for n in numbers[::50]]
        assert len(set(ids.tolist())) == count
        self.check()

    @precondition(lambda self: self.known)
    @rule(data=st.data())
    def forget(self, data: st.DataObject) -> None:
        n = len(self.known)
        length = data.draw(st.one_of(st.integers(max(0, n - 4), n), st.integers(0, n)))
        self.dictionary.truncate(length)
        del self.known[length:]
        assert len(self.dictionary) == length
        self.check()


TestTerms = Terms.TestCase
TestTerms.settings = settings(
    max_examples=50, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
# Append to tests/engine/test_dictionary.py once IRIs with a hyphen are written as `format_any` says.


@MANY
@given(st.lists(every_term, max_size=20))
@example([IRI("a-b"), IRI("a-1"), IRI("http://a-b/"), String("a-b")])
def test_every_term_is_written_as_format_any_says(some: list[Term]) -> None:
    dictionary = Dictionary()
    written = dictionary.decode_text(dictionary.ids_of(some))
    raw = [written[i].as_buffer().to_pybytes() for i in range(len(written))]
    assert raw == [format_any(term).encode("utf-8", "surrogatepass") for term in some]
