"""Conditions on items: each form, errors and limits."""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from app.catalogue.attributes import AttributeColumns, Columns
from app.catalogue.conditions import MAX_DEPTH, MAX_PARTS, Condition
from app.catalogue.matching import Misfit, compiled
from tests.app.condition_columns import Item, columns_of

WINE: list[Item] = [
    {"id": "w1", "name": "Red Wine", "category": "Drinks > Wine", "price": 12.0, "in_stock": True,
     "parent_id": "wine", "attributes": {"vegan": True, "year": 2020, "tags": ["Dry", "red"]}},
    {"id": "w2", "name": "White wine", "category": "Drinks > Wine", "price": 25.0, "in_stock": False,
     "parent_id": "wine", "attributes": {"vegan": False, "year": "unknown", "tags": []}},
    {"id": "C1", "name": "Brie", "category": "Cheese", "price": None, "in_stock": True, "parent_id": None,
     "attributes": {}},
    {"id": "x", "name": None, "category": None, "price": 20.0, "in_stock": True, "parent_id": None,
     "attributes": {"country": "FRANCE", "year": 2021.5}},
]  # fmt: skip

FIELDS = "id, name, category, price, in_stock, parent_id, country, tags, vegan, year"


def rows(condition: Any, items: list[Item] = WINE) -> list[int]:
    return np.flatnonzero(compiled(Condition.model_validate(condition), columns_of(items))).tolist()


def refusal(condition: Any) -> tuple[str, str]:
    with pytest.raises(Misfit) as caught:
        rows(condition)
    (error,) = caught.value.problem().document()["errors"]
    return error["where"], error["message"]


def parse_errors(condition: Any) -> list[tuple[str, str]]:
    with pytest.raises(ValidationError) as caught:
        Condition.model_validate(condition)
    return [(".".join(map(str, part["loc"])), part["msg"]) for part in caught.value.errors()]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"field": "id", "is": "c1"}, [2]),
        ({"field": "name", "in": ["RED WINE", "brie", "none"]}, [0, 2]),
        ({"field": "parent_id", "is": "Wine"}, [0, 1]),
        ({"field": "category", "is": "drinks"}, [0, 1]),
        ({"field": "category", "in": ["Cheese", "Drinks > wine"]}, [0, 1, 2]),
        ({"field": "in_stock", "is": False}, [1]),
        ({"field": "price", "is": 12}, [0]),
        ({"field": "price", "lt": 20}, [0]),
        ({"field": "price", "le": 20}, [0, 3]),
        ({"field": "price", "gt": 12, "le": 25}, [1, 3]),
        ({"not": {"field": "price", "ge": 0}}, [2]),
        ({"field": "vegan", "is": True}, [0]),
        ({"not": {"field": "vegan", "is": True}}, [1, 2, 3]),
        ({"field": "year", "ge": 2020}, [0, 3]),
        ({"field": "year", "in": ["Unknown", 2020]}, [0, 1]),
        ({"field": "tags", "is": "DRY"}, [0]),
        ({"field": "tags", "exists": True}, [0, 1]),
        ({"field": "country", "in": ["france", "Italy"]}, [3]),
        ({"field": "price", "exists": False}, [2]),
        ({"field": "category", "exists": True}, [0, 1, 2]),
        ({"all": [{"field": "category", "is": "Drinks"}, {"field": "price", "lt": 20}]}, [0]),
        ({"any": [{"field": "id", "is": "x"}, {"field": "vegan", "is": False}]}, [1, 3]),
    ],
)
def test_each_form_finds_its_rows(condition: Any, expected: list[int]) -> None:
    assert rows(condition) == expected


def test_built_in_field_goes_before_an_attribute_of_the_same_name() -> None:
    items = [WINE[0] | {"attributes": {"price": 1}}]
    assert rows({"field": "price", "is": 12}, items) == [0]
    assert rows({"field": "price", "is": 1}, items) == []


@pytest.mark.parametrize(
    "category", ["Food > Dairy > Cheese > Blue", "food > dairy", "Food > Dairy > Cheese"]
)
def test_category_is_found_by_each_level_above_it(category: str) -> None:
    items = [
        WINE[0] | {"category": each} for each in ("Food > Dairy > Cheese > Blue", "Food > Dairyless", "Food")
    ]
    condition = Condition.model_validate({"field": "category", "is": category})
    assert compiled(condition, columns_of(items)).tolist() == [True, False, False]
    assert columns_of(items).categories.mask(category).tolist() == [True, False, False]


