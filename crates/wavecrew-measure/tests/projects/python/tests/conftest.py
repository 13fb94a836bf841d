import pytest


@pytest.fixture
def prices():
    return [100, 250]


@pytest.fixture
def broken():
    raise RuntimeError("no database")
