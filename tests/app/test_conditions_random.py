"""Random conditions on random items, compared with a plain evaluation of one item after the other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.catalogue.attributes import BUILT_IN
from app.catalogue.conditions import Condition
from app.catalogue.matching import Misfit, compiled
from tests.app.condition_columns import Item, columns_of

texts = st.sampled_from(["a", "A", "b", "Straße", "STRASSE"])
numbers = st.sampled_from([-1, 0, 0.5, 1, 2])
attribute = st.one_of(texts, numbers, st.booleans(), st.lists(texts, max_size=3))
paths = st.sampled_from(["A", "a > B", "A > b > C", "Ab", "B", "A > > B"])
catalogues = st.lists(
    st.fixed_dictionaries(
        {
            "id": texts,
            "name": st.none() | texts,
            "category": st.none() | paths,
            "price": st.none() | numbers,
            "in_stock": st.booleans(),
            "parent_id": st.none() | texts,
            "attributes": st.dictionaries(st.sampled_from(["u", "v", "price"]), attribute, max_size=3),
        }
    ),
    max_size=6,
)
fields = st.sampled_from([*BUILT_IN, "u", "v", "w"])
values = st.one_of(texts, paths, numbers, st.booleans())
bounds = st.dictionaries(st.sampled_from(["lt", "le", "gt", "ge"]), numbers, min_size=1)
leaves = st.one_of(
    st.builds(lambda name, value: {"field": name, "is": value}, fields, values),
    st.builds(
        lambda name, each: {"field": name, "in": each}, fields, st.lists(values, min_size=1, max_size=3)
    ),
    st.builds(lambda name, each: {"field": name, **each}, fields, bounds),
    st.builds(lambda name, is_there: {"field": name, "exists": is_there}, fields, st.booleans()),
)
conditions = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(lambda parts: {"all": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda parts: {"any": parts}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=8,
)


def value_of(item: Item, name: str) -> Any:
    return item[name] if name in BUILT_IN else item["attributes"].get(name)


def is_one(item: Item, name: str, wanted: Any) -> bool:
    value = value_of(item, name)
    if isinstance(wanted, bool) or isinstance(value, bool):
        return value is wanted
    if not isinstance(wanted, str):
        return isinstance(value, int | float) and value == wanted
    folded = wanted.casefold()
    if name == "category" and value is not None:
        return value.casefold() == folded or value.casefold().startswith(folded + " > ")
    members = value if isinstance(value, list) else [value]
    return any(isinstance(member, str) and member.casefold() == folded for member in members)


def compares(item: Item, condition: Item) -> bool:
    value = value_of(item, condition["field"])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return (
        ("lt" not in condition or value < condition["lt"])
        and ("le" not in condition or value <= condition["le"])
        and ("gt" not in condition or value > condition["gt"])
        and ("ge" not in condition or value >= condition["ge"])
    )


def meets(item: Item, condition: Item) -> bool:
    if "all" in condition:
        return all(meets(item, part) for part in condition["all"])
    if "any" in condition:
        return any(meets(item, part) for part in condition["any"])
    if "not" in condition:
        return not meets(item, condition["not"])
    if "exists" in condition:
        return (value_of(item, condition["field"]) is not None) == condition["exists"]
    if "is" in condition or "in" in condition:
        wanted = [condition["is"]] if "is" in condition else condition["in"]
        return any(is_one(item, condition["field"], each) for each in wanted)
    return compares(item, condition)


def leaves_of(condition: Item) -> list[Item]:
    parts = condition.get("all") or condition.get("any") or ([condition["not"]] if "not" in condition else [])
    return [leaf for part in parts for leaf in leaves_of(part)] if parts else [condition]


BUILT_IN_KINDS = {"id": str, "name": str, "category": str, "price": float, "in_stock": bool, "parent_id": str}


def kind(value: Any) -> type:
    return bool if isinstance(value, bool) else float if isinstance(value, int | float) else str


def is_sane(leaf: Item, items: list[Item]) -> bool:
    """Whether the field is known, has values of the right type, and the category is known."""
    name = leaf["field"]
    kinds = {BUILT_IN_KINDS[name]} if name in BUILT_IN else {
        kind(item["attributes"][name]) for item in items if name in item["attributes"]
    }  # fmt: skip
    wanted = [leaf["is"]] if "is" in leaf else leaf.get("in", [])
    if not kinds or any(kind(each) not in kinds for each in wanted):
        return False
    if {"lt", "le", "gt", "ge"} & leaf.keys() and float not in kinds:
        return False
    return name != "category" or all(any(is_one(item, name, each) for item in items) for each in wanted)


@given(catalogues, conditions)
def test_random_condition_finds_what_a_plain_evaluation_finds(items: list[Item], condition: Item) -> None:
    try:
        parsed = Condition.model_validate(condition)
    except ValidationError as error:
        assert all(
            "no number is above" in part["msg"] or "nested more than" in part["msg"]
            for part in error.errors()
        )
        return
    sane = all(is_sane(leaf, items) for leaf in leaves_of(condition))
    if not sane:
        with pytest.raises(Misfit):
            compiled(parsed, columns_of(items))
        return
    expected = [meets(item, condition) for item in items]
    assert compiled(parsed, columns_of(items)).tolist() == expected


@given(catalogues.filter(bool), st.sampled_from(["all", "any"]), st.data())
def test_random_sane_conditions_combine_as_in_a_plain_evaluation(
    items: list[Item], combined: str, data: st.DataObject
) -> None:
    sane = leaves.filter(lambda leaf: is_sane(leaf, items))
    parts = data.draw(st.lists(sane | sane.map(lambda leaf: {"not": leaf}), min_size=1, max_size=3))
    condition = {combined: parts}
    try:
        parsed = Condition.model_validate(condition)
    except ValidationError as error:
        assert all("no number is above" in part["msg"] for part in error.errors())
        return
    assert compiled(parsed, columns_of(items)).tolist() == [meets(item, condition) for item in items]


ITEMS: list[Item] = [
    {"id": "a", "name": "A", "category": "A > B", "price": 1.0, "in_stock": True, "parent_id": None,
     "attributes": {"x": 1, "u": ["a"], "v": True}}
]  # fmt: skip
names = st.sampled_from(["all", "any", "not", "field", "is", "in", "lt", "ge", "exists", "x"])
garbage = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), fields),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(names | st.text(max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(garbage)
def test_garbage_raises_nothing_but_errors_for_the_client(value: Any) -> None:
    try:
        compiled(Condition.model_validate(value), columns_of(ITEMS))
    except ValidationError as error:
        assert str(error)
    except Misfit as misfit:
        assert str(misfit.problem())
