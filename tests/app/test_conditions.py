"""If-Match and If-None-Match on changes of carts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

LINE = {"item_id": "camera-0"}


def put_in(shop: httpx.Client, cart_id: str, *conditions: tuple[str, str]) -> httpx.Response:
    return shop.post(f"/carts/{cart_id}/items", json=LINE, headers=list(conditions))


def kind(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["type"].removeprefix("urn:tripod:problem:")


def test_if_none_match_star_changes_only_a_cart_that_does_not_exist(shop: httpx.Client) -> None:
    new = ("If-None-Match", "*")
    first = put_in(shop, "only-new", new)
    assert first.status_code == 200
    headers = [new]
    for refused in (
        put_in(shop, "only-new", new),
        shop.put("/carts/only-new/items/camera-0", json={"quantity": 9}, headers=headers),
        shop.delete("/carts/only-new/items/camera-0", headers=headers),
        shop.post("/carts/only-new/checkout", headers=headers),
        shop.delete("/carts/only-new", headers=headers),
    ):
        assert kind(refused) == (412, "cart-exists")
    assert shop.get("/carts/only-new").json() == first.json()


def test_of_many_that_make_a_cart_with_if_none_match_one_does(shop: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = pool.map(lambda _: put_in(shop, "raced", ("If-None-Match", "*")), range(8))
        assert sorted(answer.status_code for answer in answers) == [200] + [412] * 7
    assert shop.get("/carts/raced").json()["items"] == [{"item_id": "camera-0", "quantity": 1}]


@pytest.mark.parametrize("prefix", ["", "W/"])
def test_if_none_match_refuses_a_change_of_a_state_it_names(shop: httpx.Client, prefix: str) -> None:
    etag = put_in(shop, "named").headers["etag"]
    named = ("If-None-Match", f'"other", {prefix}{etag}')
    assert kind(put_in(shop, "named", named)) == (412, "cart-exists")
    assert put_in(shop, "named", ("If-None-Match", '"other"')).status_code == 200
    assert put_in(shop, "named", named).status_code == 200  # it is in another state by now


def test_an_if_none_match_that_cannot_be_read_is_refused(shop: httpx.Client) -> None:
    answer = put_in(shop, "unread", ("If-None-Match", "no quotes"))
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["where"] == "header.If-None-Match"
    assert shop.get("/carts/unread").status_code == 404


@pytest.mark.parametrize("first", [True, False])
def test_several_lines_of_a_condition_count_as_one(shop: httpx.Client, first: bool) -> None:
    etag = put_in(shop, "lines").headers["etag"]
    tags = [etag, '"other"'] if first else ['"other"', etag]
    none_match = [("If-None-Match", tag) for tag in tags]
    assert shop.get("/carts/lines", headers=none_match).status_code == 304
    assert kind(put_in(shop, "lines", *none_match)) == (412, "cart-exists")
    assert put_in(shop, "lines", *(("If-Match", tag) for tag in tags)).status_code == 200
