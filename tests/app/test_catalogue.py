"""The catalogue API: items that the shop creates, changes, deletes and exports, variants, conditions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually, get_json, ids_of, problem
from tests.app.app_shop import item_ids, publish

NDJSON = {"Content-Type": "application/x-ndjson"}
LENS: dict[str, Any] = {
    "name": "Zoom lens",
    "category": "Photo > Lenses",
    "price": 250.0,
    "in_stock": True,
    "boost": 1.5,
    "image_url": "https://shop.example/lens.jpg",
    "parent_id": "lenses",
    "attributes": {"brand": "Okular", "zoom": 4, "weather": True, "fits": ["reflex", "compact"]},
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A service for this file, whose tests change the catalogue."""
    store = tmp_path_factory.mktemp("catalogue") / "store"
    publish(store)
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready().client


@pytest.fixture(autouse=True)
def _clean(request: pytest.FixtureRequest) -> Iterator[None]:
    """Undo what a test did to the catalogue."""
    yield
    if "own" not in request.fixturenames:
        return
    own: httpx.Client = request.getfixturevalue("own")
    for line in own.get("/items/export").text.splitlines():
        item = json.loads(line)
        if item["item_id"] not in item_ids():
            assert own.delete(f"/items/{item['item_id']}").status_code == 204
    reset = dict.fromkeys(["name", "category", "price", "in_stock", "boost", "image_url", "parent_id"])
    changes = [{"item_id": item_id, **reset} for item_id in item_ids()]
    own.patch("/items", json={"items": changes})


def change(own: httpx.Client, *items: dict[str, Any]) -> dict[str, Any]:
    answer = own.patch("/items", json={"items": list(items)})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_new_item_is_created_read_replaced_and_deleted(own: httpx.Client) -> None:
    answer = own.put("/items/lens-1", json=LENS)
    assert answer.status_code == 201, answer.text
    assert answer.json() == {"item_id": "lens-1", **LENS, "count": None, "cold": True}
    assert own.get("/items/lens-1").json() == answer.json()
    again = own.put("/items/lens-1", json={"name": "Lens"})
    assert again.status_code == 200
    assert again.json()["attributes"] == {}
    assert again.json()["price"] is None
    assert own.delete("/items/lens-1").status_code == 204
    assert problem(own.get("/items/lens-1")) == (404, "item-not-found")
    assert problem(own.delete("/items/lens-1")) == (404, "item-not-found")
    assert problem(own.patch("/items/lens-1", json={"name": "Lens"})) == (404, "item-not-found")
    assert own.put("/items/lens-1", json={"name": "Back"}).status_code == 201


@pytest.mark.parametrize("item_id", ["export", "zz/related", "/related"])
def test_id_whose_address_is_another_page_is_refused(own: httpx.Client, item_id: str) -> None:
    refused = own.put(f"/items/{item_id}", json={"name": "Lens"})
    assert problem(refused) == (422, "invalid-request")
    assert refused.json()["errors"][0]["where"] == "path.item_id"
    answer = change(own, {"item_id": item_id, "name": "Lens"}, {"item_id": "zz", "name": "Lens"})
    assert (answer["changed"], answer["failed_count"]) == (1, 1)
    assert answer["failed"][0]["errors"][0]["where"] == "item_id"
    assert f'"{item_id}"' not in own.get("/items/export").text


def test_known_item_can_be_renamed_and_moved(own: httpx.Client) -> None:
    before = own.get("/items/film-3").json()
    changed = own.patch("/items/film-3", json={"name": "Colour film", "category": "Photo>Film"}).json()
    assert changed == {**before, "name": "Colour film", "category": "Photo > Film"}
    assert ids_of(get_json(own, "/items", q="colour")) == ["film-3"]
    assert "film-3" in ids_of(get_json(own, "/items", category="photo"))
    assert {"category": "Photo > Film", "items": 1} in get_json(own, "/categories")["categories"]
    recommended = {item["item_id"]: item for item in get_json(own, "/recommend", k=100)["items"]}
    assert recommended["film-3"]["name"] == "Colour film"
    restored = own.patch("/items/film-3", json={"name": None, "category": None}).json()
    assert restored == before


