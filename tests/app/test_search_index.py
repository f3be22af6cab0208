"""The search index against a plain search, row by row and word by word."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import OSA

from app.catalogue import search
from app.catalogue.search import SearchIndex
from model_store.words import words_of

letters = st.text("abé1", min_size=1, max_size=7)
sentences = st.lists(letters, max_size=5).map(" ".join)
tables = st.lists(sentences, max_size=12)
queries = st.lists(letters, min_size=1, max_size=3).map(" ".join)


def plain_words(text: str) -> list[str]:
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    kept = [sign for sign in text if not unicodedata.category(sign).startswith("M")]
    return "".join(sign if sign.isalnum() else " " for sign in kept).split()


def plain_score(wanted: str, word: str) -> float:
    length, forgiving = len(wanted), not any(sign.isdigit() for sign in wanted)
    if word == wanted:
        return 3
    if word.startswith(wanted):
        return 2
    if forgiving and length >= 4 and OSA.distance(wanted, word) == 1:
        return 1
    beginnings = [word[:size] for size in (length - 1, length, length + 1) if 0 < size <= len(word)]
    if (
        forgiving
        and length >= 5
        and any(
            OSA.distance(wanted, beginning) == 1 and beginning[-1] == wanted[-1] for beginning in beginnings
        )
    ):
        return 0.75
    return 0.5 if length >= 3 and wanted in word else 0


def plain_search(texts: list[str], query: str) -> list[int]:
    if not query.strip():
        return list(range(len(texts)))
    wanted, scores = set(plain_words(query)), {}
    for row, text in enumerate(texts):
        best = [max((plain_score(each, word) for word in plain_words(text)), default=0) for each in wanted]
        if best and all(best):
            scores[row] = sum(best)
    return sorted(scores, key=lambda row: (-scores[row], row))


@given(tables, queries)
def test_search_finds_what_a_plain_search_finds_in_the_same_order(texts: list[str], query: str) -> None:
    assert SearchIndex.of(texts).matches(query).tolist() == plain_search(texts, query)


@given(tables.filter(lambda texts: any(words_of(text) for text in texts)), st.data())
def test_search_for_a_changed_word_finds_what_a_plain_search_finds(
    texts: list[str], data: st.DataObject
) -> None:
    word = data.draw(st.sampled_from([word for text in texts for word in words_of(text)]))
    part = word[: data.draw(st.integers(1, len(word)))]
    place = data.draw(st.integers(0, len(part)))
    query = part[:place] + data.draw(st.text("ab", max_size=1)) + part[place + data.draw(st.integers(0, 1)) :]
    assert SearchIndex.of(texts).matches(query).tolist() == plain_search(texts, query)


@given(st.lists(st.text(max_size=12), max_size=6), st.text(max_size=8))
def test_search_in_any_unicode_is_that_of_the_plain_search(texts: list[str], query: str) -> None:
    assert [words_of(text) for text in texts] == [plain_words(text) for text in texts]
    assert SearchIndex.of(texts).matches(query).tolist() == plain_search(texts, query)


@given(tables, st.lists(st.dictionaries(st.integers(0, 14), sentences, max_size=5), max_size=4), queries)
@pytest.mark.parametrize("apart", [0, 3, 2_000])
def test_changed_index_equals_a_new_one(
    apart: int, texts: list[str], steps: list[dict[int, str]], query: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_MAX_CHANGED", apart)
        index, history = SearchIndex.of(texts), [list(texts)]
        indices = [index]
        for step in steps:
            size = max([len(history[-1]), *(row + 1 for row in step)])
            after = [*history[-1], *[""] * (size - len(history[-1]))]
            for row, text in step.items():
                after[row] = text
            indices.append(indices[-1].changed(size, step, lambda after=after: after))
            history.append(after)
        for each, expected in zip(indices, history, strict=True):  # also the old ones
            assert each.size == len(expected)
            assert each.matches(query).tolist() == plain_search(expected, query)
            assert each.matches("").tolist() == list(range(len(expected)))


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("chese", "missing"),
        ("cheeese", "too many"),
        ("cheise", "wrong"),
        ("chesee", "swapped"),
        ("hceese", "swapped at the beginning"),
        ("cheesse", "too many"),
        ("dheese", "wrong at the beginning"),
    ],
)
def test_one_typo_is_forgiven_in_a_word_and_in_its_beginning(query: str, kind: str) -> None:
    index = SearchIndex.of(["Milk", "Cheeseburger", "Blue cheese", "Choice"])
    assert index.matches(query).tolist() == [2, 1], kind


@pytest.mark.parametrize("query", ["chse", "chs", "cheseee", "xheexe", "che3se"])
def test_two_typos_short_words_and_numbers_are_not_forgiven(query: str) -> None:
    assert SearchIndex.of(["Cheese", "Chess 2024"]).matches(query).tolist() == []
    assert SearchIndex.of(["Cheese", "Chess 2024"]).matches("2025").tolist() == []


def test_typo_in_a_beginning_must_be_before_its_last_letter() -> None:
    index = SearchIndex.of(["Cheeseburger", "Window"])
    assert [index.matches(query).tolist() for query in ("cheex", "cheexs", "windx", "wnido")] == [
        [],
        [0],
        [],
        [1],
    ]


def test_better_matches_come_first_and_popular_ones_among_equals() -> None:
    texts = ["Webcam", "Camp", "Camera", "Cam", "Dark cam", "Cart"]
    assert SearchIndex.of(texts).matches("cam").tolist() == [3, 4, 1, 2, 0]


def test_all_words_must_match_in_any_order() -> None:
    index = SearchIndex.of(["Red wine glass", "Red wine", "White wine", "Wine, dark red"])
    assert index.matches("wine red").tolist() == [0, 1, 3]
    assert index.matches("wine wine red").tolist() == [0, 1, 3]
    assert index.matches("gl wi re").tolist() == [0]


@pytest.mark.parametrize("query", ["creme brulee", "CRÈME BRÛLÉE", "Creme\u0300 bru\u0302lee"])
def test_accents_and_case_do_not_matter(query: str) -> None:
    assert SearchIndex.of(["Cream", "Crème brûlée", "CREME BRULEE"]).matches(query).tolist() == [1, 2]


def test_other_scripts_and_ligatures_are_words_too() -> None:
    index = SearchIndex.of(["Straße", "Сыр", "½ ﬁsh", "日本酒", "हिन्दी"])
    assert [index.matches(query).tolist() for query in ("strasse", "СЫР", "fish", "日本", "हिन्दी")] == [
        [0], [1], [2], [3], [4],
    ]  # fmt: skip


def test_ids_with_hyphens_are_found_by_their_parts() -> None:
    index = SearchIndex.of(["Lamp sku-1234-b", "Lamp sku_1235"])
    assert index.matches("sku-1234-b").tolist() == [0]
    assert index.matches("SKU 123").tolist() == [0, 1]


def test_row_with_the_id_comes_first_even_if_no_word_matches() -> None:
    index = SearchIndex.of(["wine", "red", "wine"])
    assert index.matches("wine", first=2).tolist() == [2, 0]
    assert index.matches("wine", first=1).tolist() == [1, 0, 2]
    assert index.matches("--", first=1).tolist() == [1]


def test_blank_query_matches_all_rows_and_one_without_words_none() -> None:
    index = SearchIndex.of(["b", "a", ""])
    assert index.matches("  ").tolist() == [0, 1, 2]
    assert index.matches("?!").tolist() == []
    assert index.matches("").dtype == index.matches("a").dtype == np.intp


def test_empty_index_finds_nothing() -> None:
    assert SearchIndex.of([]).matches("cheese").tolist() == []
    assert SearchIndex.of([]).changed(2, {1: "cheese"}, list).matches("chese").tolist() == [1]
