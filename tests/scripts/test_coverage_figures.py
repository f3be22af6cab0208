from __future__ import annotations

import pytest

from scripts.coverage_figures import ROOT, branch_shares, sentence, with_figures


def test_branches_are_counted_by_package() -> None:
    files = {"app/a.py": (1, 4), "app/b/c.py": (2, 2), "ndpp/x.py": (5, 5), "app/plain.py": (0, 0)}
    report = {
        "files": {
            name: {"summary": {"covered_branches": covered, "num_branches": possible}}
            for name, (covered, possible) in files.items()
        }
    }
    assert branch_shares(report) == {"ndpp": 100, "app": 50}
    assert sentence(branch_shares(report)) == "`ndpp` 100.0 %, `app` 50.0 %"


def test_figures_replace_what_is_between_the_marks() -> None:
    text = "Coverage: <!-- coverage -->old<!-- /coverage -->."
    assert with_figures(text, "new") == "Coverage: <!-- coverage -->new<!-- /coverage -->."
    with pytest.raises(ValueError, match="has no"):
        with_figures("nothing here", "new")


def test_readme_has_a_place_for_the_figures() -> None:
    readme = (ROOT / "README.md").read_text()
    assert with_figures(readme, "x") != readme
