"""The process `python -m app.jobs.forget TOKEN WORKER`: removes forgotten shoppers from drained purchases.

Its exit code is 1 if it must be started again.
"""

from __future__ import annotations

import sys
import time

from redis import Redis
from redis.exceptions import ResponseError

from app.carts.store import PURCHASE_LOG
from app.jobs.store import JobStore
from app.jobs.work import lease_renewed
from app.runtime.logs import configure_logs, get_logger
from app.settings import Settings, load_settings
from app.shoppers.forgetting import NOTE

_PROFILE_SECONDS = 10.0  # in which the profiles should have followed the purchase log
_REWRITE_SECONDS = 60.0  # in which a rewrite of Redis' file that began earlier should end
_PAUSE_SECONDS = 0.5


def run(token: str, worker: int) -> bool:
    """Forget shoppers with a lease that a worker has taken; `worker` is its process id. False: try again."""
    settings = load_settings()
    configure_logs(settings.log_level)
    store = JobStore.connect(settings.redis_url)
    with lease_renewed(lambda renewing: renewing.hold(token), worker, settings):
        done = False
        try:
            done = _forget(Redis.from_url(settings.redis_url or ""), settings)
        except Exception:
            get_logger().exception("forgotten shoppers were not removed from files: the worker tries again")
    store.give_back(token)
    return done


def _forget(client: Redis, settings: Settings) -> bool:
    from training.purchase_log import drain, forgets_shoppers, purchases_folder  # noqa: PLC0415

    if settings.data is not None:
        folder, deadline = purchases_folder(settings.data), time.monotonic() + _PROFILE_SECONDS
        drain(client, PURCHASE_LOG, folder)
        while forgets_shoppers(client, PURCHASE_LOG) and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
            drain(client, PURCHASE_LOG, folder)
    client.delete(NOTE)
    done = not forgets_shoppers(client, PURCHASE_LOG)
    if not done:  # entries came meanwhile, or the profiles have not followed
        client.set(NOTE, 1)
    _rewrite_file(client)
    return done


def _rewrite_file(client: Redis) -> None:
    """Let Redis rewrite its append-only file without what was deleted, if it allows that."""
    deadline = time.monotonic() + _REWRITE_SECONDS
    while time.monotonic() < deadline:
        try:
            client.bgrewriteaof()
            return
        except ResponseError as error:
            if "in progress" not in str(error):
                return
        time.sleep(_PAUSE_SECONDS)  # a rewrite that began earlier may still write what was deleted


if __name__ == "__main__":
    sys.exit(not run(sys.argv[1], int(sys.argv[2])))
