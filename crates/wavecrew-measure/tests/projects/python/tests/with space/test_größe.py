import runpy
from pathlib import Path

from shop.größe import wide


def test_weit_ü():
    assert wide(11)


def test_stock_list():
    found = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "stock list.py"))
    assert found["stock"]() == ["apple"]