def test_attributes_are_merged_and_removed_one_by_one(own: httpx.Client) -> None:
    own.patch("/items/film-3", json={"attributes": {"iso": 200, "colour": True}})
    changed = own.patch("/items/film-3", json={"attributes": {"iso": 400, "colour": None, "kind": ["a"]}})
    assert changed.json()["attributes"] == {"iso": 400, "kind": ["a"]}
    assert own.patch("/items/film-3", json={"attributes": None}).json()["attributes"] == {}


def test_deleted_item_of_the_model_is_not_shown_anywhere(own: httpx.Client) -> None:
    assert own.delete("/items/tripod-4").status_code == 204
    assert problem(own.get("/items/tripod-4")) == (404, "item-not-found")
    assert "tripod-4" not in ids_of(get_json(own, "/recommend", items="camera-4", k=100, in_stock=False))
    assert "tripod-4" not in ids_of(get_json(own, "/items/camera-4/related"))
    assert "tripod-4" not in ids_of(get_json(own, "/items", q="tripod", limit=200))
    bundle = get_json(own, "/bundles", items="camera-4", k=2, method="greedy")["bundles"][0]
    assert "tripod-4" not in [item["item_id"] for item in bundle["items"]]
    assert "tripod-4" not in own.get("/items/export").text
    assert get_json(own, "/recommend", items="tripod-4", k=1)["cart"]["items"] == ["tripod-4"]  # still known
    assert own.put("/items/tripod-4", json={"name": "Tripod 4"}).status_code == 201


def test_export_can_be_sent_back(own: httpx.Client) -> None:
    own.put("/items/lens-1", json=LENS)
    answer = own.get("/items/export")
    assert answer.headers["content-type"] == "application/x-ndjson"
    lines = answer.text.splitlines()
    assert [json.loads(line)["item_id"] for line in lines] == [*item_ids(), "lens-1"]
    assert json.loads(lines[-1]) == {"item_id": "lens-1", **LENS}
    assert own.delete("/items/lens-1").status_code == 204
    sent = own.patch("/items", content=answer.content, headers=NDJSON).json()
    assert (sent["changed"], sent["failed_count"]) == (len(lines), 0)
    assert own.get("/items/export").text == answer.text


def test_wrong_changes_are_listed_and_do_not_stop_the_others(own: httpx.Client) -> None:
    lines = [
        '{"item_id": "film-0", "price": 3}',
        "{not JSON}",
        "",
        '{"item_id": "film-1", "prize": 3}',
        '{"item_id": "no such item", "price": 3}',
        '{"item_id": "new-1", "name": "New"}',
        '{"item_id": "film-2"}',
        '{"item_id": "film-0", "boost": 2}',
    ]
    answer = own.patch("/items", content="\n".join(lines), headers=NDJSON).json()
    assert (answer["changed"], answer["failed_count"]) == (3, 4)
    assert [failed["line"] for failed in answer["failed"]] == [2, 4, 5, 7]
    assert [failed["errors"][0]["where"] for failed in answer["failed"]] == [
        "line",
        "prize",
        "item_id",
        "line",
    ]
    assert "give it a name to create it" in answer["failed"][2]["errors"][0]["message"]
    film = own.get("/items/film-0").json()
    assert (film["price"], film["boost"]) == (3, 2)
    assert own.get("/items/new-1").json()["cold"]
    as_json = change(own, {"item_id": "film-0", "price": 4}, {"item_id": "film-1", "boost": -1})
    assert (as_json["changed"], as_json["failed"][0]["line"]) == (1, 2)


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"[]", {"Content-Type": "application/json"}, 422),
        (b'{"items": []}', {"Content-Type": "application/json"}, 422),
        (b'{"items": [], "other": 1}', {"Content-Type": "application/json"}, 422),
        (b"{", {"Content-Type": "application/json"}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (
            json.dumps({"items": [{"item_id": "a", "price": 1}] * 10_001}).encode(),
            {"Content-Type": "application/json"},
            422,
        ),
    ],
)
def test_wrong_bodies_are_refused(
    own: httpx.Client, body: bytes, headers: dict[str, str], status: int
) -> None:
    answer = own.patch("/items", content=body, headers=headers)
    assert problem(answer)[0] == status


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", ""),
        ("name", None),
        ("price", "3"),
        ("price", -1),
        ("in_stock", 1),
        ("image_url", "javascript:alert(1)"),
        ("image_url", "//other.example/a.png"),
        ("category", "Photo > "),
        ("parent_id", ".."),
        ("attributes", {"price": 3}),
        ("attributes", {"a b": 3}),
        ("attributes", {"a": {"b": 1}}),
        ("attributes", {"a": [1]}),
        ("attributes", {"a": None}),
        ("attributes", {"a": "x" * 257}),
        ("attributes", {f"a{n}": 1 for n in range(51)}),
        ("colour", "red"),
    ],
)
def test_wrong_items_are_refused_and_change_nothing(own: httpx.Client, field: str, value: object) -> None:
    answer = own.put("/items/lens-2", json={"name": "Lens", field: value})
    assert problem(answer) == (422, "invalid-request")
    assert answer.json()["errors"][0]["where"].startswith(f"body.{field}")
    assert own.get("/items/lens-2").status_code == 404


