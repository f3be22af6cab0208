from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "shop.py"


def test_example_shop_fills_a_cart_and_checks_out(served: str) -> None:
    typed = "\n".join(["camera-0", "? film 3", "no\x00id", "film-3", "pay"])
    command = [sys.executable, EXAMPLE, served]
    shop = subprocess.run(command, input=typed, capture_output=True, text=True, timeout=120, check=False)
    assert shop.returncode == 0, shop.stderr
    assert "Cart: empty" in shop.stdout
    assert "likely to be next" in shop.stdout
    assert "Found: film-3" in shop.stdout
    assert "Sorry: " in shop.stdout
    assert "Cart: 1 × camera-0, 1 × film-3" in shop.stdout
    assert "Thank you. Purchase " in shop.stdout