def test_category_that_lost_its_rows_is_still_known() -> None:
    columns = columns_of(WINE[:1])
    moved = Columns(
        **{**vars(columns), "categories": columns.categories.changed({0: "Food"}, np.zeros(1, bool))}
    )
    for category, expected in (("Drinks", False), ("Drinks > Wine", False), ("Food", True)):
        condition = Condition.model_validate({"field": "category", "is": category})
        assert compiled(condition, moved).tolist() == [expected]


def test_values_of_a_newer_release_are_no_values() -> None:
    strange: Any = {"a": None, "b": {"c": 1}, "c": 10**400, "d": float("nan"), "e": ["x", 1, None]}
    columns = AttributeColumns.of(1, {0: strange})
    assert columns.names == ["e"]
    assert [columns.column(name) for name in "abcdz"] == [None] * 5
    column = columns.column("e")
    assert column is not None and column.equal(["X"]).tolist() == [True]
    assert columns.column("e") is column


@pytest.mark.parametrize(
    ("condition", "where", "message"),
    [
        ({"field": "prise", "lt": 1}, ".field",
         "there is no field 'prise': did you mean price? There are " + FIELDS),
        ({"all": [{"not": {"field": "Contry", "is": "x"}}]}, ".all.0.not.field",
         "there is no field 'Contry': did you mean country or category? There are " + FIELDS),
        ({"field": "zzzzzz", "exists": True}, ".field",
         "there is no field 'zzzzzz', only " + FIELDS),
        ({"any": [{"field": "category", "in": ["cheese", "Drink"]}]}, ".any.0.in.1",
         "there is no category 'Drink': did you mean 'Drinks' or 'Drinks > Wine'? /categories lists all"),
        ({"field": "category", "is": "qqqqqqq"}, ".is",
         "there is no category 'qqqqqqq'; /categories lists all"),
        ({"field": "price", "is": "x"}, ".is", "a text does not suit 'price', which is a number"),
        ({"field": "price", "in": [1, True]}, ".in.1",
         "true or false does not suit 'price', which is a number"),
        ({"field": "id", "is": 4}, ".is", "a number does not suit 'id', which is a text"),
        ({"field": "category", "is": 4}, ".is", "a number does not suit 'category', which is a text"),
        ({"field": "year", "is": True}, ".is",
         "true or false does not suit 'year', which is a text or a number"),
        ({"field": "vegan", "lt": 4}, ".field", "'vegan' is no number but true or false"),
        ({"field": "tags", "ge": 4}, ".field", "'tags' is no number but a text"),
    ],
)  # fmt: skip
def test_unknown_names_and_wrong_types_are_refused(condition: Any, where: str, message: str) -> None:
    assert refusal(condition) == (f"body.filter{where}", message)


@pytest.mark.parametrize(
    ("condition", "where", "message"),
    [
        ([], "", 'it must be an object such as {"field": "price", "lt": 20}'),
        ({}, "", "a condition has the member all, any, not or field"),
        ({"all": [{"fild": "a"}]}, "all.0", "a condition has the member all, any, not or field"),
        ({"field": "price"}, "", "say what the field must be: is, in, exists, lt, le, gt, ge"),
        ({"any": [{"field": "a", "is": 1, "lt": 2}]}, "any.0.lt",
         "there is no 'lt' here, only field, is: combine conditions with \"all\""),
        ({"all": [], "x{}": 1}, "x{}", "there is no 'x{}' here, only all"),
        ({"not": {"all": []}}, "not.all", "List should have at least 1 item after validation, not 0"),
        ({"field": "a", "is": None}, "is", "it must be a text, a number, true or false"),
        ({"field": "a", "in": ["b", {}]}, "in.1", "it must be a text, a number, true or false"),
        ({"field": "a", "is": "b" * 257}, "is", "a text has at most 256 characters"),
        ({"field": "a", "lt": None}, "lt", "it must be a number"),
        ({"field": "a", "gt": float("inf")}, "gt", "it must be a number"),
        ({"field": "a", "gt": 10**400}, "gt", "it must be a number"),
        ({"field": "a", "ge": True}, "ge", "it must be a number"),
        ({"field": "a" * 257, "ge": 1}, "field", "String should have at most 256 characters"),
        ({"field": "a", "exists": 1}, "exists", "Input should be a valid boolean"),
        ({"field": "a", "in": ["b"] * 1001}, "in", "List should have at most 1000 items after validation"),
    ],
)  # fmt: skip
def test_malformed_condition_is_refused_at_its_place(condition: Any, where: str, message: str) -> None:
    ((found, text),) = parse_errors(condition)
    assert found == where
    assert text.removeprefix("Value error, ").startswith(message)


