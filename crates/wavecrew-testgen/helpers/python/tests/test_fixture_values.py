"""Shared, autouse and parametrised fixtures of the project."""
import pytest
from test_fixtures import CART, project, runs
from wavecrew_testgen import pytest_run, snapshot

RATES = (
    "import os\n\nRATE = 10\n\n\n"
    "def price(amount: int) -> int:\n    return amount * RATE\n\n\n"
    "def region(code: str) -> str:\n    return os.environ.get('REGION', 'none') + '-' + code\n")


def whys(outcome):
    return {left["what"]: left["why"] for left in outcome["left_out"]}


def test_shared_fixtures_are_used_by_tests_that_do_not_change_them(generate, tmp_path):
    project(tmp_path, (
        "import pytest\nfrom sample import Cart\n\n\n"
        "@pytest.fixture(scope='session')\ndef cart():\n    made = Cart('alice', 5)\n    made.add('tea', 2)\n    return made\n"))
    outcome, text = generate(CART, run_folder="tests", budget=2.0)
    assert "cart.add(" in text
    given = [body for body in text.split("\ndef ")[1:] if "(cart" in body.split("\n")[0]]
    assert given and not [body for body in given if ".add(" in body and "raises" not in body]
    assert runs(outcome, tmp_path)


def test_results_are_recorded_under_autouse_fixtures(generate, tmp_path):
    project(tmp_path, (
        "import os\nimport pytest\nimport sample\n\nos.environ['REGION'] = 'load'\n\n\n"
        "@pytest.fixture(autouse=True)\ndef rate(monkeypatch):\n    monkeypatch.setattr(sample, 'RATE', 7)\n\n\n"
        "@pytest.fixture(autouse=True, scope='session')\ndef area():\n    os.environ['REGION'] = 'eu'\n    yield\n"))
    outcome, text = generate(RATES, run_folder="tests")
    assert '"eu-' in text and "price(" in text
    assert not [left for left in outcome["left_out"] if "failed" in left["why"]]
    assert runs(outcome, tmp_path)


def test_unusable_autouse_fixtures_drop_the_tests_they_change(generate, tmp_path):
    project(tmp_path, (
        "import pytest\nimport sample\n\n\n"
        "@pytest.fixture(autouse=True)\ndef rate(monkeypatch, capfd):\n    monkeypatch.setattr(sample, 'RATE', 7)\n"))
    outcome, text = generate(RATES, run_folder="tests")
    assert whys(outcome)["fixture rate"] == "applies to every test, but depends on capfd: tests that fail with it are dropped"
    assert "region(" in text and runs(outcome, tmp_path)


def test_parametrised_fixtures_are_used_with_one_value(generate, tmp_path):
    project(tmp_path, (
        "import pytest\nfrom sample import Cart\n\n\n"
        "@pytest.fixture(params=[3, 4])\ndef limit(request):\n    return request.param\n\n\n"
        "@pytest.fixture\ndef cart(limit, request):\n    made = Cart('alice', limit)\n"
        "    request.addfinalizer(made.items.clear)\n    return made\n"))
    outcome, text = generate(CART, run_folder="tests", budget=2.0)
    assert '@pytest.mark.parametrize("limit", [pytest.param(3, id="3")], indirect=True)\ndef ' in text
    assert any(test.endswith("[3]") for test in outcome["written"][0]["tests"])
    assert runs(outcome, tmp_path)


def test_asynchronous_and_plugin_fixtures_are_dropped_with_a_reason(generate, tmp_path):
    project(tmp_path, (
        "import pytest\n\n\n@pytest.fixture\nasync def cart():\n    return 1\n\n\n"
        "@pytest.fixture\ndef config(mocker):\n    return 1\n\n\n@pytest.fixture\ndef unrelated(mocker):\n    return 1\n"))
    outcome, _ = generate(CART, run_folder="tests")
    found = whys(outcome)
    assert found["fixture cart"] == "is asynchronous without pytest-asyncio"
    assert found["fixture config"] == "depends on mocker"
    assert "fixture unrelated" not in found


def test_fixtures_of_pytest_asyncio_are_used(generate, tmp_path):
    pytest.importorskip("pytest_asyncio")
    project(tmp_path, (
        "import pytest_asyncio\nfrom sample import Cart\n\n\n"
        "@pytest_asyncio.fixture\nasync def cart():\n    made = Cart('alice', 5)\n    yield made\n"))
    outcome, text = generate(CART, run_folder="tests", budget=2.0)
    assert "(cart):" in text and runs(outcome, tmp_path)


def test_conftest_files_that_do_not_load_are_reported(generate, tmp_path):
    project(tmp_path, "import pytest\nraise RuntimeError('no')\n")
    outcome, text = generate(CART, run_folder="tests")
    assert [why for what, why in whys(outcome).items() if what.startswith("fixtures of ")] == [
        "cannot be used by the search: RuntimeError: no"]
    assert "Cart(" in text


class Node:
    def __init__(self):
        self.items, self.me = [1], self


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (Node, lambda node: node.items.append(2)),
        (lambda: {"a": {1}}, lambda value: value["a"].add(2)),
        (lambda: [bytearray(b"x")], lambda value: value[0].append(1)),
        (lambda: {"a": 1, "b": 2}, lambda value: value.update(a=value.pop("a"))),
    ],
)
def test_a_snapshot_shows_every_change(make, change):
    value = make()
    before = snapshot.take(value)
    assert snapshot.take(value) == before
    change(value)
    assert snapshot.take(value) != before


def test_opaque_objects_are_rejected(tmp_path):
    with open(str(tmp_path / "a"), "w") as file:
        for value in ([object()], (each for each in "abc"), {"file": file}):
            with pytest.raises(snapshot.Opaque):
                snapshot.take(value)


@pytest.mark.parametrize(
    ("test", "names", "among"),
    [
        ("test_a", {"test_a"}, True), ("test_a", {"test_ab"}, False), ("test_a", {"test_a[fast]"}, True),
        ("test_a[1]", {"test_a[11]"}, False), ("test_a[1]", {"test_a[fast-1]"}, True), ("test_a[1]", {"test_a[1]"}, True),
    ],
)
def test_ids_with_fixture_parameters(test, names, among):
    assert pytest_run.is_one_of(test, names) is among
