"""Items, conditions and rules by the client."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, get_type_hints

import pytest
from tripod_client import AsyncTripod, ProblemError, Tripod, UnreadableAnswer
from tripod_client.arguments import ItemChange, RuleBody
from tripod_client.conditions import Condition

from tests.app.other_server import server_of
from tests.client.client_usage import change_the_catalogue

PHOTO: Condition = {"field": "category", "is": "Photo"}
FILM: Condition = {"all": [{"not": PHOTO}, {"field": "name", "in": ["film 0", "film 1"]}]}


def url_of(tripod: Tripod) -> str:
    return str(tripod._http.base_url)


def ids(answer: Any) -> list[str]:
    return [item["item_id"] for item in answer["items"]]


def test_item_from_its_creation_to_its_end(shop: Tripod) -> None:
    made = shop.put_item(
        "strap",
        name="Camera strap",
        category="Accessories",
        price=12,
        image_url="https://shop.example/strap.jpg",
        attributes={"leather": True, "colours": ["black", "brown"], "width": 3.5, "brand": "Riem"},
    )
    assert made == shop.get_item("strap")
    assert (made["cold"], made["count"], made["in_stock"], made["boost"]) == (True, None, True, 1)
    assert (made["image_url"], made["parent_id"]) == ("https://shop.example/strap.jpg", None)
    changed = shop.patch_item(
        "strap", price=10, image_url=None, parent_id="straps", attributes={"width": None, "brand": "Gurt"}
    )
    assert (changed["price"], changed["image_url"], changed["parent_id"]) == (10, None, "straps")
    assert changed["attributes"] == {"leather": True, "colours": ["black", "brown"], "brand": "Gurt"}
    replaced = shop.put_item("strap", name="Strap")
    assert (replaced["price"], replaced["category"], replaced["attributes"]) == (None, None, {})
    shop.delete_item("strap")
    for call in (shop.get_item, shop.delete_item):
        with pytest.raises(ProblemError) as caught:
            call("strap")
        assert caught.value.type == "urn:tripod:problem:item-not-found"


def test_null_restores_the_values_of_the_model(shop: Tripod) -> None:
    before = shop.get_item("camera-0")
    assert not before["cold"]
    shop.put_item("camera-0", name="The camera", price=1, in_stock=False)
    shop.delete_item("camera-0")
    assert "camera-0" not in ids(shop.search_items("camera-0"))
    assert shop.put_item("camera-0", name="The camera")["price"] == before["price"]
    assert shop.patch_item("camera-0", name=None) == before


def test_many_changes_as_a_list(shop: Tripod) -> None:
    changes: list[ItemChange] = [
        {"item_id": "camera-0", "in_stock": False},
        {"item_id": "camera-1", "price": -1},
        {"item_id": "nothing", "price": 1},
        {"item_id": "new", "name": "Größe\u2028zwei"},
        {"item_id": "half", "name": "\ud800"},
    ]
    answer = shop.patch_items(changes)
    assert (answer["changed"], answer["failed_count"]) == (2, 3)
    assert [(each["line"], each["errors"][0]["where"]) for each in answer["failed"]] == [
        (2, "price"),
        (3, "item_id"),
        (5, "line"),
    ]
    assert shop.get_item("camera-0")["in_stock"] is False
    assert shop.get_item("new")["name"] == "Größe\u2028zwei"
    assert shop.patch_items([])["changed"] == 0


def test_many_changes_as_a_stream(shop: Tripod) -> None:
    def stock() -> Iterator[ItemChange]:
        for number in range(20_000):
            yield {"item_id": f"new-{number % 50}", "name": f"New {number}", "price": 1 + number % 100}

    assert shop.patch_items(stock()) == {"changed": 20_000, "failed_count": 0, "failed": []}
    assert shop.get_item("new-49")["name"] == "New 19999"

    async def send() -> int:
        async with AsyncTripod(url_of(shop), admin_key="a-key-of-16-or-more") as tripod:
            return (await tripod.patch_items(change for change in stock()))["changed"]

    assert asyncio.run(send()) == 20_000


def test_exported_items_can_be_sent_back(shop: Tripod) -> None:
    shop.put_item("new", name="Größe\u2028zwei", attributes={"sizes": ["S", "M"]}, parent_id="p")
    exported = list(shop.export_items())
    assert len(exported) == 61
    last = exported[-1]
    assert (last["item_id"], last["name"], last["attributes"]) == (
        "new",
        "Größe\u2028zwei",
        {"sizes": ["S", "M"]},
    )
    assert set(last) == set(get_type_hints(ItemChange))
    assert shop.patch_items(shop.export_items())["changed"] == 61
    assert list(shop.export_items()) == exported

    async def read() -> list[ItemChange]:
        async with AsyncTripod(url_of(shop), admin_key="a-key-of-16-or-more") as tripod:
            return [item async for item in tripod.export_items()]

    assert asyncio.run(read()) == exported
    with Tripod(url_of(shop)) as stranger, pytest.raises(ProblemError, match="X-Admin-Key"):
        next(stranger.export_items())


def test_answers_that_are_no_exports() -> None:
    with (
        server_of(b"{}") as url,
        Tripod(url) as tripod,
        pytest.raises(UnreadableAnswer, match="list of items"),
    ):
        next(tripod.export_items())
    for body in (b'{"item_id": "a"}\n[]\n', b'{"item_id": "a"}\n{"item'):
        with server_of(body, Content_Type="application/x-ndjson") as url, Tripod(url) as tripod:
            items = tripod.export_items()
            assert next(items) == {"item_id": "a"}
            with pytest.raises(UnreadableAnswer, match="one of its lines is not a JSON object"):
                next(items)


def test_wrong_changes_raise_type_error(served: str) -> None:
    with Tripod(served) as tripod:
        for wrong in (
            "camera-0",
            {"item_id": "camera-0"},
            ["camera-0"],
            [{"price": 1}],
            iter([{"price": 1}]),
        ):
            with pytest.raises(TypeError, match="item_id"):
                tripod.patch_items(wrong)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="JSON compliant"):
            tripod.patch_items([{"item_id": "camera-0", "price": float("nan")}])


def test_search_with_conditions(shop: Tripod) -> None:
    shop.patch_items([{"item_id": f"camera-{group}", "attributes": {"zoom": group}} for group in range(15)])
    shop.patch_item("camera-14", in_stock=False)
    zoomed: Condition = {"field": "zoom", "ge": 10}
    answer = shop.search_items("camrea", filter=zoomed)
    assert set(ids(answer)) == {f"camera-{group}" for group in range(10, 15)}
    assert (answer["total"], answer["categories"]) == (5, [{"category": "Photo", "items": 5}])
    assert shop.search_items("camera", filter=zoomed, in_stock=True)["total"] == 4
    first = shop.search_items(filter=zoomed, limit=3)
    second = shop.search_items(filter=zoomed, limit=3, cursor=first["next_cursor"])
    assert len({*ids(first), *ids(second)}) == 5
    facets = shop.search_items(category="Photo", limit=1)
    assert [entry["category"] for entry in facets["categories"]] == ["Photo", "Accessories"]
    with pytest.raises(ProblemError, match="did you mean zoom") as caught:
        shop.search_items(filter={"field": "zom", "exists": True})
    assert caught.value.status == 422
    with pytest.raises(ProblemError, match="did you mean 'Photo'"):
        shop.search_items(category="Foto")


def test_conditions_wherever_items_are_chosen(served: str) -> None:
    with Tripod(served) as tripod:
        for answer in (
            tripod.recommend(items=["camera-0"], filter=PHOTO),
            tripod.recommend_batch([["camera-0"], []], filter=PHOTO)["results"][1],
            tripod.find_bundles(items=["camera-0"], k=2, filter=PHOTO)["bundles"][0],
            tripod.related_items("camera-0", "substitute", filter=PHOTO),
        ):
            assert answer["items"]
            assert {item["category"] for item in answer["items"]} == {"Photo"}
        assert ids(tripod.recommend(filter=FILM)) == ["film-0", "film-1"]
        assert ids(tripod.related_items("camera-0", filter={"field": "id", "is": "film-0"})) == ["film-0"]
        parts: list[Condition] = [PHOTO, {"field": "id", "is": "film-0"}]
        assert ids(tripod.recommend(filter={"all": parts})) == []
        assert "film-0" in ids(tripod.recommend(filter={"any": parts}, k=60))
        nothing: Condition = {"any": [{"field": "price", "lt": 0}, {"field": "price", "exists": False}]}
        (camera,) = tripod.substitutes(items=["camera-0"], replace=["camera-0"], filter=nothing)["items"]
        assert camera["replacements"] == []
        (camera,) = tripod.substitutes(items=["camera-0"], replace=["camera-0"], filter=PHOTO)["items"]
        assert [each["item_id"] for each in camera["replacements"]] == ["compact-0"]


def test_variants(shop: Tripod) -> None:
    shop.patch_items([{"item_id": f"film-{group}", "parent_id": "film"} for group in range(3)])
    listed = ids(shop.recommend(items=["camera-0"], k=60))
    assert len({"film-0", "film-1", "film-2"} & set(listed)) == 1
    assert not {"film-0", "film-1"} & set(ids(shop.recommend(items=["film-2"], k=60)))
    offered = ids(shop.recommend(items=["film-2"], k=60, variants=True))
    assert len({"film-0", "film-1"} & set(offered)) == 1


def test_rules_from_draft_to_deletion(shop: Tripod) -> None:
    draft: RuleBody = {"name": "Film first", "then": {"action": "pin", "item_id": "film-9"}}
    before = shop.recommend(items=["camera-0"], k=3)
    preview = shop.preview_rules(items=["camera-0"], k=3, draft=draft)
    assert ids(preview)[0] == "film-9"
    assert [item["item_id"] for item in preview["without_rules"]] == ids(before)
    (effect,) = preview["effects"]
    assert (effect["rule_id"], effect["applies"], effect["entered"]) == ("draft", True, ["film-9"])
    assert effect["left"] == ids(before)[2:]
    assert preview["probability"] is not None
    assert preview["probability_without_rules"] is not None
    lost = preview["probability_without_rules"] - preview["probability"]
    assert effect["cost"] == pytest.approx(lost)
    assert ids(shop.recommend(items=["camera-0"], k=3)) == ids(before)

    rule = shop.put_rule("film-first", **draft)
    assert rule == shop.get_rule("film-first")
    assert (rule["active"], rule["problem"], rule["priority"], rule["enabled"]) == (True, None, 0, True)
    first = shop.recommend(items=["camera-0"], k=3)["items"][0]
    assert (first["item_id"], first["rules"]) == ("film-9", ["film-first"])
    shop.add_items("ruled", "camera-0")
    instead: RuleBody = {"name": "None", "then": {"action": "hide", "items": {"field": "id", "is": "film-9"}}}
    tried = shop.preview_rules("ruled", k=3, draft=instead, draft_replaces="film-first")
    assert ids(tried) == ids(before)
    shop.delete_rule("film-first")
    assert shop.list_rules() == {"rules": []}
    with pytest.raises(ProblemError) as caught:
        shop.delete_rule("film-first")
    assert caught.value.type == "urn:tripod:problem:rule-not-found"


def test_actions_times_and_order_of_rules(shop: Tripod) -> None:
    now = datetime.now(UTC)
    shop.put_rule("b", name="B", then={"action": "boost", "items": FILM, "factor": 500}, priority=1)
    shop.put_rule("a", name="A", then={"action": "at_most", "items": PHOTO, "most": 2})
    shop.put_rule("c", name="C", then={"action": "bury", "items": PHOTO}, enabled=False)
    later = shop.put_rule(
        "d",
        name="D",
        when={"cart_has": PHOTO, "cart_lacks": FILM, "starts_at": now + timedelta(days=1), "ends_at": None},
        then={"action": "hide", "items": FILM},
    )
    assert [rule["rule_id"] for rule in shop.list_rules()["rules"]] == ["b", "a", "c", "d"]
    assert [rule["active"] for rule in shop.list_rules()["rules"]] == [True, True, False, False]
    assert datetime.fromisoformat(later["when"]["starts_at"]) == now + timedelta(days=1)
    items = shop.recommend(items=["camera-3"], k=20)["items"]
    assert {item["item_id"] for item in items[:2]} == {"film-0", "film-1"}
    assert sum(item["category"] == "Photo" for item in items) == 2
    with pytest.raises(ValueError, match="starts_at must have a time zone"):
        shop.put_rule(
            "e", name="E", when={"starts_at": datetime(2026, 1, 1)}, then={"action": "hide", "items": FILM}
        )
    assert shop.put_rule("preview", name="P", then={"action": "hide", "items": FILM})["rule_id"] == "preview"
    shop.delete_rule("preview")
    with pytest.raises(ProblemError, match="no item 'nothing'"):
        shop.put_rule("e", name="E", then={"action": "pin", "item_id": "nothing"})


def test_conditions_of_rules_are_kept_as_they_are(shop: Tripod) -> None:
    shop.patch_item("film-9", attributes={"vegan": True, "size": 1, "brand": "F"})
    fields: list[Condition] = [
        {"field": "vegan", "is": True},
        {"field": "size", "is": 1},
        {"field": "brand", "in": ["F", "G"]},
        {"field": "vegan", "exists": True},
    ]
    for condition in (*fields, {"all": fields}, {"not": {"any": [{"not": part} for part in fields]}}):
        rule = shop.put_rule("r", name="R", then={"action": "boost", "items": condition, "factor": 1000})
        assert (rule["then"]["items"], rule["problem"]) == (condition, None)
        assert isinstance(rule["then"]["items"].get("is", True), bool) == (condition != fields[1])
        assert ids(shop.recommend(k=1)) == ["film-9"]


def test_typed_example_of_catalogue_calls(shop: Tripod) -> None:
    shop.patch_item("camera-0", attributes={"vegan": True})
    assert change_the_catalogue(shop)["attributes"] == {"vegan": True, "sizes": ["S", "M"]}