def test_bounds_without_a_number_between_them_are_refused() -> None:
    ((where, message),) = parse_errors({"all": [{"field": "a", "ge": 3, "lt": 2}]})
    assert (where, message.removeprefix("Value error, ")) == ("all.0", "no number is above 3 and below 2")


def nested(levels: int) -> Item:
    condition: Item = {"field": "id", "is": "x"}
    for _ in range(levels - 1):
        condition = {"not": condition}
    return condition


def test_depth_and_number_of_parts_are_limited() -> None:
    leaf = {"field": "id", "is": "x"}
    assert rows(nested(MAX_DEPTH)) == [0, 1, 2]
    assert parse_errors(nested(MAX_DEPTH + 1)) == [("", "it is nested more than 8 deep")]
    assert rows({"all": [leaf] * (MAX_PARTS - 1)}) == [3]
    assert parse_errors({"all": [leaf] * MAX_PARTS}) == [("", "it has more than 100 parts")]
    assert parse_errors({"all": [{"any": [leaf] * 50}, {"any": [leaf] * 50}]})[0][1] == (
        "it has more than 100 parts"
    )


@pytest.mark.parametrize(
    "huge",
    [
        nested(100_000),
        {"all": [{"field": "a", "is": 1}] * 1_000_000},
        {"all": [1] * 1_000_000},
        {"all": [{"field": "a", "in": [None] * 1_000}] * 90},
        {"field": "a", "in": [None] * 1_000_000},
        {"field": "a", "is": "x" * 10_000_000},
        {"field": "a", **{str(name): 1 for name in range(100_000)}, "is": 1},
        {"all": [{"any": [{"all": [{}] * 100}] * 100}] * 100},
    ],
    ids=["deep", "parts", "numbers", "nulls in parts", "nulls", "text", "members", "bushy"],
)
def test_huge_condition_is_refused_at_once_with_few_errors(huge: Any) -> None:
    start = time.perf_counter()
    assert len(parse_errors(huge)) <= 2
    assert time.perf_counter() - start < 1


def test_cache_key_is_the_same_for_the_same_condition_only() -> None:
    def key(condition: Any) -> str:
        return Condition.model_validate(condition).cache_key()

    a, b = {"field": "price", "lt": 20, "ge": 1}, {"field": "category", "in": ["Wine", "Cheese"]}
    same = {"all": [b | {"in": ["cheese", "WINE", "wine"]}, {"ge": 1.0, "lt": 20.0, "field": "price"}]}
    assert key({"all": [a, b]}) == key(same)
    assert key({"field": "x", "is": "A"}) == key({"field": "x", "in": ["a"]})
    assert key({"field": "x", "lt": 0}) == key({"field": "x", "lt": -0.0})
    others = [a, b, {"all": [a]}, {"any": [a, b]}, {"not": a}, {"field": "price", "le": 20, "ge": 1}]
    others += [{"field": "x", "is": value} for value in (1, True, "1", "true")]
    others += [{"field": "x", "exists": True}, {"field": "x", "exists": False}]
    assert len({key(each) for each in others}) == len(others)


def test_condition_survives_its_own_json() -> None:
    given = {"all": [{"field": "a", "in": ["b", 1.0, True]}, {"not": {"field": "c", "ge": 1.0}}]}
    condition = Condition.model_validate(given)
    text = condition.model_dump_json(by_alias=True, exclude_none=True)
    assert json.loads(text) == given
    assert Condition.model_validate_json(text).cache_key() == condition.cache_key()
    assert Condition.model_validate(condition) is condition


def test_openapi_declares_every_form_with_the_names_of_its_members() -> None:
    schema = Condition.model_json_schema()
    forms = [schema["$defs"][each["$ref"].split("/")[-1]] for each in schema["$defs"]["Condition"]["anyOf"]]
    members = [sorted(form["properties"]) for form in forms]
    assert members == [
        ["all"], ["any"], ["not"], ["field", "is"], ["field", "in"],
        ["field", "ge", "gt", "le", "lt"], ["exists", "field"],
    ]  # fmt: skip
    assert all(form["additionalProperties"] is False and form["description"] for form in forms)
