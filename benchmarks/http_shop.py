"""The catalogues of `benchmarks.http`: a model store, the arrays of the peers, and carts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import uvloop
from redis import Redis

from benchmarks.http_load import exchange, post
from benchmarks.http_peer_models import write_peers
from benchmarks.http_peers import CART as PEER_CART
from benchmarks.large_model import Copies, publish
from model_store import ModelStore, StoredModel

CART = 5  # items in a new cart
VIEWS = 3  # requests for a shopper's cart before it changes
SHOPPERS = 100  # shoppers at the same time
LONGEST = 20  # items in a shopper's cart


@dataclass(frozen=True, eq=False)
class Shop:
    """A catalogue with its model and its carts."""

    store: Path
    stored: StoredModel
    versions: list[str]  # two, with the same content
    peers: list[str]  # their names
    peer_environment: dict[str, str]
    new: list[list[int]]  # carts
    shoppers: list[list[int]]

    @property
    def size(self) -> int:
        """The number of items."""
        return self.stored.kernel.size

    def new_paths(self) -> list[str]:
        """The paths of recommendations for the new carts."""
        return [_path(f"new-{number}") for number in range(len(self.new))]

    def shopper_paths(self) -> list[str]:
        """Each shopper's path VIEWS times, shuffled with those of the other shoppers at the same time."""
        paths = [_path(f"shop-{number}") for number in range(len(self.shoppers))]
        rng = np.random.default_rng(1)
        visits = [VIEWS * paths[start : start + SHOPPERS] for start in range(0, len(paths), SHOPPERS)]
        return [str(path) for together in visits for path in rng.permutation(together)]

    def fill(self, port: int, redis: str, connections: int) -> None:
        """Put the carts into Redis: those of the service through its API, those of the peers directly."""
        requests, others = [], {}
        for kind, carts in (("new", self.new), ("shop", self.shoppers)):
            for number, cart in enumerate(carts):
                items = [self.stored.items.ids[row] for row in cart]
                lines = json.dumps({"items": [{"item_id": item_id} for item_id in items]})
                requests.append(post(f"/carts/{kind}-{number}/items", lines.encode()))
                others[f"{PEER_CART}{kind}-{number}"] = json.dumps(items)
        uvloop.run(exchange(port, iter(requests), connections))
        with Redis.from_url(redis) as client:
            client.mset(others)


def open_shop(copies: Copies, folder: Path, carts: int) -> Shop:
    """Publish the model in two equal versions, fit the peers and draw the carts."""
    versions = publish(folder / "store", copies, versions=2)
    stored = ModelStore(folder / "store").open(verify=False)
    rng = np.random.default_rng(1)
    new = copies.carts([CART] * carts, rng)
    lengths = np.minimum(rng.geometric(1 / 3, max(1, carts // VIEWS)), LONGEST).tolist()
    shoppers = copies.carts(lengths, rng)
    assert stored.relevance is not None
    return Shop(
        store=folder / "store",
        stored=stored,
        versions=versions,
        peers=write_peers(folder / "peers", copies, stored.relevance, new),
        peer_environment={
            "PEER_FOLDER": str(folder / "peers"),
            "PEER_ITEMS": str(stored.folder / "items.json"),
        },
        new=new,
        shoppers=shoppers,
    )


def _path(cart_id: str) -> str:
    return f"/recommend?cart_id={cart_id}&k=10"
