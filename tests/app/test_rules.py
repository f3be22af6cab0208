"""Rules over HTTP: each kind, when they apply, their order, preview, and what answers say about them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from app.rules.store import MOST_RULES
from tests.app.app_process import ADMIN_KEY, Service, eventually, get_json, ids_of, problem
from tests.app.app_shop import publish
from tests.app.bundle_shop import publish_bundles

PHOTO = {"field": "category", "is": "Photo"}
FILMS = {"field": "id", "in": [f"film-{n}" for n in range(15)]}
CAMERA = {"field": "id", "is": "camera-3"}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service for this file, whose tests change the rules."""
    store = tmp_path_factory.mktemp("rules") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready().client


@pytest.fixture(autouse=True)
def _clean(own: httpx.Client) -> Iterator[None]:
    yield
    for rule in get_json(own, "/rules")["rules"]:
        assert own.delete(f"/rules/{rule['rule_id']}").status_code == 204


def put(own: httpx.Client, rule_id: str, then: dict[str, Any], **rest: Any) -> dict[str, Any]:
    answer = own.put(f"/rules/{rule_id}", json={"name": rule_id, "then": then, **rest})
    assert answer.status_code in (200, 201), answer.text
    found: dict[str, Any] = answer.json()
    return found


def listed(own: httpx.Client, items: str = "camera-3", k: int = 10, **query: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = get_json(own, "/recommend", items=items, k=k, **query)["items"]
    return found


def ids(items: list[dict[str, Any]]) -> list[str]:
    return [item["item_id"] for item in items]


def test_pin_shows_an_item_at_its_position(own: httpx.Client) -> None:
    before = listed(own)
    assert "compact-9" not in ids(before)[:3]
    put(own, "pin", {"action": "pin", "item_id": "compact-9", "position": 3})
    after = listed(own)
    others = [item_id for item_id in ids(before) if item_id != "compact-9"]
    assert ids(after) == [*others[:2], "compact-9", *others[2:9]]
    assert after[2]["rules"] == ["pin"]
    assert all(item["rules"] == [] for item in after if item["item_id"] != "compact-9")
    alone = {item["item_id"]: item["probability"] for item in listed(own, k=59)}
    assert after[2]["probability"] == pytest.approx(alone["compact-9"])  # a rule does not change it
    assert [item["rank"] for item in after] == list(range(1, 11))


@pytest.mark.parametrize(
    "query",
    [
        {"exclude": "compact-9"},
        {"category": "Accessories"},
        {"items": "camera-3,compact-9"},
        {"max_price": 11},
    ],
)
def test_pinned_item_must_pass_the_filters_and_not_be_in_the_cart(
    own: httpx.Client, query: dict[str, Any]
) -> None:
    put(own, "pin", {"action": "pin", "item_id": "compact-9", "position": 1})
    assert "compact-9" not in ids(listed(own, **query))
    own.patch("/items/compact-9", json={"in_stock": False})
    assert "compact-9" not in ids(listed(own))
    assert ids(listed(own, in_stock=False))[0] == "compact-9"
    own.patch("/items/compact-9", json={"in_stock": None})


def test_second_pin_of_the_last_place_takes_no_place(own: httpx.Client) -> None:
    best = ids(listed(own))[0]
    put(own, "first", {"action": "pin", "item_id": "compact-9", "position": 2}, priority=2)
    put(own, "second", {"action": "pin", "item_id": "compact-12", "position": 2})
    assert ids(listed(own, k=2)) == [best, "compact-9"]
    assert ids(listed(own, k=3)) == [best, "compact-9", "compact-12"]


def test_pinned_variant_that_is_sold_out_leaves_the_place_to_another(own: httpx.Client) -> None:
    changes = [{"item_id": item_id, "parent_id": "compacts"} for item_id in ("compact-9", "compact-12")]
    own.patch("/items", json={"items": changes})
    put(own, "first", {"action": "pin", "item_id": "compact-9"}, priority=2)
    put(own, "second", {"action": "pin", "item_id": "compact-12"})
    assert ids(listed(own))[0] == "compact-9"
    assert "compact-12" not in ids(listed(own, k=59))
    own.patch("/items/compact-9", json={"in_stock": False})
    assert ids(listed(own))[0] == "compact-12"
    reset = [{**change, "parent_id": None, "in_stock": None} for change in changes]
    own.patch("/items", json={"items": reset})


def test_boost_and_bury_multiply_what_the_order_is_by(own: httpx.Client) -> None:
    before = {item["item_id"]: item["probability"] for item in listed(own, k=59)}
    for action, factor in (("boost", 5.0), ("bury", 0.2)):
        put(own, "factor", {"action": action, "items": FILMS, "factor": factor})
        after = listed(own, k=59)
        marks = {
            item_id: probability * (factor if item_id.startswith("film") else 1)
            for item_id, probability in before.items()
        }
        assert ids(after) == sorted(before, key=lambda item_id: -marks[item_id])
        for item in after:
            assert item["probability"] == pytest.approx(before[item["item_id"]])
            assert item["rules"] == (["factor"] if item["item_id"].startswith("film") else [])


def test_hide_and_at_most_leave_a_full_list(own: httpx.Client) -> None:
    before = ids(listed(own, k=59))
    put(own, "hide", {"action": "hide", "items": FILMS})
    assert ids(listed(own)) == [item_id for item_id in before if not item_id.startswith("film")][:10]
    own.delete("/rules/hide")
    put(own, "limit", {"action": "at_most", "items": PHOTO, "most": 2})
    after = listed(own)
    photo = [item["item_id"] for item in after if item["category"] == "Photo"]
    other = [item_id for item_id in before if item_id.split("-")[0] in ("tripod", "film")]
    assert photo == [item_id for item_id in before if item_id not in other][:2]
    assert [item_id for item_id in ids(after) if item_id not in photo] == other[:8]
    assert sorted(ids(after), key=before.index) == ids(after)
    assert all(item["rules"] == ["limit"] for item in after if item["category"] == "Photo")


def test_rule_applies_to_carts_that_have_or_lack_items(own: httpx.Client) -> None:
    hide = {"action": "hide", "items": FILMS}
    put(own, "has", hide, when={"cart_has": CAMERA})
    assert "film-3" not in ids(listed(own, "camera-3", k=59))
    assert "film-3" in ids(listed(own, "camera-4", k=59))
    assert "film-3" in ids(listed(own, "", k=60))
    put(own, "has", hide, when={"cart_lacks": CAMERA})
    assert "film-3" in ids(listed(own, "camera-3", k=59))
    assert "film-3" not in ids(listed(own, "camera-4", k=59))


def test_rule_applies_within_its_dates(own: httpx.Client) -> None:
    hide, now = {"action": "hide", "items": FILMS}, datetime.now(UTC)
    soon, past = (now + timedelta(hours=1)).isoformat(), (now - timedelta(hours=1)).isoformat()
    assert not put(own, "dates", hide, when={"starts_at": soon})["active"]
    assert "film-3" in ids(listed(own, k=59))
    assert put(own, "dates", hide, when={"starts_at": past, "ends_at": soon})["active"]
    assert "film-3" not in ids(listed(own, k=59))
    put(own, "dates", hide, when={"ends_at": past})
    assert "film-3" in ids(listed(own, k=59))


def test_rule_begins_at_its_time_although_answers_are_cached(own: httpx.Client) -> None:
    begin = datetime.now(UTC) + timedelta(seconds=2)
    put(own, "soon", {"action": "hide", "items": FILMS}, when={"starts_at": begin.isoformat()})
    first = own.get("/recommend", params={"items": "camera-3", "k": 59})
    assert "film-3" in ids_of(first.json())
    tag = first.headers["etag"]

    def changed() -> httpx.Response | None:
        again = own.get("/recommend", params={"items": "camera-3", "k": 59}, headers={"If-None-Match": tag})
        return again if again.status_code == 200 else None

    answer = eventually(changed, "the answer does not change when the rule begins")
    assert datetime.now(UTC) >= begin
    assert "film-3" not in ids_of(answer.json())


def test_order_of_rules_decides_who_pins_and_hides(own: httpx.Client) -> None:
    put(own, "a", {"action": "pin", "item_id": "film-8", "position": 1}, priority=1)
    put(own, "b", {"action": "pin", "item_id": "film-9", "position": 1}, priority=2)
    assert ids(listed(own))[:2] == ["film-9", "film-8"]
    put(own, "c", {"action": "hide", "items": {"field": "id", "is": "film-9"}}, priority=3)
    assert ids(listed(own))[0] == "film-8"
    put(own, "c", {"action": "hide", "items": {"field": "id", "is": "film-9"}}, priority=0)
    assert ids(listed(own))[0] == "film-9"  # pinned by a rule before
    rules = get_json(own, "/rules")["rules"]
    assert [rule["rule_id"] for rule in rules] == ["b", "a", "c"]


def test_rule_can_be_switched_off(own: httpx.Client) -> None:
    then = {"action": "hide", "items": FILMS}
    assert not put(own, "off", then, enabled=False)["active"]
    assert "film-3" in ids(listed(own, k=59))
    assert put(own, "off", then, enabled=True)["active"]
    assert "film-3" not in ids(listed(own, k=59))


def test_rules_apply_to_batches_and_bundles(own: httpx.Client) -> None:
    put(own, "hide", {"action": "hide", "items": FILMS}, when={"cart_has": CAMERA})
    carts = [{"items": ["camera-3"]}, {"items": ["camera-4"]}]
    batch = own.post("/recommend/batch", json={"carts": carts, "k": 59}).json()["results"]
    assert ["film-3" in ids_of(result) for result in batch] == [False, True]
    bundle = get_json(own, "/bundles", items="camera-3", k=5, method="greedy")["bundles"][0]
    assert not any(item_id.startswith("film") for item_id in ids_of(bundle))


def test_limits_of_rules_and_variants_hold_in_bundles(tmp_path_factory: pytest.TempPathFactory) -> None:
    store = tmp_path_factory.mktemp("bundles") / "store"
    publish_bundles(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        shop = running.ready().client
        shop.headers["X-Admin-Key"] = ADMIN_KEY
        query: dict[str, Any] = {"items": "camera-3", "k": 3}
        first = ids_of(get_json(shop, "/bundles", **query)["bundles"][0])
        two = {"field": "id", "in": first[:2]}
        put(shop, "limit", {"action": "at_most", "items": two, "most": 1})
        limited = get_json(shop, "/bundles", **query)["bundles"][0]
        assert len(set(first[:2]) & set(ids_of(limited))) == 1
        assert {item["item_id"]: item["rules"] for item in limited["items"]} == {
            item_id: ["limit"] if item_id in first[:2] else [] for item_id in ids_of(limited)
        }
        shop.delete("/rules/limit")
        for item_id in first[:2]:
            shop.patch(f"/items/{item_id}", json={"parent_id": "one parent"})
        variants = ids_of(get_json(shop, "/bundles", **query)["bundles"][0])
        assert len(set(first[:2]) & set(variants)) == 1
        with_one = get_json(shop, "/bundles", items=f"camera-3,{first[0]}", k=3)["bundles"][0]
        assert first[1] not in ids_of(with_one)


def test_preview_says_what_each_rule_changes_and_costs(own: httpx.Client) -> None:
    plain = listed(own, k=5)
    put(own, "pin", {"action": "pin", "item_id": "compact-9", "position": 1}, priority=5)
    put(
        own,
        "elsewhere",
        {"action": "hide", "items": FILMS},
        when={"cart_has": {"field": "id", "is": "tripod-0"}},
    )
    draft = {"name": "Draft", "then": {"action": "hide", "items": {"field": "id", "is": plain[0]["item_id"]}}}
    answer = own.post("/rules/preview", json={"items": ["camera-3"], "k": 5, "draft": draft}).json()
    assert [item["item_id"] for item in answer["without_rules"]] == ids(plain)
    first, *_ = answer["items"]
    assert (first["item_id"], first["rules"], first["rank_without_rules"]) == ("compact-9", ["pin"], None)
    effects = {effect["rule_id"]: effect for effect in answer["effects"]}
    assert [effect["rule_id"] for effect in answer["effects"]] == ["pin", "draft", "elsewhere"]
    assert effects["pin"]["entered"] == ["compact-9"]
    assert effects["pin"]["left"] == [plain[4]["item_id"]]
    assert effects["pin"]["moved"] == ids(plain)[:4]
    assert effects["draft"]["left"] == [plain[0]["item_id"]]
    assert not effects["elsewhere"]["applies"]
    assert effects["elsewhere"]["cost"] == 0
    shown = sum(item["probability"] for item in answer["items"])
    before = sum(item["probability"] for item in plain)
    assert answer["probability"] == pytest.approx(shown)
    assert answer["probability_without_rules"] == pytest.approx(before)
    assert sum(effect["cost"] for effect in answer["effects"]) == pytest.approx(before - shown)
    assert ids(listed(own, k=5)) == ["compact-9", *ids(plain)[:4]]  # the draft was not stored


def test_preview_of_a_changed_rule(own: httpx.Client) -> None:
    put(own, "pin", {"action": "pin", "item_id": "compact-9", "position": 1})
    draft = {"name": "Second", "then": {"action": "pin", "item_id": "compact-9", "position": 2}}
    request = {"items": ["camera-3"], "k": 5, "draft": draft, "draft_replaces": "pin"}
    answer = own.post("/rules/preview", json=request).json()
    assert [item["item_id"] for item in answer["items"]][1] == "compact-9"
    assert len(answer["effects"]) == 1
    alone = own.post("/rules/preview", json={"items": ["camera-3"], "draft_replaces": "pin"})
    assert problem(alone) == (422, "invalid-request")


@pytest.mark.parametrize(
    ("rule", "where"),
    [
        ({"then": {"action": "pin", "item_id": "no such item"}}, "body.then.item_id"),
        ({"then": {"action": "hide", "items": {"field": "prise", "lt": 3}}}, "body.then.items.field"),
        ({"then": {"action": "hide", "items": PHOTO},
          "when": {"cart_has": {"field": "category", "is": "Foto"}}}, "body.when.cart_has.is"),
        ({"then": {"action": "shout", "items": PHOTO}}, "body.then"),
        ({"then": {"action": "boost", "items": PHOTO, "factor": 0.5}}, "body.then.boost.factor"),
        ({"then": {"action": "at_most", "items": PHOTO}}, "body.then.at_most.most"),
        ({"then": {"action": "hide", "items": PHOTO}, "when": {"starts_at": "2026-01-01T00:00:00"}},
         "body.when.starts_at"),
        ({"then": {"action": "hide", "items": PHOTO}, "name": ""}, "body.name"),
        ({}, "body.then"),
    ],
)  # fmt: skip
def test_wrong_rules_are_refused(own: httpx.Client, rule: dict[str, Any], where: str) -> None:
    answer = own.put("/rules/wrong", json={"name": "Wrong", **rule})
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["where"] == where
    assert own.get("/rules/wrong").status_code == 404


def test_rule_about_what_the_catalogue_has_lost_has_no_effect_and_says_so(own: httpx.Client) -> None:
    own.put("/items/lens-1", json={"name": "Lens", "attributes": {"zoom": 3}})
    put(own, "zoom", {"action": "hide", "items": {"field": "zoom", "ge": 1}})
    assert "lens-1" not in ids(listed(own, k=60))
    own.delete("/items/lens-1")
    rule = own.get("/rules/zoom").json()
    assert not rule["active"]
    assert "there is no field 'zoom'" in rule["problem"]
    assert len(listed(own)) == 10


def test_rules_need_the_admin_key_and_are_few(own: httpx.Client) -> None:
    with httpx.Client(base_url=own.base_url) as anyone:
        assert anyone.get("/rules").status_code == 401
        assert anyone.put("/rules/a", json={}).status_code == 401
        assert anyone.post("/rules/preview", json={}).status_code == 401
    assert problem(own.get("/rules/none")) == (404, "rule-not-found")
    assert problem(own.delete("/rules/none")) == (404, "rule-not-found")
    for number in range(MOST_RULES):
        put(own, f"rule-{number}", {"action": "hide", "items": CAMERA})
    full = own.put("/rules/one-more", json={"name": "x", "then": {"action": "hide", "items": CAMERA}})
    assert problem(full) == (409, "too-many-rules")
