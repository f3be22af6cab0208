from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.openapi_diff import CURRENT, ROOT, Comparison, is_named, main, newest_section
from scripts.openapi_document import Document
from tests.scripts.openapi_cases import BREAKING, COMPATIBLE, DOCUMENT, changed, members


@pytest.mark.parametrize("case", BREAKING)
def test_breaking_change_is_listed_with_its_name(case: str) -> None:
    edit, name, text = BREAKING[case]
    changes = {
        str(change): change.name
        for change in Comparison(Document(DOCUMENT), Document(changed(edit))).changes()
    }
    assert changes[text] == name


@pytest.mark.parametrize("case", COMPATIBLE)
def test_compatible_change_is_not_listed(case: str) -> None:
    new = changed(COMPATIBLE[case])
    assert list(Comparison(Document(DOCUMENT), Document(new)).changes()) == []


@pytest.mark.parametrize(
    ("changelog", "code"),
    [
        ("# Changelog\n\n## [Unreleased]\n\n- `score` is gone.\n\n## [0.1.0]\n\nFirst.\n", 0),
        ("# Changelog\n\n## [Unreleased]\n\n## [0.2.0]\n\n- Items lose `score` and `rank`.\n", 0),
        ("# Changelog\n\n## [Unreleased]\n\n- The score is gone.\n", 1),
        ("# Changelog\n\n## [Unreleased]\n\n- Faster.\n\n## [0.1.0]\n\n- `score` is new.\n", 1),
    ],
)
def test_breaking_change_must_be_named_in_the_newest_section(
    changelog: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, document in (
        ("old", DOCUMENT),
        ("new", changed(lambda d: members(d, "Item").pop("score"))),
    ):
        (tmp_path / name).write_text(json.dumps(document))
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    arguments = [str(tmp_path / "old"), str(tmp_path / "new"), "--changelog", str(tmp_path / "CHANGELOG.md")]
    assert main(arguments) == code
    printed = capsys.readouterr().out
    assert ("NOT IN CHANGELOG" in printed) == (code == 1)
    assert "member `score` is gone" in printed


def test_changelog_names_all_breaking_changes_since_the_last_release(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 0, capsys.readouterr().out


def test_public_route_that_becomes_admin_only_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads((ROOT / CURRENT).read_text())
    document["paths"]["/recommend"]["get"]["security"] = [{"AdminKey": []}]
    (tmp_path / "new.json").write_text(json.dumps(document))
    assert main([str(ROOT / CURRENT), str(tmp_path / "new.json")]) == 1
    assert "GET /recommend, header parameter `X-Admin-Key`: is new and required" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory."),
        ("{", "is not a valid OpenAPI document"),
        ("[]", "is not a valid OpenAPI document"),
        ("\udcff", "is not a valid OpenAPI document"),
        ('{"openapi": "3.1.0"}', "is not a valid OpenAPI document"),
        ('{"paths": {"/carts": {"get": null}}}', "is not a valid OpenAPI document"),
        (
            '{"paths": {"/carts": {"get": {"responses": {"200": {"$ref": "#/components/gone"}}}}}}',
            "is not a valid OpenAPI document",
        ),
        (
            '{"paths":{"/a":{"get":{"responses":{"200":{"content":{"b":{"schema":{"allOf":[]}}}}}}}}}',
            "allOf is not supported",
        ),
    ],
)
@pytest.mark.parametrize("place", ["old", "new"])
def test_missing_or_invalid_document_is_one_sentence_and_code_2(
    place: str, content: str | None, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("old", "new"):
        (tmp_path / name).write_text(json.dumps(DOCUMENT))
    if content is None:
        (tmp_path / place).unlink()
    else:
        (tmp_path / place).write_text(content, errors="surrogateescape")
    with pytest.raises(SystemExit) as stopped:
        main([str(tmp_path / "old"), str(tmp_path / "new")])
    assert stopped.value.code == 2
    printed = capsys.readouterr().err
    assert printed.startswith(str(tmp_path / place))
    assert message in printed
    assert printed.count("\n") == 1


def test_missing_changelog_is_one_sentence_and_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--changelog", str(tmp_path / "CHANGELOG.md")])
    assert stopped.value.code == 2
    assert (
        capsys.readouterr().err == f"{tmp_path / 'CHANGELOG.md'} cannot be read: No such file or directory.\n"
    )


def test_names_are_whole_words_in_backticks() -> None:
    assert is_named("/bundles", "`GET /bundles?k=5` changed")
    assert is_named("message", "see `fallback.message`")
    assert not is_named("core", "`score`")
    assert not is_named("GET /carts", "`GET /carts/{cart_id}`")
    assert not is_named("/insights", "`/carts/{cart_id}/insights`")
    assert not is_named("cart_id", "`/carts/{cart_id}`")
    assert not is_named("score", "the score of `rank`")
    assert newest_section("# Changelog\n") == ""