def test_changes_need_the_admin_key(own: httpx.Client) -> None:
    with httpx.Client(base_url=own.base_url) as anyone:
        assert anyone.put("/items/a", json={"name": "A"}).status_code == 401
        assert anyone.patch("/items", json={"items": []}).status_code == 401
        assert anyone.delete("/items/film-0").status_code == 401
        assert anyone.get("/items/export").status_code == 401


def test_one_condition_means_the_same_everywhere(own: httpx.Client) -> None:
    change(
        own,
        *({"item_id": f"film-{n}", "attributes": {"iso": 100 * n, "colour": n % 2 == 0}} for n in range(15)),
        {"item_id": "tripod-3", "attributes": {"iso": 300}},
    )
    condition = {"all": [{"field": "category", "in": ["accessories"]}, {"field": "iso", "ge": 300, "lt": 600},
                         {"not": {"field": "colour", "is": True}}]}  # fmt: skip
    wanted = {"film-3", "film-5", "tripod-3"}
    text = json.dumps(condition)
    assert set(ids_of(get_json(own, "/items", filter=text))) == wanted
    assert set(ids_of(get_json(own, "/recommend", filter=text, k=100))) == wanted
    body = own.post("/recommend", json={"items": ["camera-3"], "filter": condition, "k": 100}).json()
    assert set(ids_of(body)) == wanted
    assert set(ids_of(get_json(own, "/items/camera-3/related", filter=text, k=100))) <= wanted
    bundles = own.post(
        "/bundles", json={"items": ["camera-3"], "k": 2, "method": "greedy", "filter": condition}
    )
    assert {item["item_id"] for item in bundles.json()["bundles"][0]["items"]} <= wanted
    batch = own.post("/recommend/batch", json={"carts": [{"items": []}], "filter": condition, "k": 9}).json()
    assert set(ids_of(batch["results"][0])) == wanted


def test_unknown_names_in_conditions_and_parameters_get_near_ones(own: httpx.Client) -> None:
    for route in ("/recommend", "/items", "/bundles", "/items/camera-3/related"):
        wrong = own.get(route, params={"filter": '{"field": "prise", "lt": 3}'})
        assert problem(wrong) == (422, "invalid-request")
        assert wrong.json()["errors"][0]["where"] == "query.filter.field"
        assert "did you mean price" in wrong.json()["detail"]
        category = own.get(route, params={"category": "Foto"})
        assert "did you mean 'Photo'?" in category.json()["errors"][0]["message"]
        found = own.get(route, params={"category": "photo"})
        assert found.status_code == 200
    posted = own.post("/recommend", json={"filter": {"all": [{"field": "category", "is": "Akcessories"}]}})
    assert posted.json()["errors"][0]["where"] == "body.filter.all.0.is"
    garbled = own.get("/recommend", params={"filter": "{"})
    assert problem(garbled) == (422, "invalid-request")


def test_answer_holds_one_variant_and_none_of_those_in_the_cart(own: httpx.Client) -> None:
    change(own, *({"item_id": f"film-{n}", "parent_id": "films"} for n in range(6)))
    listed = ids_of(get_json(own, "/recommend", k=100))
    films = [item_id for item_id in listed if item_id in {f"film-{n}" for n in range(6)}]
    assert len(films) == 1
    assert len(ids_of(get_json(own, "/recommend", k=20))) == 20  # other items take their places
    with_film = get_json(own, "/recommend", items="film-2", k=100)
    assert not {f"film-{n}" for n in range(6)} & set(ids_of(with_film))
    asked = get_json(own, "/recommend", items="film-2", variants=True, k=100)
    assert len({f"film-{n}" for n in range(6)} & set(ids_of(asked))) == 1


