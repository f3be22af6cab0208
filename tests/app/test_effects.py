"""Rules that cannot apply cost little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.catalogue import categories
from app.catalogue.holder import SnapshotHolder
from app.catalogue.served_model import ServedModel
from app.rules.effects import active_rules, problems_of
from app.rules.rule import Rule
from model_store import ModelStore
from tests.app.app_shop import publish


def test_near_names_are_looked_for_once_and_only_for_messages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    publish(tmp_path / "store")
    snapshots = SnapshotHolder(1 << 20)
    snapshots.use_model(ServedModel.of(ModelStore(tmp_path / "store").open()))
    lost = {"action": "hide", "items": {"field": "category", "is": "Fotos"}}
    good = {"action": "hide", "items": {"field": "category", "is": "Photo"}}
    rules = [Rule.model_validate({"rule_id": f"r{n}", "name": "Rule", "then": lost}) for n in range(3)]
    rules.append(Rule.model_validate({"rule_id": "good", "name": "Rule", "then": good}))
    snapshots.use_rules(tuple(rules), 1)
    asked: list[Any] = []
    find = categories.get_close_matches

    def counted(*arguments: Any) -> list[str]:
        asked.append(arguments)
        return find(*arguments)

    monkeypatch.setattr(categories, "get_close_matches", counted)
    snapshot = snapshots.current()
    assert [rule.rule_id for rule in active_rules(snapshot)] == ["good"]
    assert not asked
    for _ in range(2):
        problems = problems_of(snapshot)
        assert set(problems) == {"r0", "r1", "r2"}
        assert all("did you mean 'Photo'" in problem for problem in problems.values())
    assert len(asked) == 3
