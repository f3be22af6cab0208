"""HTTP semantics of all routes: HEAD, conditional requests, caching, content types, compression, paths."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from model_store import ModelStore
from tests.app.app_process import ADMIN_KEY, Service, Valkey, eventually, problem
from tests.app.app_shop import draft, item_ids, publish

FROM_CATALOGUE = [
    "/items?q=cam",
    "/items/camera-0",
    "/items/camera-0/related?k=3",
    "/categories",
    "/models/active",
    "/recommend?items=camera-0",
    "/bundles?k=2",
]
NOT_STORED = ["/carts/kept", "/recommend?cart_id=kept", "/bundles?cart_id=kept", "/training-jobs", "/healthz"]
SPECIAL_IDS = ["x/related", "a/b", "100%", "a%2Fb", "ü", "a,b", "with space", "a?b#c"]


@pytest.fixture(scope="module")
def cart(shop: httpx.Client) -> str:
    shop.post("/carts/kept/items", json={"item_id": "camera-0"})
    return "/carts/kept"


@pytest.mark.usefixtures("cart")
@pytest.mark.parametrize("path", [*FROM_CATALOGUE, *NOT_STORED, "/metrics", "/", "/openapi.json"])
def test_head_has_the_headers_of_get(shop: httpx.Client, path: str) -> None:
    head, get = shop.head(path), shop.get(path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    # The time in `took_ms` and the figures in the metrics change the length from one request to the next.
    changing = {"x-request-id", "date", "content-length"}
    assert {**head.headers, **dict.fromkeys(changing)} == {**get.headers, **dict.fromkeys(changing)}
    assert "content-length" in head.headers


def test_head_of_a_missing_cart_returns_404_without_a_body(shop: httpx.Client) -> None:
    missing = shop.head("/carts/nobody")
    assert (missing.status_code, missing.content) == (404, b"")
    assert shop.head("/recommend/batch").status_code == 405


def test_head_of_an_event_stream_ends_at_once(shop: httpx.Client) -> None:
    job = shop.post("/training-jobs", json={"data": "baskets.txt"}).json()["job_id"]
    try:
        head = shop.head(f"/training-jobs/{job}/events", timeout=10)
        assert head.status_code == 200
        assert head.headers["content-type"].startswith("text/event-stream")
        assert head.headers["cache-control"] == "no-cache"
        assert shop.get("/healthz").status_code == 200  # over the same connection
    finally:
        shop.post(f"/training-jobs/{job}/cancel")


def test_cart_with_matching_if_none_match_returns_304(shop: httpx.Client, cart: str) -> None:
    etag = shop.get(cart).headers["etag"]
    for named in (etag, f"W/{etag}", f'"other", {etag}', "*"):
        answer = shop.get(cart, headers={"If-None-Match": named})
        assert (answer.status_code, answer.content) == (304, b""), named
        assert answer.headers["etag"] == etag
        assert "content-type" not in answer.headers
    for named in ('"other"', etag.strip('"'), ""):
        assert shop.get(cart, headers={"If-None-Match": named}).status_code == 200, named
    assert shop.get("/carts/nobody", headers={"If-None-Match": "*"}).status_code == 404


@pytest.mark.parametrize("path", FROM_CATALOGUE)
def test_catalogue_response_with_matching_if_none_match_returns_304(shop: httpx.Client, path: str) -> None:
    first = shop.get(path)
    etag = first.headers["etag"]
    assert etag.startswith('W/"')
    assert first.headers["cache-control"] == "no-cache"
    again = shop.get(path, headers={"If-None-Match": etag})
    assert (again.status_code, again.content) == (304, b"")
    assert (again.headers["etag"], again.headers["cache-control"]) == (etag, "no-cache")
    assert shop.get(path, headers={"If-None-Match": '"other"'}).status_code == 200
    assert shop.head(path, headers={"If-None-Match": etag}).status_code == 304


def test_different_urls_have_different_etags(shop: httpx.Client) -> None:
    paths = [*FROM_CATALOGUE, "/recommend?items=camera-1", "/recommend?items=camera-0&k=3"]
    assert len({shop.get(path).headers["etag"] for path in paths}) == len(paths)
    missing = shop.get("/items/nothing", headers={"If-None-Match": "*"})
    assert missing.status_code == 404


def test_matching_etag_computes_no_gains(service: Service) -> None:
    shop = service.client
    etag = shop.get("/bundles?k=7").headers["etag"]
    before = service.metric("tripod_gains_computed_total")
    assert shop.get("/bundles?k=7", headers={"If-None-Match": etag}).status_code == 304
    assert service.metric("tripod_gains_computed_total") == before


def test_new_model_changes_every_etag(start: Callable[..., Service], tmp_path: Path) -> None:
    publish(tmp_path / "store")
    service = start().ready()
    before = {path: service.client.get(path).headers["etag"] for path in FROM_CATALOGUE}
    version = publish(tmp_path / "store")
    eventually(
        lambda: service.client.get("/models/active").json()["version"] == version,
        "the new model was not loaded",
    )
    for path, etag in before.items():
        answer = service.client.get(path, headers={"If-None-Match": etag})
        assert answer.status_code == 200, path
        assert answer.headers["etag"] != etag


def test_changed_item_changes_every_etag_in_every_process(
    start: Callable[..., Service], valkey: Valkey, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    one, two = (start(REDIS_URL=valkey.url, TRIPOD_ADMIN_KEY=ADMIN_KEY).ready().client for _ in range(2))

    def etags(shop: httpx.Client) -> dict[str, str]:
        return {path: shop.get(path).headers["etag"] for path in FROM_CATALOGUE}

    before = etags(one)
    assert etags(two) == before
    changed = one.patch("/items/film-9", json={"price": 3}, headers={"X-Admin-Key": ADMIN_KEY})
    assert changed.status_code == 200
    after = etags(one)
    assert not set(before.values()) & set(after.values())
    eventually(lambda: etags(two) == after, "the other process has other ETags")


@pytest.mark.usefixtures("cart")
@pytest.mark.parametrize("path", NOT_STORED)
def test_responses_with_carts_jobs_or_health_are_no_store(shop: httpx.Client, path: str) -> None:
    assert shop.get(path).headers["cache-control"] == "no-store"


def test_problems_and_post_responses_are_no_store(shop: httpx.Client) -> None:
    for answer in (shop.get("/nowhere"), shop.get("/items/nothing"), shop.post("/recommend", json={})):
        assert answer.headers["cache-control"] == "no-store"
        assert "etag" not in answer.headers


def test_quoted_star_in_if_match_is_an_etag(shop: httpx.Client, cart: str) -> None:
    quantity = {"json": {"quantity": 1}}
    refused = shop.put(f"{cart}/items/camera-0", **quantity, headers={"If-Match": '"*"'})
    assert problem(refused) == (412, "cart-changed")
    assert shop.put(f"{cart}/items/camera-0", **quantity, headers={"If-Match": "*"}).status_code == 200


def test_204_has_no_content_type(shop: httpx.Client) -> None:
    location = shop.post("/carts").headers["location"]
    deleted = shop.delete(location)
    assert deleted.status_code == 204
    assert "content-type" not in deleted.headers


@pytest.mark.parametrize("path", ["/recommend", "/recommend/batch", "/bundles", "/carts/x/items"])
@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_body_without_json_content_type_returns_415(shop: httpx.Client, path: str, kind: str | None) -> None:
    answer = shop.post(
        path, content=b'{"item_id": "a"}', headers={} if kind is None else {"Content-Type": kind}
    )
    assert problem(answer) == (415, "unsupported-media-type")
    assert "Content-Type: application/json" in answer.json()["detail"]


def test_json_content_type_with_parameters_or_suffix_is_accepted(shop: httpx.Client) -> None:
    for kind in ("application/json; charset=utf-8", "application/vnd.shop+json"):
        answer = shop.post("/recommend", content=b'{"k": 1}', headers={"Content-Type": kind})
        assert answer.status_code == 200, kind


def test_missing_admin_key_returns_401_and_wrong_one_403(shop: httpx.Client) -> None:
    with httpx.Client(base_url=shop.base_url) as client:
        for call in (
            lambda **more: client.patch("/items/film-1", json={"boost": 2}, **more),
            lambda **more: client.get("/training-jobs", **more),
        ):
            missing = call()
            assert problem(missing) == (401, "unauthorized")
            assert missing.headers["www-authenticate"] == 'ApiKey realm="tripod"'
            assert problem(call(headers={"X-Admin-Key": ""})) == (401, "unauthorized")
            assert problem(call(headers={"X-Admin-Key": ADMIN_KEY + "x"})) == (403, "forbidden")


@pytest.mark.parametrize(
    ("path", "body", "where", "text"),
    [
        (
            "/carts/x/items",
            {"item_id": "a", "amount": 2},
            "body.amount",
            "only shopper_id, item_id, quantity",
        ),
        ("/carts/x/items", {"items": [{"item_id": 7}]}, "body.items.0.item_id", "valid string"),
        ("/carts/x/items", {"items": [], "note": ""}, "body.note", "only shopper_id, items"),
        ("/recommend", {"boosts": {"item": {}}}, "body.boosts.item", "only items, categories"),
        ("/recommend/batch", {"carts": [{"cart": "a"}]}, "body.carts.0.cart", "only cart_id, items"),
        ("/training-jobs", {"options": {"step": 1}}, "body.options.step", "only kernel, rank"),
    ],
)
def test_invalid_body_member_is_named_by_its_path(
    shop: httpx.Client, path: str, body: Any, where: str, text: str
) -> None:
    answer = shop.post(path, json=body)
    assert problem(answer) == (422, "invalid-request")
    messages = {part["where"]: part["message"] for part in answer.json()["errors"]}
    assert text in messages[where]


def test_unknown_query_parameter_error_lists_the_known_ones(shop: httpx.Client) -> None:
    detail = shop.get("/items/camera-0/related", params={"kk": 3}).json()["detail"]
    known = "filter, exclude, category, min_price, max_price, in_stock, relation, k"
    assert detail == f"query.kk: there is no 'kk' here, only {known}."


def test_long_responses_are_compressed_if_the_client_accepts_gzip(service: Service) -> None:
    with httpx.Client(base_url=service.client.base_url) as client:

        def raw(path: str, encoding: str) -> tuple[httpx.Headers, bytes]:
            with client.stream("GET", path, headers={"Accept-Encoding": encoding}) as answer:
                return answer.headers, b"".join(answer.iter_raw())

        headers, packed = raw("/items?limit=60", "gzip")
        assert headers["content-encoding"] == "gzip"
        assert "Accept-Encoding" in headers["vary"]
        plain_headers, plain = raw("/items?limit=60", "identity")
        assert "content-encoding" not in plain_headers
        assert gzip.decompress(packed) == plain
        assert len(packed) < len(plain) / 3
        short, _ = raw("/recommend?items=camera-0,tripod-1&k=10&explain=true", "gzip")
        assert "content-encoding" not in short


def draft_with_special_ids() -> Any:
    planted = draft()
    ids = (*SPECIAL_IDS, *item_ids()[len(SPECIAL_IDS) :])
    return replace(planted, items=replace(planted.items, ids=ids))


@pytest.fixture(scope="module")
def special_shop(tmp_path_factory: pytest.TempPathFactory) -> Any:
    store = tmp_path_factory.mktemp("special") / "store"
    models = ModelStore(store)
    models.activate(models.publish(draft_with_special_ids()))
    with Service(store, TRIPOD_ADMIN_KEY=ADMIN_KEY) as running:
        running.client.headers["X-Admin-Key"] = ADMIN_KEY
        yield running.ready().client


@pytest.mark.parametrize("item_id", SPECIAL_IDS)
def test_item_with_special_characters_in_its_id_is_reachable(
    special_shop: httpx.Client, item_id: str
) -> None:
    path = quote(item_id, safe="")
    assert special_shop.get(f"/items/{path}").json()["item_id"] == item_id
    assert special_shop.get(f"/items/{path}/related").json()["item_id"] == item_id
    assert special_shop.patch(f"/items/{path}", json={"price": 3}).json()["price"] == 3
    line = f"/carts/special/items/{path}"
    assert special_shop.put(line, json={"quantity": 2}).json()["items"] == [
        {"item_id": item_id, "quantity": 2}
    ]
    assert special_shop.delete(line).json()["items"] == []


def test_unencoded_slashes_in_item_ids_work(special_shop: httpx.Client) -> None:
    assert special_shop.get("/items/a/b").json()["item_id"] == "a/b"
    assert special_shop.get("/items/a/b/related").json()["item_id"] == "a/b"
    related_to_x = special_shop.get("/items/x/related")
    assert related_to_x.status_code == 404  # item x does not exist


def test_query_lists_item_ids_as_json_array_or_separated_by_commas(special_shop: httpx.Client) -> None:
    def considered(items: Any) -> list[str]:
        answer = special_shop.get("/recommend", params={"items": items})
        cart = answer.json()["cart"]
        return [*cart["items"], *cart["unknown_items"]]

    assert considered('["a,b", "ü"]') == ["a,b", "ü"]
    assert considered("a/b,ü") == considered(["a/b", "ü"]) == ["a/b", "ü"]
    assert considered(['["a,b"]', "ü"]) == ["a,b", "ü"]
    assert considered("[x],ü") == ["ü", "[x]"]  # an id may begin with a bracket
    bundles = special_shop.get("/bundles", params={"items": '["a,b"]', "exclude": '["ü"]', "k": 2}).json()
    assert bundles["cart"]["items"] == ["a,b"]
    for broken in ('["a","b"', '["a", 3]'):
        answer = special_shop.get("/recommend", params={"items": broken})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("query.items")


@pytest.mark.parametrize("item_id", [".", ".."])
def test_dots_are_refused_as_item_ids_and_cart_ids(shop: httpx.Client, item_id: str) -> None:
    shop.post("/carts/dotted/items", json={"item_id": "camera-0"})
    refused = shop.post("/carts/dotted/items", json={"item_id": item_id})
    assert problem(refused) == (422, "invalid-request")
    assert "neither `.` nor `..`" in refused.json()["detail"]
    encoded = "".join(f"%{ord(letter):02X}" for letter in item_id)
    assert shop.delete(f"/carts/dotted/items/{encoded}").status_code == 422
    assert shop.post(f"/carts/{encoded}/items", json={"item_id": "camera-0"}).status_code == 422
    assert shop.get("/carts/dotted").status_code == 200