def test_parent_that_is_an_item_belongs_to_its_variants(own: httpx.Client) -> None:
    change(own, {"item_id": "film-1", "parent_id": "film-0"})
    listed = ids_of(get_json(own, "/recommend", k=100))
    assert len({"film-0", "film-1"} & set(listed)) == 1
    assert "film-1" not in ids_of(get_json(own, "/recommend", items="film-0", k=100))


def test_search_counts_categories_and_forgives(own: httpx.Client) -> None:
    own.put("/items/lens-1", json=LENS)
    page = get_json(own, "/items", q="lnes zoom")  # letters swapped, other order
    assert ids_of(page) == ["lens-1"]
    page = get_json(own, "/items", q="camera", limit=5)
    assert (page["total"], len(page["items"])) == (15, 5)
    assert page["categories"] == [{"category": "Photo", "items": 15}]
    narrowed = get_json(own, "/items", q="3", category="Accessories")
    assert {entry["category"] for entry in narrowed["categories"]} == {"Photo", "Accessories"}
    assert {item["category"] for item in narrowed["items"]} == {"Accessories"}
    in_stock = get_json(own, "/items", q="tripod", in_stock=True, limit=200)
    assert "tripod-1" not in ids_of(in_stock)


def test_catalogue_survives_restart_swap_and_rollback(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    first = publish(tmp_path / "store")
    settings = {"REDIS_URL": valkey.url, "TRIPOD_ADMIN_KEY": ADMIN_KEY}
    service = start(**settings).ready()
    service.client.headers["X-Admin-Key"] = ADMIN_KEY
    service.client.put("/items/lens-1", json=LENS)
    service.client.patch("/items/film-0", json={"name": "Film of the shop"})
    service.client.delete("/items/film-1")
    rule = {"name": "Lens first", "then": {"action": "pin", "item_id": "lens-1", "position": 1}}
    assert service.client.put("/rules/lens", json=rule).status_code == 201

    def state(client: httpx.Client) -> tuple[Any, ...]:
        return (
            client.get("/items/lens-1").json() == {"item_id": "lens-1", **LENS, "count": None, "cold": True},
            client.get("/items/film-0").json()["name"],
            client.get("/items/film-1").status_code,
            ids_of(get_json(client, "/recommend", items="camera-0", k=3))[0],
        )

    expected = (True, "Film of the shop", 404, "lens-1")
    assert state(service.client) == expected
    other = start(**settings).ready()  # another process of the same shop
    assert state(other.client) == expected
    service.process.kill()
    service.process.wait()
    restarted = start(**settings).ready()
    restarted.client.headers["X-Admin-Key"] = ADMIN_KEY
    assert state(restarted.client) == expected
    second = publish(tmp_path / "store", strength=0.5)
    for version in (second, first):
        restarted.client.post(f"/models/{version}/activate")
        eventually(
            lambda version=version: get_json(restarted.client, "/recommend")["model_version"] == version,
            "the version is not served",
        )
        assert state(restarted.client) == expected


def test_processes_agree_about_what_one_has_just_accepted(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    settings = {"REDIS_URL": valkey.url, "TRIPOD_ADMIN_KEY": ADMIN_KEY, "TRIPOD_POLL_SECONDS": "60"}
    one, two = (start(**settings).ready().client for _ in range(2))
    for client in (one, two):
        client.headers["X-Admin-Key"] = ADMIN_KEY
    assert one.put("/items/lens-1", json=LENS).status_code == 201
    assert two.put("/items/lens-1", json=LENS).status_code == 200
    assert one.put("/items/lens-2", json=LENS).status_code == 201
    rule = {"name": "Lens", "then": {"action": "pin", "item_id": "lens-2"}}
    assert two.put("/rules/lens", json=rule).status_code == 201
    assert one.put("/items/lens-3", json=LENS).status_code == 201
    draft = {"name": "Lens", "then": {"action": "pin", "item_id": "lens-3"}}
    assert two.post("/rules/preview", json={"draft": draft}).json()["items"][0]["item_id"] == "lens-3"
